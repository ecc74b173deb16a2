//! Which paths a question is about: its pathspecs, and what those ask of attributes and modes.

use std::ops::ControlFlow;

use bstr::{BStr, ByteSlice};
use vigil_model::path::is_at_or_below;
use vigil_model::tracked::Tracked;

use super::error::SessionError;
use super::object_mode::{self, ObjectModes};
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
        self.common.is_empty()
            || is_at_or_below(path, self.common)
            || is_at_or_below(self.common, path)
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
