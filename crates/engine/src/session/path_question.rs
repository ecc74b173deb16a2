//! Which paths a question is about: its pathspecs, and the attributes and modes that they need.

use std::ops::ControlFlow;

use bstr::{BStr, ByteSlice};
use vigil_model::path::is_at_or_below;
use vigil_model::tracked::Tracked;

use super::error::SessionError;
use super::object_mode::{self, ObjectModes};
use vigil_rules::attributes::{Attributes, Value};
use vigil_rules::pathspec::{AttributeLookup, AttributeState, Pathspec, Relation};
use vigil_scan::{DirMatch, PathFilter};

/// The paths that pathspecs select.
pub(super) struct PathQuestion<'a> {
    pathspec: &'a Pathspec,
    attributes: &'a Attributes,
    modes: ObjectModes<'a>,
    /// The directory that contains all selected paths.
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

    /// Matches all `tracked` files, as git does first, so that a missing path is found if a pathspec
    /// needs its mode.
    ///
    /// # Errors
    /// The first missing path.
    pub(super) fn check_tracked(&self, tracked: &Tracked) -> Result<(), SessionError> {
        if !self.pathspec.asks_for(object_mode::NAME) {
            return Ok(());
        }
        // Directories have no stat data to refresh, so git comes to them later.
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

    /// Whether all paths whose modes were asked for exist.
    ///
    /// # Errors
    /// The first missing path whose mode was asked for.
    pub(super) fn check(&self) -> Result<(), SessionError> {
        self.modes.check()
    }

    /// Whether `path` is in the pathspecs' common directory, or on the way there.
    fn is_on_the_way(&self, path: &BStr) -> bool {
        self.common.is_empty()
            || is_at_or_below(path, self.common)
            || is_at_or_below(self.common, path)
    }
}

impl PathFilter for PathQuestion<'_> {
    fn matches(&self, path: &BStr, is_dir: bool) -> bool {
        self.pathspec.matches(path, is_dir, self)
    }

    fn may_match_below(&self, path: &BStr) -> bool {
        self.is_on_the_way(path) && self.pathspec.may_match_at_or_below(path)
    }

    fn directory(&self, dir: &BStr) -> DirMatch {
        let dir = dir.strip_suffix(b"/").unwrap_or(dir).as_bstr();
        match self.pathspec.directory_relation(dir, self) {
            Relation::Outside => DirMatch::No,
            Relation::LeadsInside => DirMatch::Below,
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
        // git has read the attribute files by then, and reported what is wrong in them.
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
