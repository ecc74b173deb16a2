//! Tests in namespaces of their own, where limits and mounts affect nothing else.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

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

fn open_fuse() -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/fuse")
}

/// Runs the ignored test `name` like [`run_in_namespaces`], if a process can serve a file system there.
#[track_caller]
pub(crate) fn run_with_fuse(name: &str) {
    match open_fuse() {
        Ok(_) => run_in_namespaces(name, &["--mount"]),
        Err(error) => skip_test(name, &format!("/dev/fuse: {error}")),
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

/// A mounted file system with an empty folder. It answers each request but the one for what it is (statfs(2)), which hangs.
pub(crate) struct DiskOfUnknownKind {
    folder: PathBuf,
    asked: Receiver<()>,
}

impl DiskOfUnknownKind {
    /// Mounts one at `folder`. It is served as long as this process lives.
    pub(crate) fn mount(folder: &Path) -> Self {
        let device = open_fuse().unwrap();
        let mounted = Command::new("mount")
            .args(["-i", "-t", "fuse", "-o"])
            .args(["fd=0,rootmode=40000,user_id=0,group_id=0", "none"])
            .arg(folder)
            .stdin(device.try_clone().unwrap())
            .status();
        assert!(mounted.unwrap().success());
        let (sender, asked) = channel();
        std::thread::spawn(move || serve_empty_folder(device, &sender));
        Self {
            folder: folder.to_owned(),
            asked,
        }
    }

    /// Waits until somebody has asked what it is.
    pub(crate) fn wait_until_asked(&self, time: Duration) {
        self.asked.recv_timeout(time).unwrap();
    }
}

impl Drop for DiskOfUnknownKind {
    fn drop(&mut self) {
        // By force, those who wait for an answer get an error: they could not even be killed otherwise.
        let mut command = Command::new("umount");
        let _ = command
            .args(["--force", "--lazy"])
            .arg(&self.folder)
            .status();
    }
}

/// Answers the kernel's requests (fuse(4)) at `device`, and tells `asked` of those that are left without an answer.
fn serve_empty_folder(mut device: File, asked: &Sender<()>) {
    const HEAD_LEN: usize = 16;
    const NO_SYSTEM_CALL: i32 = -38;
    let mut request = vec![0; 1 << 17];
    while let Ok(len) = device.read(&mut request) {
        let words: Vec<u32> = request[..len]
            .as_chunks()
            .0
            .iter()
            .map(|word| u32::from_ne_bytes(*word))
            .collect();
        let of_words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let body: Result<Vec<u8>, i32> = match words[1] {
            // FUSE_FORGET, FUSE_INTERRUPT and FUSE_BATCH_FORGET have no answer.
            2 | 36 | 42 => continue,
            // FUSE_GETATTR: inode 1, a folder.
            3 => {
                let mut words = [0; 26];
                (words[4], words[19], words[20]) = (1, 0o40755, 2);
                Ok(of_words(&words))
            }
            // FUSE_STATFS.
            17 => {
                let _ = asked.send(());
                continue;
            }
            // FUSE_INIT: version 7.19, and pages of data.
            26 => Ok(of_words(&[7, 19, 1 << 17, 0, 0, 4096])),
            // FUSE_OPENDIR.
            27 => Ok(of_words(&[0; 4])),
            // FUSE_READDIR finds nothing, and FUSE_RELEASEDIR has nothing to say.
            28 | 29 => Ok(Vec::new()),
            _ => Err(NO_SYSTEM_CALL),
        };
        let (error, body) = match body {
            Ok(body) => (0, body),
            Err(error) => (error, Vec::new()),
        };
        let len = u32::try_from(HEAD_LEN + body.len()).unwrap();
        let head = [len.to_ne_bytes(), error.to_ne_bytes()].concat();
        let answer = [&head, &request[8..HEAD_LEN], &body].concat();
        // The kernel may have given up the request.
        let _ = device.write(&answer);
    }
}
