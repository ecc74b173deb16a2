//! git's configuration (git-config(1)): all scopes, includes, and typed values.

use bstr::{BStr, BString};

/// Why the configuration could not be used. The text is git's own, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read or parsed, or a value of the wrong kind.
    #[error("{0}")]
    Bad(String),
}

/// The merged configuration of one repository, last value wins.
#[derive(Debug, Default)]
pub struct Config {}

impl Config {
    /// The last value of `key` (`core.filemode`, `branch.main.remote`; section and name in any case), as bytes.
    /// A key without `=` yields an empty value.
    pub fn string(&self, _key: &str) -> Option<BString> {
        None
    }

    /// All values of `key`, in order.
    pub fn strings(&self, _key: &str) -> Vec<BString> {
        Vec::new()
    }

    /// The last value of `key` as a boolean, as git reads one.
    pub fn boolean(&self, _key: &str) -> Result<Option<bool>, Error> {
        Ok(None)
    }

    /// The last value of `key` as an integer with `k`, `m`, `g` suffixes.
    pub fn integer(&self, _key: &str) -> Result<Option<i64>, Error> {
        Ok(None)
    }

    /// The last value of `section.subsection.name` where the subsection may hold any bytes.
    pub fn subsection_string(
        &self,
        _section: &str,
        _subsection: &BStr,
        _name: &str,
    ) -> Option<BString> {
        None
    }

    /// The names of all subsections of `section`, in order of first appearance.
    pub fn subsections(&self, _section: &str) -> Vec<BString> {
        Vec::new()
    }
}
