//! What scans, attributes and rename detection ask of the repository, answered from a session's parts.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStringExt;

use bstr::{BStr, ByteSlice};
use vigil_model::tracked::Tracked;

use super::error::SessionError;
use super::object_mode::{self, ObjectModes};
use vigil_git::convert::{self, Converter};
use vigil_git::objects::{self, Objects};
use vigil_git::renames::{Blob, BlobSource, FileSide};
use vigil_git::staged::SourceError;
use vigil_rules::attributes::{Attributes, Value};
use vigil_rules::pathspec::{AttributeLookup, AttributeState, Pathspec, Relation};
use vigil_scan::{DirMatch, PathFilter};

/// The paths that pathspecs ask for.
pub(super) struct PathQuestion<'a> {
    pathspec: &'a Pathspec,
    attributes: &'a Attributes,
    modes: ObjectModes<'a>,
    /// The directory that all of them are in.
    common: &'a BStr,
}

impl<'a> PathQuestion<'a> {
    pub(super) fn new(
        pathspec: &'a Pathspec,
        attributes: &'a Attributes,
        modes: ObjectModes<'a>,
    ) -> Self {
        let prefix = pathspec.common_prefix();
        let common = prefix.strip_suffix(b"/").unwrap_or(prefix).as_bstr();
        Self {
            pathspec,
            attributes,
            modes,
            common,
        }
    }

    /// Asks about all `tracked` files, as git does first, where an answer needs all of it to be there.
    ///
    /// # Errors
    /// The first path that is not there.
    pub(super) fn check_tracked(&self, tracked: &Tracked) -> Result<(), SessionError> {
        if !self.pathspec.asks_for(object_mode::NAME) {
            return Ok(());
        }
        // Directories have no facts to refresh: git comes to them later.
        for is_directory in [false, true] {
            let visited = tracked.visit(
                |sums| !is_directory || sums.sparse_directories > 0,
                |_, path, file| {
                    if file.mode().is_tree() == is_directory {
                        self.matches(path, file.mode().is_gitlink());
                    }
                    match self.modes.check() {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(error) => ControlFlow::Break(error),
                    }
                },
            );
            if let ControlFlow::Break(error) = visited {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether all that was asked about is there.
    ///
    /// # Errors
    /// The first path that is not, where its mode was asked for.
    pub(super) fn check(&self) -> Result<(), SessionError> {
        self.modes.check()
    }

    /// Whether `path` is in the directory that all pathspecs have in common, or on the way there.
    fn is_on_the_way(&self, path: &BStr) -> bool {
        let is_within = |inner: &BStr, outer: &BStr| {
            inner
                .strip_prefix(outer.as_bytes())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.common.is_empty() || is_within(path, self.common) || is_within(self.common, path)
    }
}

impl PathFilter for PathQuestion<'_> {
    fn matches(&self, path: &BStr, is_dir: bool) -> bool {
        self.pathspec.matches_with(path, is_dir, self)
    }

    fn may_match_below(&self, path: &BStr) -> bool {
        self.is_on_the_way(path) && self.pathspec.may_concern(path)
    }

    fn directory(&self, dir: &BStr) -> DirMatch {
        let dir = dir.strip_suffix(b"/").unwrap_or(dir).as_bstr();
        match self.pathspec.directory_relation_with(dir, self) {
            Relation::None => DirMatch::No,
            Relation::Some => DirMatch::Below,
            Relation::Itself | Relation::All => DirMatch::Yes,
        }
    }

    fn common_directory(&self) -> &BStr {
        self.common
    }
}

impl AttributeLookup for PathQuestion<'_> {
    fn attribute(&self, path: &BStr, name: &BStr) -> AttributeState {
        let Ok(name) = name.to_str() else {
            return AttributeState::Unspecified;
        };
        // git has read the files by then, and said what is wrong in them.
        let [value] = self.attributes.lookup(path, [name]);
        if name == object_mode::NAME {
            return match self.modes.of(path) {
                Some(mode) => AttributeState::Value(mode),
                None => AttributeState::Unspecified,
            };
        }
        match value {
            Value::Unspecified => AttributeState::Unspecified,
            Value::Set => AttributeState::Set,
            Value::Unset => AttributeState::Unset,
            Value::Text(text) => AttributeState::Value(text),
        }
    }
}

/// The contents that rename detection compares.
pub(super) struct RenameBlobs<'a> {
    pub(super) objects: &'a Objects,
    pub(super) attributes: &'a Attributes,
    /// Told of the path of whatever is read here: git asks for its attributes first.
    pub(super) asks: &'a (dyn Fn(&BStr) + Sync),
    /// Where the later side is, if it is the working tree.
    pub(super) files: Option<(&'a std::path::Path, &'a Converter)>,
}

/// What would be recorded of the file or link at `on_disk`; `None` where there is neither, or it cannot be read.
///
/// # Errors
/// Its contents cannot be what they have to be made: git gives up then.
pub(super) fn contents_on_disk(
    on_disk: &std::path::Path,
    path: &BStr,
    converter: &Converter,
) -> Result<Option<Vec<u8>>, convert::Error> {
    let Ok(stat) = vigil_linux::stat::lstat_path(on_disk) else {
        return Ok(None);
    };
    if stat.is_symlink() {
        let target = std::fs::read_link(on_disk).ok();
        return Ok(target.map(|target| target.into_os_string().into_vec()));
    }
    if !stat.is_file() {
        // git goes by the size, which is nothing for pipes, sockets and devices.
        return Ok((!stat.is_dir() && stat.size == 0).then(Vec::new));
    }
    let Ok(file) = File::open(on_disk) else {
        return Ok(None);
    };
    match converter.read_file(path, &file, stat.size) {
        Err(error) if !error.is_about_reading() => Err(error),
        contents => Ok(contents.ok()),
    }
}

impl RenameBlobs<'_> {
    /// The contents in the working tree, if they count. What cannot be read, or is no file at all, is like nothing.
    fn on_disk(&self, blob: &Blob<'_>) -> Result<Option<Vec<u8>>, SourceError> {
        let (FileSide::Later, Some((top, converter))) = (blob.side, self.files) else {
            return Ok(None);
        };
        let path = top.join(blob.path.to_path()?);
        Ok(Some(
            contents_on_disk(&path, blob.path, converter)?.unwrap_or_default(),
        ))
    }
}

fn missing(blob: &Blob<'_>) -> SourceError {
    let id = blob.id.to_owned();
    objects::Error::Missing { id }.into()
}

impl BlobSource for RenameBlobs<'_> {
    fn size(&self, blob: &Blob<'_>) -> Result<u64, SourceError> {
        (self.asks)(blob.path);
        if let Some(contents) = self.on_disk(blob)? {
            return Ok(u64::try_from(contents.len()).unwrap_or(u64::MAX));
        }
        let size = self.objects.size(blob.id)?;
        size.ok_or_else(|| missing(blob))
    }

    fn blob(&self, blob: &Blob<'_>, buf: &mut Vec<u8>) -> Result<(), SourceError> {
        (self.asks)(blob.path);
        if let Some(contents) = self.on_disk(blob)? {
            *buf = contents;
            return Ok(());
        }
        let found = self.objects.read(blob.id, buf)?;
        found.map(|_| ()).ok_or_else(|| missing(blob))
    }

    fn is_binary(&self, path: &BStr) -> Option<bool> {
        match self.attributes.lookup(path, ["diff"]) {
            [Value::Set] => Some(false),
            [Value::Unset] => Some(true),
            _ => None,
        }
    }
}
