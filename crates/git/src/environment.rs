//! What a caller tells the engine about the process it runs in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_model::quote::append_shell_quoted;

const CONFIG_PARAMETERS: &str = "GIT_CONFIG_PARAMETERS";

/// Environment variables and the working directory as one value: the engine reads neither from the process itself.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<BString, BString>,
    working_directory: PathBuf,
    is_bare: bool,
}

impl Environment {
    /// Creates an environment with the given variables and absolute working directory.
    pub fn new(
        variables: impl IntoIterator<Item = (BString, BString)>,
        working_directory: impl Into<PathBuf>,
    ) -> Self {
        Self {
            variables: variables.into_iter().collect(),
            working_directory: working_directory.into(),
            is_bare: false,
        }
    }

    /// The same with another working directory.
    #[must_use]
    pub fn in_directory(&self, working_directory: PathBuf) -> Self {
        Self {
            working_directory,
            ..self.clone()
        }
    }

    /// Has the repository taken for one without a working tree, as `git --bare` does. Programs that are started do not inherit
    /// this.
    pub fn set_bare(&mut self) {
        self.is_bare = true;
    }

    /// Whether the repository is taken for one without a working tree, whatever its configuration says.
    pub fn is_bare(&self) -> bool {
        self.is_bare
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

    /// Adds `key=value`, or a `key` alone (which means true), to the command line's configuration, as `git -c`
    /// does: in `GIT_CONFIG_PARAMETERS`.
    pub fn push_config_parameter(&mut self, key_value: &BStr) {
        let (key, value) = match key_value.split_once_str("=") {
            Some((key, value)) => (key, Some(value)),
            None => (key_value.as_bytes(), None),
        };
        self.push_config_pair(key, value);
    }

    /// Adds the value of `key` to the command line's configuration. `None` means true.
    pub fn push_config_pair(&mut self, key: &[u8], value: Option<&[u8]>) {
        let mut list = self
            .variables
            .remove(BStr::new(CONFIG_PARAMETERS))
            .unwrap_or_default();
        if !list.is_empty() {
            list.push(b' ');
        }
        append_shell_quoted(key, &mut list);
        list.push(b'=');
        if let Some(value) = value {
            append_shell_quoted(value, &mut list);
        }
        self.set(CONFIG_PARAMETERS, list);
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
