//! A git repository inside a Mercurial one. Mercurial asks git what changed there, so this does too, with the same commands:
//! what is ignored or converted there, and how, is then as Mercurial says.

use std::collections::HashSet;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::hg_status::kinds::Lists;
use vigil_git::installed;
use vigil_hg::abort::Abort;
use vigil_hg::bytes::trim;
use vigil_hg::config::ProcessContext;
use vigil_linux::errno;
use vigil_linux::stat::stat_path;

use crate::reply::bytes;

/// The oldest git that Mercurial asks without a warning.
const OLDEST: (u32, u32) = (1, 6);

/// A git repository inside a Mercurial one, and what is asked about it.
pub(super) struct GitSubrepository<'s> {
    /// Its path in the repository that it belongs to.
    pub(super) path: &'s BStr,
    /// Its path in the outermost repository.
    pub(super) outer_path: &'s BStr,
    pub(super) root: &'s Path,
    /// The outermost repository: no program in it is run.
    pub(super) top: &'s Path,
    pub(super) process: &'s ProcessContext<'s>,
    /// Whether git's messages are left out.
    pub(super) quiet: bool,
    pub(super) clean: bool,
    pub(super) unknown: bool,
    pub(super) ignored: bool,
}

impl GitSubrepository<'_> {
    /// Returns the files of each kind between the revision `from` and the revision `to`, or the working tree, and adds git's
    /// messages to `messages`. git's working tree is searched for unknown files in either case.
    ///
    /// # Errors
    /// git cannot be run, or failed.
    pub(super) fn status(
        &self,
        from: &BStr,
        to: Option<&BStr>,
        messages: &mut Vec<u8>,
    ) -> Result<Lists, Abort> {
        let program = self.program(messages)?;
        let mut lists = Lists::default();
        if from.is_empty() || stat_path(&self.root.join(".git")).is_err() {
            return Ok(lists);
        }
        let mut git = |arguments: &[&[u8]]| {
            let asked = self.ask(&program, arguments, messages);
            asked.map_err(|error| error.in_subrepository(self.outer_path))
        };
        for revision in [Some(from), to].into_iter().flatten() {
            if revision.starts_with(b"-") {
                // Mercurial hands it to git, which may then write any file.
                let message = bytes!("the revision '", revision, "' would be an option of git");
                return Err(Abort::plain(message).in_subrepository(self.outer_path));
            }
        }
        git(&[b"update-index", b"-q", b"--refresh"])?;
        let compared = match to.filter(|to| !to.is_empty()) {
            Some(to) => git(&[b"diff-tree", b"--no-renames", b"-r", from, to])?,
            None => git(&[b"diff-index", b"--no-renames", from])?,
        };
        let Lists {
            modified,
            added,
            removed,
            unknown,
            ignored,
            clean,
            ..
        } = &mut lists;
        for line in compared.split_str("\n") {
            let Some((before, path)) = line.split_once_str("\t") else {
                continue;
            };
            match before.last() {
                Some(b'M') => modified.push(path.into()),
                Some(b'A') => added.push(path.into()),
                Some(b'D') => removed.push(path.into()),
                _ => {}
            }
        }
        let mut question: Vec<&[u8]> = vec![b"status", b"--porcelain", b"-z"];
        if self.unknown {
            question.push(b"--untracked-files=all");
        }
        if self.ignored {
            question.push(b"--ignored");
        }
        let found = git(&question)?;
        let changed = modified.iter().chain(&*added).chain(&*removed);
        let mut changed: HashSet<BString> = changed.cloned().collect();
        for entry in found.split_str("\0").filter(|entry| !entry.is_empty()) {
            let path: BString = entry.get(3..).unwrap_or_default().into();
            match entry.get(..2) {
                Some(b"??") => unknown.push(path.clone()),
                Some(b"!!") => ignored.push(path.clone()),
                _ => {}
            }
            changed.insert(path);
        }
        if self.clean {
            let tracked = git(&[b"ls-files"])?;
            let tracked = tracked.split_str("\n").map(BString::from);
            clean.extend(tracked.filter(|path| !changed.contains(path)));
        }
        Ok(lists)
    }

    /// Returns a git that can be asked.
    fn program(&self, messages: &mut Vec<u8>) -> Result<PathBuf, Abort> {
        let folders = self.process.get("PATH").unwrap_or_default();
        let found = installed::first_on_path(folders.as_bstr(), "git", &[self.top]);
        let program = found.ok_or_else(|| {
            let message = bytes!("couldn't find git for subrepo '", self.path, "'");
            Abort::plain(message).with_hint("check git is installed and in your PATH")
        })?;
        let arguments: [&[u8]; 1] = [b"--version"];
        let output = self.run(&program, &self.process.cwd, &arguments);
        let output = output.map_err(|error| {
            let reason = errno::text_of(&error);
            let what = "error executing git for subrepo '";
            Abort::plain(bytes!(what, self.path, "': ", reason))
        })?;
        match installed::git_version(&self.answer(&arguments, output, messages)?) {
            Some(version) if version >= OLDEST => Ok(program),
            _ => Err(Abort::unsupported("a git of an unknown version")),
        }
    }

    /// Returns what git says to `arguments`, without white space at its ends.
    fn ask(
        &self,
        program: &Path,
        arguments: &[&[u8]],
        messages: &mut Vec<u8>,
    ) -> Result<BString, Abort> {
        match self.run(program, self.root, arguments) {
            Ok(output) => self.answer(arguments, output, messages),
            Err(error) => Err(Abort::io(self.root, &error)),
        }
    }

    fn answer(
        &self,
        arguments: &[&[u8]],
        output: Output,
        messages: &mut Vec<u8>,
    ) -> Result<BString, Abort> {
        if !self.quiet {
            messages.extend_from_slice(&output.stderr);
        }
        let signal = || output.status.signal().map(|signal| format!("-{signal}"));
        match output.status.code() {
            // 1 says that something differs.
            Some(0 | 1) => Ok(trim(&output.stdout).into()),
            code => {
                let code = code.map(|code| code.to_string()).or_else(signal);
                let code = code.unwrap_or_default();
                let command = arguments.first().copied().unwrap_or_default();
                let message = bytes!("git ", command, " error ", code, " in ", self.outer_path);
                Err(Abort::plain(message))
            }
        }
    }

    fn run(&self, program: &Path, folder: &Path, arguments: &[&[u8]]) -> io::Result<Output> {
        let mut command = Command::new(program);
        command
            .arg0("git")
            .args(arguments.iter().filter_map(|word| word.to_os_str().ok()))
            .current_dir(folder)
            .stdin(Stdio::inherit())
            .env("LC_ALL", "C");
        if self.process.get("GIT_ALLOW_PROTOCOL").is_none() {
            command.env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
        }
        command.output()
    }
}
