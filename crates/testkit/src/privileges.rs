//! Programs that may not read what permissions forbid, even if the tests run as root.

use std::process::Command;

use crate::sandbox::skip_test;

const WITHOUT: &[&str] = &[
    "setpriv",
    "--bounding-set",
    "-dac_override,-dac_read_search",
];

/// Returns the beginning of a command line whose program may not read what its permissions forbid, not even for root. `None` if
/// there is no such command line here.
pub fn without_privileges() -> Option<&'static [&'static str]> {
    if !rustix::process::geteuid().is_root() {
        return Some(&[]);
    }
    let mut tried = Command::new("setpriv");
    tried.args(WITHOUT.iter().skip(1)).arg("true");
    if tried.output().is_ok_and(|output| output.status.success()) {
        return Some(WITHOUT);
    }
    skip_test("what permissions forbid", "for root, this needs setpriv");
    None
}
