//! Random operations: writes to files, as any program makes them, and Mercurial commands.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, mknodat, utimensat};

use super::server::Server;
use crate::random::rng::Rng;

/// Directories and names, which are combined into paths.
const DIRECTORIES: [&[u8]; 9] = [
    b"",
    b"",
    b"",
    b"d/",
    b"d/e/",
    b"d/e/f/",
    b"Build/",
    b"out/",
    b"o.d/x y/",
];
const NAMES: [&[u8]; 20] = [
    b"a",
    b"b",
    b"c",
    b"a.c",
    b"b.c",
    b"A.C",
    b"x.o",
    b"y.o",
    b"aux",
    b"_Under",
    b".hidden",
    b"x.i",
    b"sp ace",
    b"d",
    b"e",
    b"f",
    b"\xff\xfe",
    b"new\nline",
    b"h\xc3\xa9",
    b"q'\"$",
];

/// Performs operations on a working copy.
pub(super) struct Player<'p> {
    pub(super) top: &'p Path,
    pub(super) rng: Rng,
    /// The operations so far, for a report.
    pub(super) operations_log: Vec<String>,
    /// The next mtime in seconds; no file has had it yet.
    next_s: i64,
    commits: u32,
    /// Whether Mercurial's version is before 7.
    pub(super) is_old: bool,
    /// Which partial working copies are tried.
    pub(super) partial: PartialCheckouts,
    /// Whether the extension eol is on, so that line endings matter.
    pub(super) has_eol: bool,
    /// Whether files may be added as large ones.
    has_large_files: bool,
}

/// The ways in which a working copy may have only part of the files.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartialCheckouts {
    /// The sparse patterns change.
    pub sparse: bool,
    /// The narrow patterns change.
    pub narrow: bool,
}

impl<'p> Player<'p> {
    pub(super) fn new(top: &'p Path, rng: Rng, is_old: bool, partial: PartialCheckouts) -> Self {
        Self {
            top,
            rng,
            operations_log: Vec::new(),
            next_s: 1_500_000_000,
            commits: 0,
            is_old,
            partial,
            has_eol: false,
            has_large_files: false,
        }
    }

    /// Adds a large file. From then on, files may be large, and Mercurial heeds its patterns for which are.
    pub(super) fn start_with_large_file(&mut self, server: &mut Server) -> io::Result<()> {
        self.has_large_files = true;
        fs::write(self.top.join("large"), "1")?;
        let arguments = [&b"add"[..], b"--large", b"large"].map(<[u8]>::to_vec);
        let output = server.run(&arguments)?;
        self.log_operation(format!("hg add --large large = {}", output.code));
        Ok(())
    }

    /// Writes an `.hgeol`, or removes it.
    pub(super) fn line_endings(&mut self) {
        const HGEOL: [&str; 7] = [
            "[patterns]\n** = native\n",
            "[patterns]\n*.c = CRLF\n** = LF\n",
            "[patterns]\nd/* = BIN\n** = lf\n[eol]\nonly-consistent = no\n",
            "[patterns]\n[ab]* = native\nre:.*x = BIN\n[repository]\nnative = CRLF\n",
            "[patterns]\r\n** = CRLF\r\n[eol]\r\nfix-trailing-newline = yes\r\n",
            "[patterns]\npath:d = LF\n",
            "",
        ];
        let text = self.rng.pick(&HGEOL);
        self.log_operation(format!("hgeol {text:?}"));
        let place = self.top.join(".hgeol");
        let _ = match text {
            "" => fs::remove_file(place),
            text => fs::write(place, text),
        };
    }

    /// A path that may or may not exist.
    pub(super) fn path(&mut self) -> Vec<u8> {
        let mut path = self.rng.pick::<&[u8]>(&DIRECTORIES).to_vec();
        path.extend_from_slice(self.rng.pick::<&[u8]>(&NAMES));
        path
    }

    /// A path that Mercurial would track.
    fn trackable(&mut self) -> Vec<u8> {
        loop {
            let path = self.path();
            if !path.contains(&b'\n') {
                return path;
            }
        }
    }

    /// The number of a changeset that is likely to exist.
    pub(super) fn changeset_number(&mut self) -> String {
        let limit = u64::from(self.commits.max(1));
        self.rng.below(limit).to_string()
    }

    fn path_of(&self, path: &[u8]) -> PathBuf {
        self.top.join(OsStr::from_bytes(path))
    }

    fn contents(&mut self) -> Vec<u8> {
        let len = self.rng.pick(&[0usize, 1, 1, 2, 2, 5, 5, 100, 5000]);
        let letter = self.rng.pick(b"xyz");
        let mut contents = vec![letter; len];
        if self.rng.chance(5) {
            contents.splice(0..0, *b"\x01\n");
        }
        if self.rng.chance(10) {
            contents.push(b'\n');
        }
        if self.has_eol && self.rng.chance(70) {
            let line_ends = [&b"\n"[..], b"\r\n", b"\r\r\n", b"\r", b""];
            for number in 0..self.rng.below(4) {
                contents.extend_from_slice(number.to_string().as_bytes());
                contents.extend_from_slice(self.rng.pick(&line_ends));
            }
        }
        contents
    }

    pub(super) fn log_operation(&mut self, what: impl Into<String>) {
        self.operations_log.push(what.into());
    }

    /// Performs one operation, or nothing if it is impossible.
    pub(super) fn perform_operation(&mut self, server: &mut Server) -> io::Result<()> {
        if self.partial.sparse && self.rng.chance(20) {
            return self.sparse(server);
        }
        if self.partial.narrow && self.rng.chance(10) {
            let _ = self.narrow();
            return Ok(());
        }
        match self.rng.below(100) {
            0..40 => {
                let _ = self.files();
                Ok(())
            }
            40..50 => {
                let _ = self.ignore();
                Ok(())
            }
            50..58 => {
                self.age_all();
                Ok(())
            }
            _ => self.command(server),
        }
    }

    fn files(&mut self) -> io::Result<()> {
        let path = self.path();
        let place = self.path_of(&path);
        let shown = String::from_utf8_lossy(&path).into_owned();
        remove_fifo(&place)?;
        match self.rng.below(14) {
            0..5 => {
                self.log_operation(format!("write {shown:?}"));
                let contents = self.contents();
                let parent = place.parent().map(Path::to_path_buf);
                fs::create_dir_all(parent.unwrap_or_default())?;
                fs::write(&place, contents)
            }
            5 => {
                self.log_operation(format!("rewrite {shown:?}"));
                let mut contents = fs::read(&place)?;
                if let Some(first) = contents.first_mut() {
                    *first = first.wrapping_add(1);
                }
                fs::write(&place, contents)
            }
            6 => {
                let mode = self.rng.pick(&[0o644, 0o755, 0o744, 0o655]);
                self.log_operation(format!("chmod {mode:o} {shown:?}"));
                fs::set_permissions(&place, fs::Permissions::from_mode(mode))
            }
            7 => {
                let target = self
                    .rng
                    .pick::<&[u8]>(&[b"a", b"d", b"nowhere", b"../x", b"x"]);
                self.log_operation(format!("symlink {shown:?}"));
                let _ = fs::remove_file(&place);
                symlink(OsStr::from_bytes(target), &place)
            }
            8 => {
                self.log_operation(format!("rm {shown:?}"));
                fs::remove_file(&place)
            }
            9 => {
                let directory = self.rng.pick::<&[u8]>(&DIRECTORIES);
                if directory.is_empty() {
                    return Ok(());
                }
                self.log_operation(format!("rm -r {:?}", String::from_utf8_lossy(directory)));
                fs::remove_dir_all(self.path_of(directory))
            }
            10 => {
                let other = self.path();
                let to = self.path_of(&other);
                self.log_operation(format!(
                    "mv {shown:?} {:?}",
                    String::from_utf8_lossy(&other)
                ));
                fs::rename(&place, to)
            }
            11 => {
                self.log_operation(format!("mkdir {shown:?}"));
                let _ = fs::remove_file(&place);
                fs::create_dir_all(&place)?;
                fs::write(place.join("inner"), "i")
            }
            12 => {
                self.log_operation(format!("mkfifo {shown:?}"));
                let _ = fs::remove_file(&place);
                Ok(mknodat(
                    CWD,
                    &place,
                    FileType::Fifo,
                    Mode::RUSR | Mode::WUSR,
                    0,
                )?)
            }
            _ => {
                // A directory is moved, and replaced by a link to its new place.
                let directory = self.rng.pick::<&[u8]>(&[b"d", b"d/e", b"out"]);
                self.log_operation(format!("link {:?}", String::from_utf8_lossy(directory)));
                let from = self.path_of(directory);
                let to = self.path_of(b"moved");
                fs::rename(&from, &to)?;
                symlink(&to, &from)
            }
        }
    }

    /// Writes ignore patterns of all syntaxes.
    fn ignore(&mut self) -> io::Result<()> {
        const LINES: [&str; 30] = [
            "syntax: glob",
            "syntax: regexp",
            "syntax: rootglob",
            "*.o",
            "d/",
            "d/*.c",
            "**/e",
            "^out",
            "\\.o$",
            "glob:*.c",
            "re:^d/e",
            "relglob:f",
            "rootglob:d/e/*",
            "# comment",
            "a\\#b",
            "Build",
            "{a,b}.c",
            "[ab]",
            "[!a].o",
            "x?y",
            "include:more",
            "subinclude:d/more",
            "re:(?i)a\\.c$",
            "path:d/e",
            "(a|b)$",
            "d/.*/a",
            "sp ace",
            "*",
            "rootfilesin:d",
            "syntax: bad",
        ];
        let count = self.rng.below(4).saturating_add(1);
        let mut text = String::new();
        for _ in 0..count {
            text.push_str(self.rng.pick_early(&LINES));
            text.push('\n');
        }
        let file = self
            .rng
            .pick::<&[u8]>(&[b".hgignore", b".hgignore", b"more", b"d/more"]);
        self.log_operation(format!(
            "ignore {:?}: {text:?}",
            String::from_utf8_lossy(file)
        ));
        if self.rng.chance(15) {
            return fs::remove_file(self.path_of(file));
        }
        let place = self.path_of(file);
        remove_fifo(&place)?;
        fs::write(place, text)
    }

    /// Gives each file an old mtime of its own, so that stat data decides once it is recorded.
    fn age_all(&mut self) {
        self.log_operation("age all");
        let mut pending = vec![self.top.to_path_buf()];
        while let Some(folder) = pending.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries.flatten() {
                let path = entry.path();
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                if kind.is_dir() {
                    if entry.file_name() != ".hg" {
                        pending.push(path);
                    }
                    continue;
                }
                self.next_s = self.next_s.saturating_add(1);
                let time = Timespec {
                    tv_sec: self.next_s,
                    tv_nsec: 0,
                };
                let times = Timestamps {
                    last_access: time,
                    last_modification: time,
                };
                let _ = utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW);
            }
        }
    }

    fn command(&mut self, server: &mut Server) -> io::Result<()> {
        let (one, two) = (self.trackable(), self.trackable());
        let words = |words: &[&str]| -> Vec<Vec<u8>> {
            words.iter().map(|word| word.as_bytes().to_vec()).collect()
        };
        let with = |start: &[&str], paths: &[&Vec<u8>]| {
            let mut all = words(start);
            all.push(b"--".to_vec());
            all.extend(paths.iter().map(|path| (*path).clone()));
            all
        };
        let arguments = match self.rng.below(34) {
            0..4 if self.has_large_files && self.rng.chance(60) => {
                with(&["add", "--large"], &[&one])
            }
            0..4 => with(&["add"], &[&one]),
            4 => words(&["add"]),
            5 => words(&["addremove", "-q"]),
            6 | 7 => with(&["remove"], &[&one]),
            8 => with(&["remove", "-f"], &[&one]),
            9 => with(&["forget"], &[&one]),
            10 | 11 => with(&["move"], &[&one, &two]),
            12 => with(&["move", "--after"], &[&one, &two]),
            13 | 14 => with(&["copy"], &[&one, &two]),
            15 => with(&["revert", "--no-backup"], &[&one]),
            16..20 => {
                self.commits = self.commits.saturating_add(1);
                let message = format!("c{}", self.commits);
                words(&["commit", "-m", &message, "-d", "0 0"])
            }
            20 | 21 => {
                let revision = self.changeset_number();
                words(&["update", "-r", &revision])
            }
            22 => {
                let revision = self.changeset_number();
                words(&["update", "-C", "-r", &revision])
            }
            23 => words(&["merge", "--tool", ":merge3"]),
            24 => words(&["resolve", "--mark", "--all"]),
            25 => words(&["shelve", "--config", "extensions.shelve="]),
            26 => words(&[
                "unshelve",
                "--config",
                "extensions.shelve=",
                "--tool",
                ":merge3",
            ]),
            27 => words(&["status"]),
            28 => words(&["debugrebuilddirstate"]),
            29 | 30 => {
                let (kind, name) = (self.rng.below(3), self.rng.pick(&["one", "two", "0b"]));
                let revision = self.changeset_number();
                match kind {
                    0 => words(&["bookmark", "-f", "-r", &revision, name]),
                    1 => words(&["tag", "-l", "-f", "-r", &revision, name]),
                    _ => words(&["tag", "-f", "-d", "0 0", "-r", &revision, name]),
                }
            }
            31 => words(&["tag", "-d", "0 0", "--remove", "one"]),
            32 => words(&["branch", "-f", self.rng.pick(&["side", "default"])]),
            _ => {
                let nested = self
                    .rng
                    .pick::<&[u8]>(&[b"d/nested", b"nested", b"d", b"out"]);
                vec![b"init".to_vec(), nested.to_vec()]
            }
        };
        let shown: Vec<_> = arguments
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        let output = server.run(&arguments)?;
        self.log_operation(format!("hg {shown:?} = {}", output.code));
        Ok(())
    }
}

/// Removes the fifo at `place`, if one is there: opening it would block until another process opens
/// it, too.
fn remove_fifo(place: &Path) -> io::Result<()> {
    match fs::metadata(place) {
        Ok(seen) if seen.file_type().is_fifo() => fs::remove_file(place),
        _ => Ok(()),
    }
}
