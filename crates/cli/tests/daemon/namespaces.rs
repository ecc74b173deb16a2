//! Tests in namespaces of their own, where limits and mounts affect nothing else.

use std::process::{Command, Stdio};

use vigil_testkit::sandbox::skip_test;

/// The variable that tells a test that it runs in the namespaces it needs.
const IN_NAMESPACES: &str = "VIGIL_TEST_INSIDE";

/// Returns whether this process runs inside the namespaces set up by [`run_in_namespaces`].
pub(crate) fn is_in_namespaces() -> bool {
    std::env::var_os(IN_NAMESPACES).is_some()
}

/// Runs the ignored test `name` of this program as root of a new user namespace, with `flags` of unshare(1) for further
/// namespaces.
#[track_caller]
pub(crate) fn run_in_namespaces(name: &str, flags: &[&str]) {
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user"]).args(flags);
        command
    };
    let tried = unshare().arg("true").stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        return skip_test(name, "this machine has no namespaces for this user");
    }
    let output = unshare()
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(IN_NAMESPACES, "1")
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("1 passed"), "{printed}");
}
