//! A real repository in a temporary directory, driven by the installed git.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Mutex;

use gix_hash::oid;
use vigil_testkit::sandbox::Sandbox;

use crate::renames::{Blob, BlobSource};
use crate::staged::{SourceError, TreeSource};

/// A sandbox that returns git's output as bytes.
pub(crate) struct Repo(Sandbox);

vigil_testkit::wraps_a_sandbox!(Repo);

impl Repo {
    pub(crate) fn new() -> Self {
        let mut sandbox = Sandbox::new();
        sandbox.set_variable("GIT_OPTIONAL_LOCKS", "0");
        Self(sandbox)
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.git_dir().join("index")
    }

    /// Runs git, which must succeed, and returns its output.
    pub(crate) fn git<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
        self.git_bytes(arguments)
    }

    pub(crate) fn commit(&self) {
        self.git(["commit", "-qm", "commit", "--allow-empty"]);
    }

    /// Sets the mtime of `path` back to a time long before anything was read.
    pub(crate) fn age(path: &Path) {
        let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_700_000_000, 5);
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(then).unwrap();
    }
}

/// Reads objects of a repository by `git cat-file --batch`.
pub(crate) struct CatFile {
    process: Mutex<(Child, ChildStdin, BufReader<ChildStdout>)>,
    /// The requested objects, in order.
    pub(crate) asked: Mutex<Vec<String>>,
}

impl CatFile {
    pub(crate) fn new(repo: &Repo) -> Self {
        let mut child = repo
            .command("git", "", ["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self {
            process: Mutex::new((child, stdin, stdout)),
            asked: Mutex::default(),
        }
    }

    pub(crate) fn object(&self, id: &oid, buf: &mut Vec<u8>) -> bool {
        self.asked.lock().unwrap().push(id.to_string());
        let (_, stdin, stdout) = &mut *self.process.lock().unwrap();
        writeln!(stdin, "{id}").unwrap();
        stdin.flush().unwrap();
        let mut header = String::new();
        stdout.read_line(&mut header).unwrap();
        let Some(size) = header.trim_end().split(' ').nth(2) else {
            return false;
        };
        buf.resize(size.parse().unwrap(), 0);
        stdout.read_exact(buf).unwrap();
        stdout.read_exact(&mut [0]).unwrap();
        true
    }
}

impl Drop for CatFile {
    fn drop(&mut self) {
        let (child, ..) = self.process.get_mut().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl TreeSource for CatFile {
    fn tree(&self, id: &oid, buf: &mut Vec<u8>) -> Result<bool, SourceError> {
        Ok(self.object(id, buf))
    }
}

impl BlobSource for CatFile {
    fn size(&self, blob: &Blob<'_>) -> Result<u64, SourceError> {
        let mut buf = Vec::new();
        self.blob(blob, &mut buf)?;
        Ok(buf.len() as u64)
    }

    fn blob(&self, blob: &Blob<'_>, buf: &mut Vec<u8>) -> Result<(), SourceError> {
        match self.object(blob.id, buf) {
            true => Ok(()),
            false => Err("no such object".into()),
        }
    }
}
