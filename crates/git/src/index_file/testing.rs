//! A real repository in a temporary folder, driven by the installed git.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::Mutex;

use gix_hash::oid;
use tempfile::TempDir;

use crate::renames::{Blob, BlobSource};
use crate::staged::{SourceError, TreeSource};

pub(crate) struct Repo {
    dir: TempDir,
}

impl Repo {
    pub(crate) fn new() -> Self {
        let repo = Self {
            dir: TempDir::new().unwrap(),
        };
        std::fs::create_dir(repo.top()).unwrap();
        repo.git(["init", "-q", "-b", "main"]);
        repo
    }

    pub(crate) fn top(&self) -> PathBuf {
        // Resolved, since git prints resolved paths.
        self.dir.path().canonicalize().unwrap().join("work")
    }

    pub(crate) fn git_dir(&self) -> PathBuf {
        self.top().join(".git")
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.git_dir().join("index")
    }

    pub(crate) fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        let path = self.top().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new("git");
        let inherited = std::env::vars_os().map(|(name, _)| name);
        for name in inherited.filter(|name| name.as_encoded_bytes().starts_with(b"GIT_")) {
            command.env_remove(name);
        }
        command
            .current_dir(self.top())
            .args(args)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.dir.path())
            .env_remove("XDG_CONFIG_HOME")
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .envs(["AUTHOR", "COMMITTER"].iter().flat_map(|who| {
                [
                    (format!("GIT_{who}_NAME"), "A U Thor"),
                    (format!("GIT_{who}_EMAIL"), "author@example.com"),
                    (format!("GIT_{who}_DATE"), "1700000000 +0000"),
                ]
            }))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs git and returns its output, whatever the exit code.
    pub(crate) fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>, stdin: &[u8]) -> Output {
        let mut child = self.command(args).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // A git that dies early closes the pipe; its exit code tells.
            scope.spawn(move || pipe.write_all(stdin));
            child.wait_with_output().unwrap()
        })
    }

    /// Runs git, which must succeed, and returns what it printed.
    pub(crate) fn git<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
        self.git_fed(args, b"")
    }

    pub(crate) fn git_fed<'a>(
        &self,
        args: impl IntoIterator<Item = &'a str>,
        stdin: &[u8],
    ) -> Vec<u8> {
        let args: Vec<&str> = args.into_iter().collect();
        let output = self.run(args.iter().copied(), stdin);
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    pub(crate) fn commit(&self) {
        self.git(["commit", "-qm", "commit", "--allow-empty"]);
    }

    /// Sets the mtime of `path` back to a time at which nothing was being read.
    pub(crate) fn age(path: &Path) {
        let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_700_000_000, 5);
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(then).unwrap();
    }
}

/// A small reproducible source of numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Objects of a repository by `git cat-file --batch`.
pub(crate) struct CatFile {
    process: Mutex<(Child, ChildStdin, BufReader<ChildStdout>)>,
    /// The objects asked for, in order.
    pub(crate) asked: Mutex<Vec<String>>,
}

impl CatFile {
    pub(crate) fn new(repo: &Repo) -> Self {
        let mut child = repo.command(["cat-file", "--batch"]).spawn().unwrap();
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
