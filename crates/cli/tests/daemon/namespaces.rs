//! Tests in name spaces of their own, where limits and mounts are nobody else's.

use std::io::Write;
use std::process::{Command, Stdio};

/// Tells a test that it runs in the name spaces that it needs.
const INSIDE: &str = "VIGIL_TEST_INSIDE";

/// Says that a test did not run, even where the output of tests is hidden. Where all must (`VIGIL_TESTS_MUST_RUN`), it fails.
pub(crate) fn skipped(what: &str, reason: &str) {
    // Not by a macro, whose output would be kept back.
    let line = format!("SKIPPED: {what}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    assert!(std::env::var_os("VIGIL_TESTS_MUST_RUN").is_none(), "{line}");
}

/// Whether this process is where a test that is run by [`run`] has to be.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs the ignored test `name` of this program as the root of a user name space of its own, with the `flags` of unshare(1) for
/// further ones.
#[track_caller]
pub(crate) fn run(name: &str, flags: &[&str]) {
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user"]).args(flags);
        command
    };
    let tried = unshare().arg("true").stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        return skipped(name, "this machine has no name spaces for this user");
    }
    let output = unshare()
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}
