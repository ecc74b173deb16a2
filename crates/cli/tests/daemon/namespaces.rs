//! Tests in namespaces of their own, where limits and mounts affect nothing else.

use std::io::Write;
use std::process::{Command, Stdio};

/// Tells a test that it runs in the namespaces that it needs.
const INSIDE: &str = "VIGIL_TEST_INSIDE";

/// Reports that a test did not run, even if the output of tests is hidden. Fails if all tests must run (`VIGIL_TESTS_MUST_RUN`).
pub(crate) fn skipped(what: &str, reason: &str) {
    // Do not use a macro, whose output would be captured.
    let line = format!("SKIPPED: {what}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    assert!(std::env::var_os("VIGIL_TESTS_MUST_RUN").is_none(), "{line}");
}

/// Returns whether this process runs inside the namespaces set up by [`run`].
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs the ignored test `name` of this program as root of a new user namespace, with `flags` of unshare(1) for further
/// namespaces.
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
