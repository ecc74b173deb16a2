//! Tests in namespaces of their own, where limits and mounts affect nothing else.

use std::fs::OpenOptions;
use std::io::Read;
use std::process::{Child, Command, Stdio};

use vigil_testkit::sandbox::skip_test;

use super::sandbox::Sandbox;

/// The variable that tells a test that it runs in the namespaces it needs.
const IN_NAMESPACES: &str = "VIGIL_TEST_INSIDE";

/// Returns whether this process runs inside the namespaces set up by [`run_in_namespaces`].
pub(crate) fn is_in_namespaces() -> bool {
    std::env::var_os(IN_NAMESPACES).is_some()
}

/// Runs the ignored test `name` of this program as root of a new user namespace, with `flags` of unshare(1) for further
/// namespaces. It must not mount anything of the machine in a sandbox: a sandbox is removed with all that is in it.
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

/// Whether file systems can be served by a process. If not, says that the test `name` is skipped.
pub(crate) fn can_mount_fuse(name: &str) -> bool {
    let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
    match device {
        Ok(_) => true,
        Err(error) => {
            skip_test(name, &format!("/dev/fuse: {error}"));
            false
        }
    }
}

/// A mounted file system on which every look hangs, until this is dropped.
pub(crate) struct HangingDisk(Child);

impl HangingDisk {
    /// Mounts one at `folder`.
    pub(crate) fn mount(sandbox: &Sandbox, folder: &str) -> Self {
        let options = "fd=3,rootmode=40000,user_id=0,group_id=0";
        // This process serves the file system, but answers no request.
        let script = format!(
            "exec 3<>/dev/fuse; mount -i -t fuse -o {options} none {folder}; echo; read end"
        );
        let mut server = sandbox
            .command("sh", "", &["-ec", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut mounted = [0];
        let stdout = server.stdout.as_mut().unwrap();
        stdout.read_exact(&mut mounted).unwrap();
        Self(server)
    }
}

impl Drop for HangingDisk {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
