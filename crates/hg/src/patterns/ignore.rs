//! The ignore patterns.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bstr::{BStr, BString, ByteSlice};
use sha1::{Digest, Sha1};
use vigil_linux::errno;
use vigil_model::path::name_start;

use super::compiled::Compiled;
use super::file::parse;
use super::kinds::{Kind, Pattern};
use super::read_alike::is_read_alike;
use crate::abort::Abort;
use crate::bytes::{bytes, normal_path};
use crate::text_file;
use vigil_stamp::paths::{bytes_of, path_of};

/// The suffix of a glob in an ignore file, which may also match a directory.
pub(super) const SUFFIX: &str = "(?:/|$)";
/// How deep files may include one another.
pub(super) const DEPTH_MAX: usize = 64;
/// How many files are read at most.
pub(super) const FILES_MAX: usize = 10_000;

/// The ignore patterns of a working copy.
#[derive(Debug, Default)]
pub struct Ignore {
    all: Compiled,
    /// A hash of the patterns in `all`.
    of_all: [u8; 20],
    subincludes: Vec<Subinclude>,
    outcome: Arc<Mutex<SubincludeOutcome>>,
    /// Whether `subincludes` are read only when a path is asked about that they may ignore.
    reads_later: bool,
    digest: u128,
    hash: Option<[u8; 20]>,
    /// Whether a pattern matches the top; computed when first needed.
    is_top: OnceLock<bool>,
}

/// Patterns that apply below one directory. Mercurial reads them when a path there is first asked about.
#[derive(Debug)]
struct Subinclude {
    /// The path of the directory, with a slash at its end; empty for the top.
    prefix: BString,
    /// The same from the top of the working copy.
    below: BString,
    root: PathBuf,
    file: PathBuf,
    /// The path of the file as messages show it.
    name: BString,
    /// Whether a file names it that is included by a relative path: Mercurial fails in Python when it reads this.
    fails: bool,
    /// The files that led to this one.
    from: Vec<PathBuf>,
    read: OnceLock<Ignore>,
    outcome: Arc<Mutex<SubincludeOutcome>>,
}

/// What was found while reading, later, patterns that apply only below some directory.
#[derive(Debug, Default)]
pub struct SubincludeOutcome {
    /// All files that were read or looked for.
    pub files: Vec<PathBuf>,
    /// Whether a file is there but could not be read.
    pub has_unreadable: bool,
    /// The first error, such as an invalid pattern.
    pub failure: Option<Abort>,
    /// The directory that the pattern would apply to, with a slash at its end; empty for the top.
    pub failed_below: BString,
}

impl SubincludeOutcome {
    fn fail(&mut self, below: &BString, failure: Abort) {
        if self.failure.is_none() {
            self.failed_below.clone_from(below);
            self.failure = Some(failure);
        }
    }
}

/// What is collected while patterns are read.
#[derive(Debug, Default)]
struct IgnoreReader {
    warnings: Vec<BString>,
    files: Vec<PathBuf>,
    /// Whether a file is there but could not be read.
    has_unreadable: bool,
    /// The files that led to those that are read.
    from: Vec<PathBuf>,
    /// The directory below which the patterns apply, with a slash at its end; empty for the top.
    below: BString,
    outcome: Arc<Mutex<SubincludeOutcome>>,
    /// The input of the hash of all patterns: for each file its path from the top and the hash of its text.
    hashed: Vec<u8>,
    /// Whether Mercurial's implementations may read a pattern differently.
    is_doubtful: bool,
}

/// The result of reading patterns.
#[derive(Debug)]
pub struct LoadedIgnore {
    /// The patterns, or an error if one is invalid or cannot be matched without Python.
    pub ignore: Result<Arc<Ignore>, Abort>,
    /// Messages for standard error, each without its line feed.
    pub warnings: Vec<BString>,
    /// All files that were read or looked for.
    pub files: Vec<PathBuf>,
    /// Whether a file is there but could not be read. It may be readable the next time, and look the same.
    pub has_unreadable: bool,
}

impl Ignore {
    /// Reads the patterns of `files`.
    pub fn read(root: &Path, files: &[PathBuf]) -> LoadedIgnore {
        let mut reader = IgnoreReader::default();
        let mut patterns = Vec::new();
        let mut hashed = Vec::new();
        let all = files.iter().try_for_each(|path| {
            let read = reader.include(root, bytes_of(path), 0, &mut patterns);
            hashed.push((path, std::mem::take(&mut reader.hashed)));
            read
        });
        let ignore = all.and_then(|()| reader.compile(root, patterns));
        let ignore = ignore.and_then(|mut ignore| {
            let is_hashed = ignore.subincludes.is_empty() && !reader.is_doubtful;
            ignore.hash = is_hashed.then(|| hash(hashed));
            let below = ignore.read_subincludes();
            reader.files.extend(below.files);
            reader.has_unreadable |= below.has_unreadable;
            below.failure.map_or(Ok(ignore), Err)
        });
        LoadedIgnore {
            ignore: ignore.map(Arc::new),
            warnings: reader.warnings,
            files: reader.files,
            has_unreadable: reader.has_unreadable,
        }
    }

    /// Returns patterns that ignore nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Returns whether `path` itself is ignored, regardless of the directories above it except the top: Mercurial also checks the
    /// top (the empty path), and looks at nothing if it is ignored.
    pub fn is_match(&self, path: &BStr) -> bool {
        *self.is_top.get_or_init(|| self.matches(BStr::new(""))) || self.matches(path)
    }

    /// Whether a pattern matches `path`.
    fn matches(&self, path: &BStr) -> bool {
        // In Mercurial's order, which is visible if a pattern of such a file is invalid.
        let below = |subinclude: &Subinclude| {
            path.strip_prefix(subinclude.prefix.as_slice())
                .is_some_and(|rest| subinclude.patterns().matches(rest.as_bstr()))
        };
        self.subincludes.iter().any(below) || self.all.is_match(path)
    }

    /// Reads the patterns that apply only below some directory above `path`. Mercurial looks them up first, even if `path` is
    /// ignored for another reason.
    pub fn read_for(&self, path: &BStr) {
        for subinclude in &self.subincludes {
            if let Some(rest) = path.strip_prefix(subinclude.prefix.as_slice()) {
                subinclude.patterns().read_for(rest.as_bstr());
            }
        }
    }

    /// Reads the patterns that apply only below some directory, if all are valid, and returns what was found. Mercurial may never
    /// read a file, and so says nothing of what is invalid in it: then each waits for its turn, unless there are too many.
    fn read_subincludes(&mut self) -> SubincludeOutcome {
        self.read_all();
        let outcome = self.take_subinclude_outcome();
        if outcome.files.len() > FILES_MAX {
            return outcome;
        }
        if outcome.failure.is_some() {
            for subinclude in &mut self.subincludes {
                subinclude.read = OnceLock::new();
            }
            return SubincludeOutcome::default();
        }
        self.reads_later = false;
        self.digest = self.digest_of_all();
        outcome
    }

    /// Reads all patterns, or those up to the first invalid one.
    fn read_all(&self) {
        for subinclude in &self.subincludes {
            subinclude.patterns().read_all();
            let outcome = self.outcome.lock();
            if outcome
                .unwrap_or_else(PoisonError::into_inner)
                .failure
                .is_some()
            {
                return;
            }
        }
    }

    /// Computes a digest of all patterns, which have been read.
    fn digest_of_all(&self) -> u128 {
        digest(&self.of_all, &self.subincludes, |subinclude| {
            subinclude.patterns().digest_of_all()
        })
    }

    /// Returns whether patterns for one directory, which must have been read, still apply to the same one: that depends on links
    /// and other repositories on the way from `root`.
    pub fn has_same_directories(&self, root: &Path) -> bool {
        self.subincludes.iter().all(|subinclude| {
            prefix_of(&subinclude.root, root).is_ok_and(|prefix| prefix == subinclude.prefix)
                && subinclude.patterns().has_same_directories(&subinclude.root)
        })
    }

    /// Takes what was found since the patterns were read.
    pub fn take_subinclude_outcome(&self) -> SubincludeOutcome {
        std::mem::take(&mut *self.outcome.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether `path`, or a directory above it, is ignored.
    pub fn is_match_or_below(&self, path: &BStr) -> bool {
        self.is_match(path)
            || path.find_iter("/").any(|slash| {
                let above = path.get(..slash).unwrap_or_default();
                self.is_match(above.as_bstr())
            })
    }

    /// Returns whether all patterns are read: no file with patterns for one directory is read only when a path there is asked
    /// about.
    pub fn is_whole(&self) -> bool {
        !self.reads_later
    }

    /// The hash by which Mercurial recognizes the ignore patterns in a dirstate of the second format. `None` if it would cover
    /// files that are read only when a path is asked about that they may ignore, or if Mercurial's implementations may read a
    /// pattern differently.
    pub fn hash(&self) -> Option<[u8; 20]> {
        self.hash
    }

    /// A digest that is equal only for equal patterns, if [`Self::is_whole`].
    pub fn digest(&self) -> u128 {
        self.digest
    }
}

impl IgnoreReader {
    /// Adds the patterns of the file `name`, a path from `root`.
    fn include(
        &mut self,
        root: &Path,
        name: &[u8],
        depth: usize,
        patterns: &mut Vec<Pattern>,
    ) -> Result<(), Abort> {
        self.include_file(root, root.join(path_of(name)), name, depth, patterns)
    }

    /// Adds the patterns of the file `path`, which messages call `name`.
    fn include_file(
        &mut self,
        root: &Path,
        path: PathBuf,
        name: &[u8],
        depth: usize,
        patterns: &mut Vec<Pattern>,
    ) -> Result<(), Abort> {
        let too_many = depth > DEPTH_MAX || self.files.len() > FILES_MAX;
        if too_many {
            let message = bytes!("too many ignore files include one another: '", name, "'");
            return Err(Abort::plain(message));
        }
        self.files.push(path.clone());
        let text = match text_file::read(&path) {
            Ok(text) => text,
            Err(error) => {
                self.has_unreadable |= error.kind() != io::ErrorKind::NotFound;
                let reason = errno::text_of(&error);
                let message = bytes!("skipping unreadable pattern file '", name, "': ", reason);
                self.warnings.push(message);
                return Ok(());
            }
        };
        let from_top = path.strip_prefix(root).unwrap_or(&path);
        self.hashed.extend_from_slice(bytes_of(from_top));
        self.hashed.push(b' ');
        self.hashed.extend_from_slice(&Sha1::digest(&text));
        self.hashed.push(b'\n');
        let file = parse(&text, bytes_of(&path));
        self.is_doubtful |= !file.warnings.is_empty();
        self.warnings.extend(file.warnings);
        for line in &file.patterns {
            let (kind, text) = Kind::split(line, Kind::Glob);
            self.is_doubtful |= !is_read_alike(kind, text);
            match kind {
                Kind::Include => {
                    let mut inner = Vec::new();
                    self.include(root, text, depth.saturating_add(1), &mut inner)
                        .map_err(|error| Abort {
                            message: bytes!(name, ": ", error.message),
                            ..error
                        })?;
                    patterns.extend(inner);
                }
                _ => patterns.push(Pattern::from_top(kind, text, name)),
            }
        }
        Ok(())
    }

    fn compile(&self, root: &Path, patterns: Vec<Pattern>) -> Result<Ignore, Abort> {
        let (below, here): (Vec<Pattern>, Vec<Pattern>) = patterns
            .into_iter()
            .partition(|pattern| pattern.kind == Kind::SubInclude);
        let all = Compiled::new(&here, SUFFIX)?;
        let mut parts = Vec::new();
        for pattern in below {
            let source = normal_path(bytes_of(&root.join(path_of(&pattern.source))));
            let folder = path_of(&source).parent().unwrap_or(root);
            let (new_root, file) = subincluded(folder, &pattern.text);
            let name = folder.join(path_of(&pattern.text));
            let name = bytes_of(&name);
            // Mercurial names the directory as the text does.
            let prefix = prefix_of(path_of(directory_of(name)), root)?;
            if self.from.contains(&file) {
                continue;
            }
            parts.push(Subinclude {
                below: bytes!(self.below, prefix),
                prefix,
                root: new_root,
                fails: path_of(&pattern.source).is_relative(),
                from: self.from.iter().chain([&file]).cloned().collect(),
                file,
                name: name.into(),
                read: OnceLock::new(),
                outcome: self.outcome.clone(),
            });
        }
        let of_all = hash_of(&here);
        let digest = digest(&of_all, &parts, |_| 0);
        Ok(Ignore {
            all,
            of_all,
            reads_later: !parts.is_empty(),
            subincludes: parts,
            outcome: self.outcome.clone(),
            digest,
            hash: None,
            is_top: OnceLock::new(),
        })
    }
}

impl Subinclude {
    fn patterns(&self) -> &Ignore {
        self.read.get_or_init(|| {
            let mut reader = IgnoreReader {
                from: self.from.clone(),
                below: self.below.clone(),
                outcome: self.outcome.clone(),
                ..IgnoreReader::default()
            };
            let mut patterns = Vec::new();
            let file = self.file.clone();
            let read = reader.include_file(&self.root, file, &self.name, 0, &mut patterns);
            let compiled = read.and_then(|()| reader.compile(&self.root, patterns));
            let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
            // Mercurial reports nothing that is wrong with such files, except an invalid pattern.
            outcome.files.append(&mut reader.files);
            outcome.has_unreadable |= reader.has_unreadable;
            let is_too_much = outcome.files.len() > FILES_MAX || self.from.len() > DEPTH_MAX;
            match compiled {
                _ if self.fails => {
                    let said = bytes!("'", self.name, "', which is subincluded where that fails");
                    outcome.fail(&self.below, Abort::unsupported(said));
                    Ignore::nothing()
                }
                Ok(ignore) if !is_too_much => ignore,
                Ok(_) => {
                    let message = "too many ignore files include one another";
                    outcome.fail(&self.below, Abort::plain(message));
                    Ignore::nothing()
                }
                Err(abort) => {
                    outcome.fail(&self.below, abort);
                    Ignore::nothing()
                }
            }
        })
    }
}

/// Returns the directory below which the patterns of a file apply, and the file, whose path `text` is relative to `folder`. As in
/// Mercurial, the directory is what the text says before its last slash, even if no file is named after that.
pub(super) fn subincluded(folder: &Path, text: &[u8]) -> (PathBuf, PathBuf) {
    let whole = folder.join(path_of(text));
    let whole = bytes_of(&whole);
    let (directory, name) = whole
        .split_at_checked(name_start(whole))
        .unwrap_or_default();
    let directory = path_of(&normal_path(directory)).to_owned();
    let file = directory.join(path_of(name));
    (directory, file)
}

/// Returns what stands before the last slash of `path`.
fn directory_of(path: &[u8]) -> &[u8] {
    let end = path.rfind_byte(b'/').unwrap_or(0);
    let directory = path.get(..end).unwrap_or_default();
    let trimmed = directory.trim_end_with(|letter| letter == '/');
    match trimmed.is_empty() {
        true => path.get(..end.saturating_add(1)).unwrap_or_default(),
        false => trimmed,
    }
}

/// Returns the path of `folder` from `root`, with a slash at its end; empty for the top.
///
/// # Errors
/// It leads outside, or into another repository.
fn prefix_of(folder: &Path, root: &Path) -> Result<BString, Abort> {
    let prefix = super::user_paths::canonical(root, root, bytes_of(folder))?;
    Ok(match prefix.is_empty() {
        true => prefix,
        false => bytes!(prefix, "/"),
    })
}

/// Computes Mercurial's hash of ignore files, each given with what it and the files it includes contribute.
fn hash(mut files: Vec<(&PathBuf, Vec<u8>)>) -> [u8; 20] {
    files.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
    let mut sum = Sha1::new();
    files.iter().for_each(|(_, hashed)| sum.update(hashed));
    sum.finalize().into()
}

/// Computes a hash that is equal only for equal patterns.
fn hash_of(patterns: &[Pattern]) -> [u8; 20] {
    let mut sum = Sha1::new();
    for pattern in patterns {
        sum.update(bytes!(pattern.kind.name(), ":", pattern.text, "\n"));
    }
    sum.finalize().into()
}

/// Computes a digest of patterns, in which `of_patterns` stands for those in each subinclude.
fn digest(
    of_all: &[u8; 20],
    subincludes: &[Subinclude],
    of_patterns: impl Fn(&Subinclude) -> u128,
) -> u128 {
    let mut sum = Sha1::new();
    sum.update(of_all);
    for subinclude in subincludes {
        sum.update([0]);
        sum.update(&subinclude.prefix);
        sum.update([0]);
        sum.update(bytes_of(&subinclude.file));
        sum.update([0]);
        sum.update(of_patterns(subinclude).to_be_bytes());
    }
    let sum: [u8; 20] = sum.finalize().into();
    sum.first_chunk()
        .map_or(0, |bytes| u128::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_what_is_subincluded_as_the_text_does() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        std::fs::create_dir(top.join("d")).unwrap();
        std::fs::write(top.join("d/wrong"), "re:(\n").unwrap();
        std::fs::write(top.join("d/more"), "subinclude:./wrong\n").unwrap();
        let shown = top.display();
        for (text, expected) in [
            ("../x", format!("{shown}/.. not under root '{shown}'")),
            ("..//x", format!("{shown}/.. not under root '{shown}'")),
            (
                "d/../../",
                format!("{shown}/d/../.. not under root '{shown}'"),
            ),
            ("/tmp//x", format!("/tmp not under root '{shown}'")),
            ("//x", format!("// not under root '{shown}'")),
            (
                "./d/wrong",
                format!("{shown}/./d/wrong: invalid pattern (relre): ("),
            ),
            (
                "d/../d//wrong",
                format!("{shown}/d/../d//wrong: invalid pattern (relre): ("),
            ),
            (
                "./d/more",
                format!("{shown}/d/./wrong: invalid pattern (relre): ("),
            ),
        ] {
            let file = top.join(".hgignore");
            std::fs::write(&file, format!("subinclude:{text}\n")).unwrap();
            let read = Ignore::read(top, &[file]).ignore;
            // What is wrong with a file for one directory is told when a path there is asked about.
            let failure = match read {
                Err(failure) => failure,
                Ok(ignore) => {
                    ignore.read_for("d/a".into());
                    ignore.take_subinclude_outcome().failure.unwrap()
                }
            };
            assert_eq!(failure.message, expected, "{text}");
        }
    }

    #[test]
    fn files_that_name_one_another_are_not_read_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let file = write(".hgignore", &"subinclude:first\n".repeat(200));
        write("first", &"subinclude:second\n".repeat(200));
        write("second", "");
        let read = Ignore::read(folder.path(), &[file]);
        let message = "too many ignore files include one another";
        assert_eq!(read.ignore.err(), Some(Abort::plain(message)));
        assert!(read.files.len() <= 2 * FILES_MAX);
    }
}
