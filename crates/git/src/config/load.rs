//! Which files are read, in which order, and which files they include (git-config(1), "Includes").

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{Access, access};
use vigil_linux::{Errno, errno};
use vigil_model::path::name_start;
use vigil_model::raw_text::raw;

use super::branch::{Branch, RefLocation};
use super::error::Error;
use super::parse::Text;
use super::place::PlacePattern;
use super::recorded_file::RecordedFile;
use super::value::{environment_boolean, interpolate, xdg_config};
use super::{Config, Scope, fsync, parameters, parse};
use crate::environment::Environment;
use crate::repository::paths::absolute_path;
use vigil_model::wildmatch::{Flags, wildmatch};
use vigil_stamp::paths::{bytes_of, is_missing, path_of, real_path};

/// How deep includes may nest, in git.
const INCLUDE_DEPTH_MAX: usize = 10;

/// The flags for matching conditions: `*` does not match a slash.
const PATHS: Flags = Flags {
    pathname: true,
    fold_case: false,
};

/// The system's file. git's path for it is set at build time; this is the one that distributions use.
const SYSTEM: &str = "/etc/gitconfig";

/// Reads each file at most once, and keeps a record of all of them.
pub(crate) struct RecordingReader<'a> {
    pub(crate) environment: &'a Environment,
    texts: HashMap<BString, Rc<Text>>,
    sources: Vec<RecordedFile>,
    /// The position of each file by path.
    positions: HashMap<PathBuf, usize>,
    /// The lines that git writes to stderr meanwhile.
    pub(crate) messages: Vec<String>,
}

/// The repository whose configuration is read, with its directories named as git names them.
pub(crate) struct RepositoryDirs<'a> {
    /// git's working directory, to which relative names are relative.
    pub(crate) directory: &'a Path,
    /// `GIT_DIR`.
    pub(crate) git_dir: &'a BStr,
    /// `GIT_COMMON_DIR`.
    pub(crate) common_dir: &'a BStr,
    /// The top of the working tree.
    pub(crate) work_tree: Option<&'a Path>,
    /// `extensions.worktreeConfig`.
    pub(crate) has_worktree_config: bool,
    /// Where the current branch is looked up.
    pub(crate) references: RefLocation,
}

/// Why an entry stops the reading.
enum EntryError {
    /// A fatal error, reported as it is.
    Fatal(Error),
    /// git's complaint about an entry; git then blames the line that it is reading.
    Complaint(Vec<String>),
}

impl From<Error> for EntryError {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

impl EntryError {
    fn complaint(line: impl Into<String>) -> Self {
        Self::Complaint(vec![line.into()])
    }

    fn into_error(self, culprit: impl FnOnce() -> String) -> Error {
        match self {
            Self::Fatal(error) => error,
            Self::Complaint(messages) => Error::Explained {
                messages,
                text: culprit(),
            },
        }
    }
}

impl<'a> RecordingReader<'a> {
    pub(crate) fn new(environment: &'a Environment) -> Self {
        Self {
            environment,
            texts: HashMap::new(),
            sources: Vec::new(),
            positions: HashMap::new(),
            messages: Vec::new(),
        }
    }

    /// Reads a file that is not configuration, and records it too.
    pub(crate) fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, Errno> {
        self.remember(path, RecordedFile::read)
    }

    /// As [`Self::bytes`], for a file of which only the bytes before the first NUL count.
    pub(crate) fn text_bytes(&mut self, path: &Path) -> Result<Vec<u8>, Errno> {
        self.remember(path, RecordedFile::read_text)
    }

    fn remember<T>(
        &mut self,
        path: &Path,
        read: impl FnOnce(&Path) -> (RecordedFile, Result<T, Errno>),
    ) -> Result<T, Errno> {
        let position = self.positions.get(path);
        let known = position.and_then(|position| self.sources.get(*position));
        if let Some(errno) = known.and_then(RecordedFile::errno) {
            return Err(errno);
        }
        let is_known = known.is_some();
        let (file, contents) = read(path);
        // If a file is read twice, the first record is kept, since that reading decided the outcome.
        if !is_known {
            self.positions.insert(path.to_owned(), self.sources.len());
            self.sources.push(file);
        }
        contents
    }

    /// Returns the parsed file `name`, reading it at most once.
    pub(crate) fn text(&mut self, directory: &Path, name: &BStr) -> Result<Rc<Text>, Errno> {
        if name.is_empty() {
            return Err(Errno::NOENT);
        }
        let path = directory.join(path_of(name));
        let key = bytes_of(&path);
        if let Some(text) = self.texts.get(key) {
            return Ok(Rc::clone(text));
        }
        let bytes = self.remember(&path, RecordedFile::read_beginning)?;
        let text = Rc::new(parse::parse_beginning(&bytes)?);
        self.texts.insert(key.to_owned(), Rc::clone(&text));
        Ok(text)
    }

    /// Reads what git reads of the system's and the user's files before it looks for a repository.
    pub(crate) fn check_early(&mut self) -> Result<(), Error> {
        environment_boolean(self.environment, "GIT_NO_LAZY_FETCH", false)?;
        let mut loader = Loader::new(self, None, Purpose::Check);
        loader.is_lenient = true;
        loader.trusted_files()
    }

    /// Reads the scopes that a repository cannot write: system, global and command line.
    pub(crate) fn protected(&mut self) -> Result<Config, Error> {
        let mut loader = Loader::new(self, None, Purpose::Entries);
        loader.is_lenient = true;
        loader.trusted_files()?;
        loader.command_line()?;
        Ok(loader.config)
    }

    /// Reads all scopes. Files that were read earlier count among the sources of the result.
    pub(crate) fn config(mut self, dirs: &RepositoryDirs<'_>) -> Result<Config, Error> {
        let mut loader = Loader::new(&mut self, Some(dirs), Purpose::Entries);
        match loader.all() {
            Ok(()) => {
                let mut config = loader.config;
                config.sources = self.sources;
                config.messages = self.messages;
                config.messages.extend(fsync::warnings(&config));
                config.look_at_optional(dirs.directory);
                Ok(config)
            }
            Err(error) => Err(error.after(self.messages)),
        }
    }
}

/// What becomes of the entries.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    /// Nothing: only errors count.
    Check,
    /// They go into the configuration.
    Entries,
    /// Only remote URLs are collected, for `hasconfig:remote.*.url`; every such condition counts as true.
    RemoteUrls,
}

/// One pass over all files.
struct Loader<'a, 'e> {
    reader: &'a mut RecordingReader<'e>,
    dirs: Option<&'a RepositoryDirs<'a>>,
    config: Config,
    purpose: Purpose,
    /// True inside a file whose inclusion may depend on remote URLs: it may not configure any.
    forbids_remote_urls: bool,
    remote_urls: Option<Vec<BString>>,
    depth: usize,
    /// Whether to skip files that may not be read, and files about which git only complains.
    is_lenient: bool,
}

/// The position of an entry.
#[derive(Clone, Copy)]
struct Position<'p> {
    scope: Scope,
    /// The index of the file in `Config::files`, and its name; `None` on the command line.
    file: Option<(usize, &'p BStr)>,
    line: usize,
}

impl<'a, 'e> Loader<'a, 'e> {
    fn new(
        reader: &'a mut RecordingReader<'e>,
        dirs: Option<&'a RepositoryDirs<'a>>,
        purpose: Purpose,
    ) -> Self {
        let config = Config {
            home: reader.environment.get("HOME").map(BStr::to_owned),
            ..Config::default()
        };
        Self {
            reader,
            dirs,
            config,
            purpose,
            forbids_remote_urls: false,
            remote_urls: None,
            depth: 0,
            is_lenient: false,
        }
    }

    fn directory(&self) -> &Path {
        self.dirs
            .map_or(self.reader.environment.working_directory(), |dirs| {
                dirs.directory
            })
    }

    fn all(&mut self) -> Result<(), Error> {
        self.trusted_files()?;
        if let Some(dirs) = self.dirs {
            let local = own_file(dirs.common_dir, "config");
            self.top_file(local.as_bstr(), Scope::Local, false)?;
            if dirs.has_worktree_config {
                let own = own_file(dirs.git_dir, "config.worktree");
                self.top_file(own.as_bstr(), Scope::Worktree, false)?;
            }
        }
        self.command_line()
    }

    fn trusted_files(&mut self) -> Result<(), Error> {
        let environment = self.reader.environment;
        if !environment_boolean(environment, "GIT_CONFIG_NOSYSTEM", false)? {
            let name = environment
                .get("GIT_CONFIG_SYSTEM")
                .unwrap_or(SYSTEM.into());
            self.top_file(name, Scope::System, self.is_lenient)?;
        }
        if let Some(name) = environment.get("GIT_CONFIG_GLOBAL") {
            return self.top_file(name, Scope::Global, true);
        }
        let names = [
            xdg_config(environment, "config"),
            interpolate(environment.get("HOME"), "~/.gitconfig".into()),
        ];
        for name in names.into_iter().flatten() {
            self.top_file(name.as_bstr(), Scope::Global, true)?;
        }
        Ok(())
    }

    fn command_line(&mut self) -> Result<(), Error> {
        let culprit = || "unable to parse command-line config".to_owned();
        let pairs = parameters::read(self.reader.environment)
            .map_err(|message| EntryError::complaint(message).into_error(culprit))?;
        let position = Position {
            scope: Scope::Command,
            file: None,
            line: 0,
        };
        for (key, value) in pairs {
            self.entry(&key, value.as_ref(), position)
                .map_err(|stop| stop.into_error(culprit))?;
        }
        Ok(())
    }

    /// Reads one of git's own files, if it exists.
    fn top_file(&mut self, name: &BStr, scope: Scope, may_be_denied: bool) -> Result<(), Error> {
        match self.file(name, scope, may_be_denied) {
            Err(EntryError::Complaint(_)) if self.is_lenient => Ok(()),
            outcome => outcome.map_err(|stop| {
                let stop = match stop {
                    // git looks for a pager first, ignores this failure, and then reads everything again: it complains twice. Before
                    // that, it has looked in the files of no repository for where to trace. It does neither in those of a worktree.
                    EntryError::Complaint(messages) => {
                        let times = match scope {
                            Scope::System | Scope::Global => 3,
                            Scope::Worktree => 1,
                            Scope::Local | Scope::Command => 2,
                        };
                        EntryError::Complaint(vec![messages; times].concat())
                    }
                    other => other,
                };
                stop.into_error(|| {
                    "unknown error occurred while reading the configuration files".into()
                })
            }),
        }
    }

    fn file(&mut self, name: &BStr, scope: Scope, may_be_denied: bool) -> Result<(), EntryError> {
        let directory = self.directory().to_owned();
        // What Landlock denies, access(2) does not tell, and git is as surprised as by a directory.
        let is_denied_by_mode = |errno| {
            let path = directory.join(path_of(name));
            errno == Errno::ACCESS && access(path, Access::READ_OK).is_err()
        };
        let text = match self.reader.text(&directory, name) {
            Ok(text) => text,
            Err(errno) if is_missing(errno) => return Ok(()),
            Err(errno) if may_be_denied && is_denied_by_mode(errno) => return Ok(()),
            Err(errno @ (Errno::ISDIR | Errno::ACCESS)) if !is_denied_by_mode(errno) => {
                return Err(EntryError::complaint(format!(
                    "warning: unable to access '{name}': {}",
                    errno::text(errno),
                    name = raw(name)
                )));
            }
            Err(errno) => {
                return Err(EntryError::Fatal(Error::Bad(format!(
                    "unable to access '{name}': {}",
                    errno::text(errno),
                    name = raw(name)
                ))));
            }
        };
        let number = self.config.files.len();
        self.config.files.push(name.to_owned());
        let bad_line = |line: usize| {
            move || format!("bad config line {line} in file {name}", name = raw(name))
        };
        for line in &text.lines {
            let position = Position {
                scope,
                file: Some((number, name)),
                line: line.number,
            };
            self.entry(&line.key, line.value.as_ref(), position)
                .map_err(|stop| stop.into_error(bad_line(line.number)))?;
        }
        match text.bad_line {
            Some(line) => Err(EntryError::Fatal(Error::Bad(bad_line(line)()))),
            None => Ok(()),
        }
    }

    fn entry(
        &mut self,
        key: &BString,
        value: Option<&BString>,
        position: Position<'_>,
    ) -> Result<(), EntryError> {
        let is_remote_url = key.starts_with(b"remote.")
            && key.ends_with(b".url")
            && key.len() > b"remote.url".len();
        if self.forbids_remote_urls {
            if is_remote_url {
                return Err(EntryError::Fatal(Error::Bad(
                    "remote URLs cannot be configured in file directly or indirectly included by \
                     includeIf.hasconfig:remote.*.url"
                        .into(),
                )));
            }
        } else {
            self.store_entry(key, value, position, is_remote_url);
        }
        if key == "include.path" {
            return self.include(value, position);
        }
        let condition = key
            .strip_prefix(b"includeif.")
            .and_then(|rest| rest.strip_suffix(b".path"));
        let Some(condition) = condition else {
            return Ok(());
        };
        if !self.condition_holds(condition.as_bstr(), position)? {
            return Ok(());
        }
        let before = self.forbids_remote_urls;
        self.forbids_remote_urls |= self.purpose == Purpose::RemoteUrls;
        let outcome = self.include(value, position);
        self.forbids_remote_urls = before;
        outcome
    }

    fn store_entry(
        &mut self,
        key: &BString,
        value: Option<&BString>,
        position: Position<'_>,
        is_remote_url: bool,
    ) {
        match (self.purpose, value) {
            (Purpose::RemoteUrls, Some(url)) if is_remote_url => {
                self.remote_urls.get_or_insert_default().push(url.clone());
            }
            (Purpose::RemoteUrls | Purpose::Check, _) => {}
            (Purpose::Entries, _) => match parameters::canonical_key(key.as_bstr()) {
                Ok(_) => self.config.push(
                    key.as_bstr(),
                    value.cloned(),
                    position.scope,
                    position.file.map(|(number, _)| number),
                    position.line,
                ),
                // For example an entry before the first section: git complains, and goes on.
                Err(complaint) => self.reader.messages.push(complaint),
            },
        }
    }

    fn include(
        &mut self,
        value: Option<&BString>,
        position: Position<'_>,
    ) -> Result<(), EntryError> {
        let Some(path) = value else {
            return Err(EntryError::complaint(
                "error: missing value for 'include.path'",
            ));
        };
        let home = self.reader.environment.get("HOME");
        let mut name = interpolate(home, path.as_bstr()).ok_or_else(|| {
            EntryError::complaint(format!(
                "error: could not expand include path '{path}'",
                path = raw(&path)
            ))
        })?;
        if name.first() != Some(&b'/') {
            let Some((_, from)) = position.file else {
                return Err(EntryError::complaint(
                    "error: relative config includes must come from files",
                ));
            };
            let folder = name_start(from);
            name = [from.get(..folder).unwrap_or_default(), &name]
                .concat()
                .into();
        }
        if self.depth == INCLUDE_DEPTH_MAX && self.is_there(name.as_bstr()) {
            let from = position
                .file
                .map_or("the command line".into(), |(_, name)| name);
            return Err(EntryError::Fatal(Error::Bad(format!(
                "exceeded maximum include depth ({INCLUDE_DEPTH_MAX}) while including\n\t{name}\nfrom\n\t{from}\n\
                 This might be due to circular includes.",
                from = raw(from),
                name = raw(&name)
            ))));
        }
        self.depth += 1;
        let outcome = self.file(name.as_bstr(), position.scope, false);
        self.depth -= 1;
        outcome
    }

    fn is_there(&self, name: &BStr) -> bool {
        let path = self.directory().join(path_of(name));
        !name.is_empty() && vigil_linux::stat::stat_path(&path).is_ok()
    }

    fn condition_holds(
        &mut self,
        condition: &BStr,
        position: Position<'_>,
    ) -> Result<bool, EntryError> {
        let folded = Flags {
            fold_case: true,
            ..PATHS
        };
        let git_dir = self.dirs.map(|dirs| dirs.git_dir);
        let work_tree = self.dirs.and_then(|dirs| dirs.work_tree).map(bytes_of);
        if let Some(pattern) = condition.strip_prefix(b"gitdir:") {
            self.is_at(git_dir, pattern.as_bstr(), position, PATHS)
        } else if let Some(pattern) = condition.strip_prefix(b"gitdir/i:") {
            self.is_at(git_dir, pattern.as_bstr(), position, folded)
        } else if let Some(pattern) = condition.strip_prefix(b"worktree:") {
            self.is_at(work_tree, pattern.as_bstr(), position, PATHS)
        } else if let Some(pattern) = condition.strip_prefix(b"worktree/i:") {
            self.is_at(work_tree, pattern.as_bstr(), position, folded)
        } else if let Some(pattern) = condition.strip_prefix(b"onbranch:") {
            Ok(self.is_on_branch(pattern.as_bstr()))
        } else if let Some(pattern) = condition.strip_prefix(b"hasconfig:remote.*.url:") {
            self.has_remote_url(pattern.as_bstr())
        } else {
            Ok(false)
        }
    }

    /// Whether the directory `name`, if there is one, is where `pattern` says.
    fn is_at(
        &mut self,
        name: Option<&BStr>,
        pattern: &BStr,
        position: Position<'_>,
        flags: Flags,
    ) -> Result<bool, EntryError> {
        let (Some(dirs), Some(directory)) = (self.dirs, name) else {
            return Ok(false);
        };
        let environment = self.reader.environment;
        let real = real_path(dirs.directory, directory).map_err(Error::Bad)?;
        let home = match environment.get("HOME") {
            Some(home) if pattern == "~" || pattern.starts_with(b"~/") => {
                let real = real_path(dirs.directory, home).map_err(Error::Bad)?;
                Some(bytes_of(&real).to_owned())
            }
            _ => None,
        };
        let home = home.as_ref().map(|home| home.as_bstr());
        let mut pattern = interpolate(home, pattern).unwrap_or_else(|| pattern.to_owned());
        // The length of the prefix that is compared literally, even if it holds wildcards.
        let mut literal = 0;
        if pattern.starts_with(b"./") {
            let Some((_, name)) = position.file else {
                // git complains, and mistakes the result of its own complaint for a yes.
                self.reader.messages.push(
                    "error: relative config include conditionals must come from files".into(),
                );
                return Ok(true);
            };
            let file = real_path(dirs.directory, name).map_err(Error::Bad)?;
            let folder = file.parent().map_or("/".into(), bytes_of);
            literal = folder.len() + 1;
            pattern = [folder.as_bytes(), pattern.get(1..).unwrap_or_default()]
                .concat()
                .into();
        } else if pattern.first() != Some(&b'/') {
            pattern = [b"**/", pattern.as_bytes()].concat().into();
        }
        match_trailing_folder(&mut pattern);
        let place = PlacePattern {
            pattern,
            literal,
            flags,
        };
        let named = absolute_path(environment, dirs.directory, directory);
        let holds = place.matches(bytes_of(&real)) || place.matches(bytes_of(&named));
        if !holds && directory.first() != Some(&b'/') {
            self.config.elsewhere.push((place, directory.to_owned()));
        }
        Ok(holds)
    }

    fn is_on_branch(&mut self, pattern: &BStr) -> bool {
        let Some(dirs) = self.dirs else {
            return false;
        };
        let branch = &mut self.config.branch;
        let branch = branch.get_or_insert_with(|| Branch::new(dirs.references.clone()));
        let Some(name) = branch.name.as_ref() else {
            return false;
        };
        let mut pattern = pattern.to_owned();
        match_trailing_folder(&mut pattern);
        wildmatch(&pattern, name, PATHS)
    }

    fn has_remote_url(&mut self, pattern: &BStr) -> Result<bool, EntryError> {
        if self.purpose == Purpose::RemoteUrls {
            return Ok(true);
        }
        if self.remote_urls.is_none() {
            let mut inner = Loader::new(self.reader, self.dirs, Purpose::RemoteUrls);
            inner.is_lenient = self.is_lenient;
            if inner.is_lenient {
                inner.trusted_files()?;
            } else {
                inner.all()?;
            }
            self.remote_urls = Some(inner.remote_urls.unwrap_or_default());
        }
        let urls = self.remote_urls.iter().flatten();
        Ok(urls.into_iter().any(|url| wildmatch(pattern, url, PATHS)))
    }
}

/// Makes a pattern that ends in a slash match everything below.
fn match_trailing_folder(pattern: &mut BString) {
    if pattern.ends_with(b"/") {
        pattern.extend_from_slice(b"**");
    }
}

/// git's name for a file in the repository's `folder`.
fn own_file(folder: &BStr, name: &str) -> BString {
    match folder.as_bytes() {
        b"." => name.into(),
        _ => [folder.as_bytes(), b"/", name.as_bytes()].concat().into(),
    }
}
