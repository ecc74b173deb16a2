//! What changes the history recorded in commits: shallow boundaries, grafts and replacements
//! (git-replace(1), "shallow" and "info/grafts" in gitrepository-layout(5)).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Take};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::{BStr, BString};
use gix_hash::{Kind, ObjectId, oid};
use parking_lot::Mutex;
use vigil_linux::{Errno, errno};
use vigil_model::raw_text::{raw_path, text_bytes};

use super::Error;
use crate::advice::Advice;
use crate::refs::Refs;
use crate::repository::Repository;
use vigil_model::c_string::until_nul;
use vigil_model::white_space;

const GRAFTS_ARE_DEPRECATED: Advice = Advice {
    name: "graftFileDeprecated",
    lines: &[
        "Support for <GIT_DIR>/info/grafts is deprecated",
        "and will be removed in a future Git version.",
        "",
        "Please use \"git replace --convert-graft-file\"",
        "to convert the grafts into replace refs.",
        "",
        "Turn this message off by running",
        "\"git config set advice.graftFileDeprecated false\"",
    ],
    is_explained: false,
};

/// How many replacements may follow one another.
const REPLACE_DEPTH_MAX: usize = 5;

/// How many distances between two commits are cached.
const DISTANCES_MAX: usize = 8;

/// The changes to history, as they were when they were read.
#[derive(Debug, Default)]
pub struct History {
    links: OnceLock<Links>,
    /// What `links` are read from, unless they were read at once.
    unread: Option<Unread>,
    replacements: HashMap<ObjectId, ObjectId>,
    /// What git writes to stderr when the first object that could be replaced is asked for, as whole lines.
    warnings: Vec<BString>,
    /// Whether what git writes with the first commit was reported.
    notices_reported: AtomicBool,
    /// Pairs of commits, and how many commits are reachable only from the one and only from the other.
    distances: Mutex<Vec<([ObjectId; 2], [usize; 2])>>,
}

/// Changed links between commits that were not read yet.
#[derive(Debug)]
struct Unread {
    files: LinkFiles,
    /// What git writes if there are grafts.
    advice: Vec<BString>,
}

/// Where changed links between commits are read from.
#[derive(Debug)]
struct LinkFiles {
    grafts: PathBuf,
    /// The name of `grafts` in messages.
    shown_grafts: PathBuf,
    shallow: PathBuf,
    hash: Kind,
}

/// The changed links between commits.
#[derive(Debug, Default, PartialEq)]
struct Links {
    /// Parents that replace a commit's own; an empty list at a shallow boundary.
    parents: HashMap<ObjectId, Vec<ObjectId>>,
    is_shallow: bool,
    /// What git writes to stderr when it reads the grafts, as whole lines.
    notices: Vec<BString>,
    /// A line of the `shallow` file that is not an id; an error only once a commit is read.
    bad_shallow_line: Option<BString>,
}

impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        self.links() == other.links()
            && self.replacements == other.replacements
            && self.warnings == other.warnings
    }
}

impl History {
    /// Whether some objects are replaced.
    pub fn has_replacements(&self) -> bool {
        !self.replacements.is_empty()
    }

    /// The objects that have replacements.
    pub fn all_replaced(&self) -> impl Iterator<Item = &ObjectId> {
        self.replacements.keys()
    }

    /// Reads the changes that apply to `repo`.
    pub(super) fn read(repo: &Repository, refs: &Refs) -> Result<Self, Error> {
        let links = LinkFiles::of(repo).read(|| GRAFTS_ARE_DEPRECATED.messages(repo))?;
        let mut history = Self {
            links: links.into(),
            ..Self::default()
        };
        history.read_replacements(repo, refs)?;
        Ok(history)
    }

    /// As [`Self::read`], but grafts and the shallow boundary are read when they are needed, as by git's commands: others may
    /// change them until then.
    pub(super) fn read_replacements_only(repo: &Repository, refs: &Refs) -> Result<Self, Error> {
        let mut history = Self {
            unread: Some(Unread {
                files: LinkFiles::of(repo),
                advice: GRAFTS_ARE_DEPRECATED.messages(repo)?,
            }),
            ..Self::default()
        };
        history.read_replacements(repo, refs)?;
        Ok(history)
    }

    fn read_replacements(&mut self, repo: &Repository, refs: &Refs) -> Result<(), Error> {
        let environment = &repo.environment;
        if environment.get("GIT_NO_REPLACE_OBJECTS").is_some()
            || repo.config.boolean("core.useReplaceRefs")? == Some(false)
        {
            return Ok(());
        }
        let base = environment
            .get("GIT_REPLACE_REF_BASE")
            .unwrap_or(BStr::new(b"refs/replace/"));
        let mut duplicate = None;
        // The name counts whether or not the reference leads to anything.
        refs.for_each_listed(&refs.list(base)?, None, |name, id, _| {
            let short = name.strip_prefix(AsRef::<[u8]>::as_ref(base));
            let short = short.unwrap_or(name);
            let replaced = name.rsplit(|byte| *byte == b'/').next();
            match replaced.map(ObjectId::from_hex) {
                Some(Ok(replaced)) if replaced.kind() == repo.hash => {
                    if self.replacements.insert(replaced, id.to_owned()).is_some() {
                        duplicate.get_or_insert_with(|| BString::from(short));
                    }
                }
                _ => {
                    let name = short;
                    let warning = [b"warning: bad replace ref name: ", name].concat();
                    self.warnings.push(warning.into());
                }
            }
        })?;
        match duplicate {
            Some(name) => Err(Error::DuplicateReplacement { name }),
            None => Ok(()),
        }
    }

    fn links(&self) -> &Links {
        self.links.get_or_init(|| {
            let Some(Unread { files, advice }) = &self.unread else {
                return Links::default();
            };
            let Ok(links) = files.read(|| Ok::<_, Infallible>(advice.clone()));
            links
        })
    }

    /// Reads grafts and a shallow boundary from memory.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn of_lines(grafts: &[u8], shallow: &[u8], hash: Kind) -> Self {
        let mut links = Links::default();
        links.take_grafts(&mut Lines::new(grafts, u64::MAX, GRAFT_LEN_MAX), hash);
        links.take_shallow(&mut Lines::new(shallow, u64::MAX, SHALLOW_LEN_MAX), hash);
        Self {
            links: links.into(),
            ..Self::default()
        }
    }

    /// What git writes to stderr when it looks up which objects are replaced, as whole lines.
    pub(super) fn warnings(&self) -> &[BString] {
        &self.warnings
    }

    /// What git writes to stderr when it reads the grafts, as whole lines.
    pub fn notices(&self) -> &[BString] {
        &self.links().notices
    }

    /// Notes that what comes with the first commit is reported. Returns whether it was before.
    pub(super) fn note_reported(&self) -> bool {
        self.notices_reported.swap(true, Ordering::Relaxed)
    }

    /// Whether what comes with the first commit was reported.
    pub(super) fn notices_reported(&self) -> bool {
        self.notices_reported.load(Ordering::Relaxed)
    }

    /// Sets what [`Self::notices_reported`] returns.
    pub(super) fn set_notices_reported(&self, notices_reported: bool) {
        self.notices_reported
            .store(notices_reported, Ordering::Relaxed);
    }

    /// Checks that the `shallow` file is valid. If not, no commit can be read, since its parents are not known.
    ///
    /// # Errors
    /// A line of the file is not an id.
    pub fn check(&self) -> Result<(), Error> {
        match &self.links().bad_shallow_line {
            Some(line) => Err(Error::BadShallowLine { line: line.clone() }),
            None => Ok(()),
        }
    }

    /// Whether history is as commits record it, and so as a commit-graph gives it.
    pub(crate) fn is_unmodified(&self) -> bool {
        let links = self.links();
        links.parents.is_empty() && self.replacements.is_empty() && !links.is_shallow
    }

    /// The commits whose parents differ from those that they name.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn all_changed(&self) -> impl Iterator<Item = (&ObjectId, &[ObjectId])> {
        let all = self.links().parents.iter();
        all.map(|(commit, parents)| (commit, parents.as_slice()))
    }

    /// Returns the parents of `commit`, if they differ from those that it names.
    pub(super) fn parents(&self, commit: &oid) -> Option<&[ObjectId]> {
        self.links().parents.get(commit).map(Vec::as_slice)
    }

    /// Returns the object that stands for `id`.
    pub(super) fn replaced<'a>(&'a self, id: &'a oid) -> Result<&'a oid, Error> {
        if self.replacements.is_empty() {
            return Ok(id);
        }
        let mut current = id;
        for _ in 0..REPLACE_DEPTH_MAX {
            match self.replacements.get(current) {
                Some(next) => current = next,
                None => return Ok(current),
            }
        }
        Err(Error::ReplaceDepth { id: id.to_owned() })
    }

    /// Returns a cached distance.
    pub fn cached_distance(&self, pair: &[ObjectId; 2]) -> Option<[usize; 2]> {
        let distances = self.distances.lock();
        distances
            .iter()
            .find(|(known, _)| known == pair)
            .map(|(_, distance)| *distance)
    }

    /// Caches a distance; the oldest one makes room for it.
    pub fn cache_distance(&self, pair: [ObjectId; 2], distance: [usize; 2]) {
        let mut distances = self.distances.lock();
        if distances.len() >= DISTANCES_MAX {
            distances.remove(0);
        }
        distances.push((pair, distance));
    }
}

impl LinkFiles {
    /// The files of `repo`.
    fn of(repo: &Repository) -> Self {
        let environment = &repo.environment;
        // git has changed to the top of the working tree by then.
        let directory = repo.work_tree.as_deref();
        let directory = directory.unwrap_or(environment.working_directory());
        let place = |variable: &str, default: &str| -> PathBuf {
            match environment.get(variable) {
                None => repo.common_dir.join(default),
                // There is no such file.
                Some(path) if path.is_empty() => PathBuf::new(),
                Some(path) => directory.join(OsStr::from_bytes(path)),
            }
        };
        let grafts = place("GIT_GRAFT_FILE", "info/grafts");
        Self {
            shown_grafts: repo.shown(&grafts).to_owned(),
            grafts,
            shallow: place("GIT_SHALLOW_FILE", "shallow"),
            hash: repo.hash,
        }
    }

    /// Reads the changed links; `advice` is what git writes if there are grafts.
    fn read<E>(&self, advice: impl FnOnce() -> Result<Vec<BString>, E>) -> Result<Links, E> {
        let mut links = Links::default();
        links.read_grafts(self, advice)?;
        links.read_shallow(&self.shallow, self.hash);
        Ok(links)
    }
}

impl Links {
    fn read_grafts<E>(
        &mut self,
        files: &LinkFiles,
        advice: impl FnOnce() -> Result<Vec<BString>, E>,
    ) -> Result<(), E> {
        let mut lines = match Lines::open(&files.grafts, GRAFT_LEN_MAX) {
            Ok(lines) => lines,
            Err(error) => {
                let is_absent = [ErrorKind::NotFound, ErrorKind::NotADirectory];
                if !is_absent.contains(&error.kind()) {
                    let (path, reason) = (raw_path(&files.shown_grafts), errno::text_of(&error));
                    let message = format!("warning: unable to access '{path}': {reason}");
                    self.notices.push(text_bytes(&message));
                }
                return Ok(());
            }
        };
        self.notices = advice()?;
        self.take_grafts(&mut lines, files.hash);
        Ok(())
    }

    fn take_grafts(&mut self, lines: &mut Lines<impl Read>, hash: Kind) {
        while let Some(line) = lines.next() {
            self.graft(line, hash);
            lines.skip_rest();
        }
    }

    /// Reads the shallow boundary. A file that cannot be read counts as missing.
    fn read_shallow(&mut self, path: &Path, hash: Kind) {
        if let Ok(mut lines) = Lines::open(path, SHALLOW_LEN_MAX) {
            self.take_shallow(&mut lines, hash);
        }
    }

    fn take_shallow(&mut self, lines: &mut Lines<impl Read>, hash: Kind) {
        self.is_shallow = true;
        while let Some(line) = lines.next() {
            let hex = line.get(..hash.len_in_hex());
            let Some(id) = hex.and_then(|hex| ObjectId::from_hex(hex).ok()) else {
                self.bad_shallow_line = Some(line.into());
                break;
            };
            self.parents.insert(id, Vec::new());
        }
    }

    /// Reads one line of the grafts.
    fn graft(&mut self, line: &[u8], hash: Kind) {
        let line = white_space::trim_end(line);
        if line.is_empty() || line.starts_with(b"#") {
            return;
        }
        let complaint = match parse_graft(line, hash) {
            None => "bad",
            Some((commit, parents)) => match self.parents.entry(commit) {
                Entry::Vacant(slot) => {
                    slot.insert(parents);
                    return;
                }
                Entry::Occupied(_) => "duplicate",
            },
        };
        // For git it is a C string.
        let line = until_nul(line);
        let mut message = [b"error: ", complaint.as_bytes(), b" graft data: ", line].concat();
        message.truncate(NOTICE_LEN_MAX);
        self.notices.push(message.into());
    }
}

/// The length to which git cuts a message line, in bytes.
const NOTICE_LEN_MAX: usize = 4095;

/// How much of one graft is read, in bytes: room for a commit with 16,000 parents.
const GRAFT_LEN_MAX: usize = 1 << 20;

/// How much of a `shallow` line git reads at once, in bytes: it takes the rest for the next line.
const SHALLOW_LEN_MAX: usize = 1023;

/// The lines of a file, each read on demand.
struct Lines<R> {
    file: BufReader<Take<R>>,
    line: Vec<u8>,
    len_max: usize,
}

impl Lines<File> {
    /// Opens the file `path`, to be read in lines of at most `len_max` bytes at once.
    fn open(path: &Path, len_max: usize) -> io::Result<Self> {
        let file = vigil_stamp::file::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(Errno::ISDIR.into());
        }
        let len = match metadata.is_file() {
            true => u64::MAX,
            false => vigil_stamp::file::DEVICE_LEN_MAX,
        };
        Ok(Self::new(file, len, len_max))
    }
}

impl<R: Read> Lines<R> {
    /// Creates a reader of the lines in the first `len` bytes of `file`.
    fn new(file: R, len: u64, len_max: usize) -> Self {
        Self {
            file: BufReader::new(file.take(len)),
            line: Vec::new(),
            len_max,
        }
    }

    /// Returns the next line or part of a line, with its line feed if it has been reached; `None` at the
    /// end, or if reading fails.
    fn next(&mut self) -> Option<&[u8]> {
        self.line.clear();
        let mut part = self.file.by_ref().take(self.len_max as u64);
        let read = part.read_until(b'\n', &mut self.line);
        read.is_ok_and(|read| read > 0).then_some(&self.line)
    }

    /// Skips to the end of the line.
    fn skip_rest(&mut self) {
        while self.line.last() != Some(&b'\n') && self.next().is_some() {}
    }
}

/// Parses a commit's id and the ids of its parents; `None` for an invalid line.
fn parse_graft(line: &[u8], hash: Kind) -> Option<(ObjectId, Vec<ObjectId>)> {
    let mut ids = line
        .split(|byte| white_space::is_space(*byte))
        .map(|hex| ObjectId::from_hex(hex).ok().filter(|id| id.kind() == hash));
    let commit = ids.next()??;
    Some((commit, ids.collect::<Option<_>>()?))
}
