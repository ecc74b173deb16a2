//! What Mercurial takes from the process that it runs in.

use std::fmt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use vigil_linux::stat::stat_path;
use vigil_stamp::paths::path_of;

use super::accounts::{self, User};
use crate::abort::Abort;

/// The user, with environment variables and working directory.
pub struct ProcessContext<'s> {
    /// Returns the value of an environment variable.
    pub variable: &'s (dyn Fn(&str) -> Option<BString> + Sync),
    /// The working directory.
    pub cwd: PathBuf,
    /// The directory in which the process started, from which the user's configuration is read. `--cwd` does not change it.
    pub started_in: PathBuf,
    /// The id of the user on whose behalf this runs.
    pub uid: u32,
}

impl fmt::Debug for ProcessContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessContext")
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

impl ProcessContext<'_> {
    /// Returns the value of an environment variable.
    pub fn get(&self, name: &str) -> Option<BString> {
        (self.variable)(name)
    }

    /// Returns the path at which to open a file of the user's configuration, which may be relative.
    pub fn there(&self, path: &Path) -> PathBuf {
        self.started_in.join(path)
    }

    /// Returns the folder in which Mercurial is installed, which may be relative: as Mercurial has it, that above the folder of its
    /// program, here the first `hg` in `PATH`. `None` if there is no such program, or the folder is the root.
    pub(super) fn installation(&self) -> Option<PathBuf> {
        let searched = self.get("PATH")?;
        let is_program = |folder: &&Path| {
            let stat = stat_path(&self.there(folder).join("hg"));
            stat.is_ok_and(|stat| stat.is_file() && stat.mode & 0o111 != 0)
        };
        let mut folders = searched.split(|byte| *byte == b':').map(path_of);
        let folder = folders.find(is_program)?;
        let above = folder.parent().unwrap_or(folder);
        (above != Path::new("/")).then(|| above.to_owned())
    }

    /// Returns whether output is plain, without the user's own settings (`HGPLAIN`). With a `feature`,
    /// returns whether that is left out too.
    pub fn is_plain(&self, feature: Option<&str>) -> bool {
        let plain = self.get("HGPLAIN");
        let except = self.get("HGPLAINEXCEPT");
        if plain.is_none() && except.is_none() {
            return false;
        }
        let Some(feature) = feature else {
            return true;
        };
        let except = except.unwrap_or_default();
        !except
            .trim()
            .split(|byte| *byte == b',')
            .any(|word| word == feature.as_bytes())
    }

    /// Expands `$NAME` to a variable, and then `~` or `~name` at the beginning to a home directory, as far as they are known.
    ///
    /// # Errors
    /// Only the C library can find out the home directory.
    pub fn expand_path(&self, text: &[u8]) -> Result<BString, Abort> {
        let mut path = BString::default();
        let mut rest = text;
        while let Some(at) = rest.find_byte(b'$') {
            let (before, after) = rest.split_at(at);
            path.extend_from_slice(before);
            let (name, end) = name_of_variable(after.get(1..).unwrap_or_default());
            let value = std::str::from_utf8(name)
                .ok()
                .filter(|name| !name.is_empty());
            let shown = after.get(..end.saturating_add(1)).unwrap_or(after);
            match value.and_then(|name| self.get(name)) {
                Some(value) => path.extend_from_slice(&value),
                None => path.extend_from_slice(shown),
            }
            rest = after.get(shown.len()..).unwrap_or_default();
        }
        path.extend_from_slice(rest);
        self.expand_user(&path)
    }

    /// Expands `~` at the beginning of a path to the home directory of the user, and `~name` to that of another, if there is one.
    ///
    /// # Errors
    /// As for [`Self::expand_path`].
    pub(crate) fn expand_user(&self, path: &[u8]) -> Result<BString, Abort> {
        let Some(rest) = path.strip_prefix(b"~") else {
            return Ok(path.into());
        };
        let (name, below) = rest.split_at(rest.find_byte(b'/').unwrap_or(rest.len()));
        let variable = self.get("HOME").filter(|_| name.is_empty());
        let home = match variable {
            Some(home) => Some(home),
            None if name.is_empty() => accounts::home_of(User::Number(self.uid))?,
            None => accounts::home_of(User::Name(name))?,
        };
        let Some(home) = home else {
            return Ok(path.into());
        };
        let home = home.trim_end_with(|letter| letter == '/');
        let whole = [home, below].concat();
        Ok(match whole.is_empty() {
            true => BString::from("/"),
            false => whole.into(),
        })
    }
}

/// Returns the name of a variable after the dollar sign, and its length with braces.
fn name_of_variable(text: &[u8]) -> (&[u8], usize) {
    if let Some(inner) = text.strip_prefix(b"{") {
        return match inner.find_byte(b'}') {
            Some(len) => {
                let (name, _) = inner.split_at(len);
                (name, len.saturating_add(2))
            }
            None => (b"", 0),
        };
    }
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let len = text.iter().take_while(|byte| is_letter(byte)).count();
    let (name, _) = text.split_at(len);
    (name, len)
}
