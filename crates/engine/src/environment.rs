//! What a caller lets the engine know of the process it runs in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString};

/// Environment variables and the working directory, as one value: the engine looks at nothing else.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<BString, BString>,
    working_directory: PathBuf,
}

impl Environment {
    /// An environment of the given variables and absolute working directory.
    pub fn new(
        variables: impl IntoIterator<Item = (BString, BString)>,
        working_directory: impl Into<PathBuf>,
    ) -> Self {
        Self {
            variables: variables.into_iter().collect(),
            working_directory: working_directory.into(),
        }
    }

    /// The value of the variable `name`, if it is set (it may be empty).
    pub fn get(&self, name: &str) -> Option<&BStr> {
        self.variables.get(BStr::new(name)).map(AsRef::as_ref)
    }

    /// Sets the variable `name`, as the command line's options do.
    pub fn set(&mut self, name: &str, value: impl Into<BString>) {
        self.variables.insert(name.into(), value.into());
    }

    /// Removes the variable `name`.
    pub fn remove(&mut self, name: &str) {
        self.variables.remove(BStr::new(name));
    }

    /// All variables in byte order of their names.
    pub fn variables(&self) -> impl Iterator<Item = (&BStr, &BStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_ref(), value.as_ref()))
    }

    /// The absolute working directory.
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }
}
