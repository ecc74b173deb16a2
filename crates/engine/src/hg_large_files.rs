//! Large files in the status of a Mercurial working copy: they take the place of their stand-ins.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString};
use sha1::{Digest, Sha1};
use vigil_hg::abort::Abort;
use vigil_hg::bytes::{bytes, trim};
use vigil_hg::dirstate::Dirstate;
use vigil_hg::large_files::{LargeFiles, STAND_INS, large_file, stand_in};
use vigil_hg::node::Node;
use vigil_hg::patterns::Matcher;
use vigil_hg::repository::Repository;
use vigil_hg::stored::{Manifest, Store};
use vigil_hg::verdict::{Verdict, verdict};
use vigil_hg::working_file;
use vigil_linux::stat::{Stat, lstat_path};

use crate::hg_status::HgStatus;
use crate::hg_status::kinds::Lists;

/// The maximum number of bytes that are read to compare large files. Mercurial notes what it found, and Vigil does not: so it
/// would read the same files at each question.
const COMPARED_LEN_MAX: u64 = 1 << 24;

/// A question about the large files of a working copy.
pub struct LargeFilesQuestion<'q> {
    /// The repository.
    pub repository: &'q Repository,
    /// The dirstate of the working copy, which has the stand-ins.
    pub dirstate: &'q Dirstate,
    /// The large files.
    pub large_files: &'q LargeFiles,
    /// Which paths are asked for.
    pub matcher: &'q Matcher,
    /// Whether clean files are asked for.
    pub clean: bool,
}

impl LargeFilesQuestion<'_> {
    /// Returns whether some large file is asked for. If none is, Mercurial shows the stand-ins as they are.
    ///
    /// # Errors
    /// The dirstate of the large files cannot be read.
    pub fn concerns_any(&self) -> Result<bool, Abort> {
        if self.matcher.is_everything() {
            return Ok(true);
        }
        let mut paths = self.large_files.dirstate()?.iter().map(|(path, _)| path);
        Ok(paths.any(|path| self.matcher.is_match(path)))
    }

    /// Puts the large files into a status in which the stand-ins are listed.
    ///
    /// # Errors
    /// Something cannot be read or is damaged, or only Mercurial can compare a file.
    pub fn put_into(&self, status: &mut HgStatus) -> Result<(), Abort> {
        if !self.concerns_any()? {
            return Ok(());
        }
        let large_files = self.large_files.dirstate()?;
        let own = self.lists(large_files)?;
        let is_large = |path: &BString| large_files.position(path.as_ref()).is_some();
        let lists = &mut status.lists;
        lists.removed.retain(|path| !is_large(path));
        lists.unknown.retain(|path| !is_large(path));
        lists.ignored.retain(|path| !is_large(path));
        lists.retain(|path| large_file(path).is_none());
        lists.merge(own);
        Ok(())
    }

    /// Removes what is said of large files that are asked for by name: Mercurial looks for their stand-ins.
    ///
    /// # Errors
    /// Only Mercurial knows what is said instead.
    pub fn leave_out_named(&self, status: &mut HgStatus) -> Result<(), Abort> {
        if !self.concerns_any()? {
            return Ok(());
        }
        for path in self.matcher.named() {
            let large_files = self.large_files.dirstate()?;
            let stand_in = stand_in(path);
            let is_large = self.dirstate.position(stand_in.as_ref()).is_some();
            if !is_large && !self.dirstate.has_directory(stand_in.as_ref()) {
                continue;
            }
            let found = lstat_path(&self.place(path)).ok();
            let is_known = large_files.position(path).is_some() || large_files.has_directory(path);
            let is_usual = match found {
                None => is_known,
                Some(found) => found.is_file() || found.is_dir() && !is_large,
            };
            if !is_usual {
                return Err(only_by_mercurial("named here", path));
            }
            if is_large {
                status.bad.retain(|bad| bad.was_met || bad.path != path);
            }
        }
        Ok(())
    }

    /// Returns the large files of each kind.
    fn lists(&self, large_files: &Dirstate) -> Result<Lists, Abort> {
        let now = vigil_stamp::now();
        let store = self.repository.store();
        let parent = match large_files.is_empty() && !self.has_stand_ins() {
            true => Manifest::default(),
            false => self.parent(&store)?,
        };
        let mut comparison = Comparison {
            store: &store,
            parent: &parent,
            len_left: COMPARED_LEN_MAX,
        };
        let mut lists = Lists::default();
        for (number, (path, entry)) in large_files.iter().enumerate() {
            if !self.matcher.is_match(path) {
                continue;
            }
            let place = self.place(path);
            let found = lstat_path(&place).ok();
            if found.as_ref().is_some_and(Stat::is_symlink) {
                return Err(only_by_mercurial("that is a symbolic link", path));
            }
            let found = found.filter(Stat::is_file);
            let is_copy = large_files.copy_source(number).is_some();
            let verdict = match verdict(entry, is_copy, found.as_ref(), now) {
                Verdict::Unsure => comparison.verdict(path, &place)?,
                verdict => verdict,
            };
            let list = match verdict {
                Verdict::Modified | Verdict::Unsure => &mut lists.modified,
                Verdict::Added => &mut lists.added,
                Verdict::Removed if self.dirstate.position(path).is_some() => continue,
                Verdict::Removed => &mut lists.removed,
                Verdict::Deleted => &mut lists.deleted,
                Verdict::Clean if !self.clean => continue,
                Verdict::Clean => &mut lists.clean,
            };
            list.push(path.to_owned());
        }
        // Those of which only the stand-ins are known are taken for deleted.
        let committed = parent.iter().filter_map(|(path, _)| large_file(path));
        let is_lost =
            |path: &&BStr| self.matcher.is_match(path) && large_files.position(path).is_none();
        let lost: BTreeSet<BString> = committed.filter(is_lost).map(ToOwned::to_owned).collect();
        lists.deleted.extend(lost);
        Ok(lists)
    }

    fn has_stand_ins(&self) -> bool {
        self.dirstate.has_directory(STAND_INS.into())
    }

    fn place(&self, path: &BStr) -> std::path::PathBuf {
        self.repository.root.join(OsStr::from_bytes(path))
    }

    /// Returns the files of the working copy's first parent.
    fn parent(&self, store: &Store) -> Result<Manifest, Abort> {
        let [p1, _] = self.dirstate.parents();
        match store.manifest_of(&p1) {
            Err(_) if store.lacks(&p1) => Ok(Manifest::default()),
            manifest => manifest,
        }
    }
}

/// A comparison of large files with what their stand-ins say.
struct Comparison<'c> {
    store: &'c Store,
    parent: &'c Manifest,
    len_left: u64,
}

impl Comparison<'_> {
    /// Returns whether the large file at `path`, which is at `place`, is modified or clean.
    fn verdict(&mut self, path: &BStr, place: &Path) -> Result<Verdict, Abort> {
        let stand_in = stand_in(path);
        let Some(committed) = self.parent.get(stand_in.as_ref()) else {
            return Ok(Verdict::Modified);
        };
        let recorded = self.store.contents(stand_in.as_ref(), &committed.node)?;
        let contents = working_file::contents(place, false, self.len_left)
            .map_err(|_| only_by_mercurial("that has to be read", path))?;
        let len = u64::try_from(contents.len()).unwrap_or(u64::MAX);
        self.len_left = self.len_left.saturating_sub(len);
        let hash = Node(Sha1::digest(&contents).into()).hex();
        Ok(match trim(&recorded) == hash.as_bytes() {
            true => Verdict::Clean,
            false => Verdict::Modified,
        })
    }
}

fn only_by_mercurial(which: &str, path: &BStr) -> Abort {
    Abort::unsupported(bytes!("the large file '", path, "' ", which))
}
