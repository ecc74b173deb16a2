//! The state for making operations: the random generator, the paths, and the growing list of actions.

use bstr::BString;

use super::names::{Pool, join};
use super::plan::ScenarioPlan;
use super::rng::Rng;
use crate::action::{Action, GitRun, tick_time};
use crate::sandbox::BASE_TIME;

/// The names of branches, the usual ones first.
pub const BRANCHES: &[&str] = &["main", "topic", "feature/x", "th\u{e8}me", "release-1.0"];

/// Makes the actions of operations, one after the other.
#[derive(Clone, Debug)]
pub struct Maker {
    /// The source of all random choices.
    pub rng: Rng,
    /// The paths of this run.
    pub pool: Pool,
    /// The git directory, relative to the sandbox's root.
    pub git_directory: &'static str,
    /// The directory with `info/exclude` and `config`, relative to the sandbox's root.
    pub common_directory: &'static str,
    /// Whether reftable repositories may be created.
    pub reftable: bool,
    /// Whether repositories of unusual formats may be created.
    pub formats: bool,
    /// Whether indexes may be split. If not, their checksum may be left out, and they may be sparse. git cannot read its own
    /// index if it has both.
    splits: bool,
    /// Whether files may have names outside of the working tree. If not, files may be kept open. A write to a file that was
    /// opened by a name which is gone by then is not reported for its other names.
    pub links: bool,
    actions: Vec<Action>,
    clock: u64,
    names: u64,
}

impl Maker {
    /// Creates a maker for a seed.
    pub fn new(seed: u64, plan: &ScenarioPlan) -> Self {
        let mut rng = Rng::new(seed);
        let size = rng.pick(&[8, 25, 60, 120]);
        let is_plain = rng.chance(25) || !plan.has("names");
        let pool = Pool::new(&mut rng, size, is_plain);
        Self {
            rng,
            pool,
            git_directory: "work/.git",
            common_directory: "work/.git",
            reftable: plan.reftable && plan.has("reftable"),
            formats: plan.has("formats"),
            splits: seed.is_multiple_of(2),
            links: (seed / 2).is_multiple_of(2),
            actions: Vec::new(),
            clock: 0,
            names: 0,
        }
    }

    /// A new, unique name.
    pub fn fresh(&mut self, name: &str) -> String {
        self.names += 1;
        format!("{name}-{}", self.names)
    }

    /// Returns the actions since the last call.
    pub fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Adds an action.
    pub fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// The path of a random file, relative to the working tree.
    pub fn file(&mut self) -> BString {
        self.rng.pick_early(&self.pool.files)
    }

    /// The path of a random directory, relative to the working tree.
    pub fn directory(&mut self) -> BString {
        self.rng.pick_early(&self.pool.directories)
    }

    /// The path of a random file or directory.
    pub fn path(&mut self) -> BString {
        if self.rng.chance(75) {
            self.file()
        } else {
            self.directory()
        }
    }

    /// A random branch.
    pub fn branch(&mut self) -> &'static str {
        self.rng.pick_early(BRANCHES)
    }

    /// A time later than all before.
    pub fn later(&mut self) -> u64 {
        self.clock += 1;
        tick_time(self.clock * 100)
    }

    /// The latest time returned so far.
    pub fn now(&self) -> u64 {
        tick_time(self.clock * 100)
    }

    /// A text of `length` lines that is similar to others of the same `kind`.
    pub fn lines(&mut self, kind: u64, length: u64) -> BString {
        let mut text = BString::default();
        let changed = self.rng.below(length * 4 + 1);
        for number in 0..length {
            let mark = if number == changed { "changed" } else { "line" };
            text.extend_from_slice(format!("{mark} {number} of text {kind}\n").as_bytes());
        }
        text
    }

    /// Random contents of a file, often the same ones.
    pub fn content(&mut self) -> BString {
        let kind = self.rng.below(4);
        match self.rng.below(16) {
            0 => "".into(),
            1 => format!("short {kind}\n").into(),
            2 => format!("no newline {kind}").into(),
            3 => format!("crlf {kind}\r\nline\r\n").into(),
            4 => format!("mixed {kind}\r\nline\n").into(),
            5 => format!("binary \0 {kind}\n").into(),
            6 => format!("ident $Id$ {kind}\n").into(),
            7 => format!("ident $Id: 0123456789 $ {kind}\n").into(),
            8 => b"\xff\xfeu\0t\0f\0\n\0".into(),
            9 => self.lines(kind, 400),
            10 => format!("cr {kind}\ralone\r").into(),
            _ => self.lines(kind, 20),
        }
    }

    /// Writes a file in the working tree, sometimes with an mtime of its own.
    pub fn write(&mut self, path: &[u8], data: impl Into<BString>) {
        let path = join(b"work", path);
        self.act(Action::write(path.clone(), data));
        if self.rng.chance(60) {
            let nanoseconds = self.later();
            self.act(Action::SetTime { path, nanoseconds });
        }
    }

    /// Removes a file or directory from the working tree.
    pub fn remove(&mut self, path: &[u8]) {
        self.act(Action::Remove {
            path: join(b"work", path),
        });
    }

    /// Runs git in the working tree.
    pub fn git(&mut self, arguments: &[&str]) {
        self.git_paths(arguments, &[]);
    }

    /// Runs git in the working tree, with paths after `--`.
    pub fn git_paths(&mut self, arguments: &[&str], paths: &[BString]) {
        let mut all: Vec<BString> = arguments
            .iter()
            .map(|argument| BString::from(*argument))
            .collect();
        if !paths.is_empty() {
            all.push("--".into());
            all.extend(paths.iter().cloned());
        }
        self.git_run(GitRun {
            arguments: all,
            ..GitRun::default()
        });
    }

    /// Runs git in another directory of the sandbox.
    pub fn git_in(&mut self, directory: impl Into<BString>, arguments: &[&str]) {
        let arguments = arguments
            .iter()
            .map(|argument| BString::from(*argument))
            .collect();
        self.git_run(GitRun {
            directory: directory.into(),
            arguments,
            ..GitRun::default()
        });
    }

    /// Runs git with a date later than any commit before. It may fail.
    pub fn git_run(&mut self, mut run: GitRun) {
        let words = if self.splits {
            &[
                "index.skipHash",
                "feature.manyFiles",
                "index.sparse",
                "--sparse-index",
            ][..]
        } else {
            &["core.splitIndex", "--split-index"]
        };
        if run
            .arguments
            .iter()
            .any(|word| words.iter().any(|other| word == other))
        {
            return;
        }
        self.clock += 1;
        if run.directory.is_empty() {
            run.directory = "work".into();
        }
        let date = BString::from(format!("{} +0000", BASE_TIME + self.clock));
        run.variables.push(("GIT_AUTHOR_DATE".into(), date.clone()));
        run.variables.push(("GIT_COMMITTER_DATE".into(), date));
        run.may_fail = true;
        self.act(Action::Git(run));
    }

    /// Commits the index.
    pub fn commit(&mut self, message: &str) {
        self.git(&["commit", "-q", "--no-verify", "-m", message]);
    }
}
