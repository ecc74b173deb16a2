//! What the text of a value means: booleans, numbers and paths (git-config(1), "Values").

use bstr::{BStr, BString, ByteSlice};

use super::error::Error;
use crate::environment::Environment;
use vigil_model::config_value::boolean;
use vigil_model::raw_text::raw;

/// The prefix where git is installed, for `%(prefix)/`; consistent with the choice of `/etc/gitconfig`.
const INSTALLATION: &str = "/usr/";

/// Expands `~/`, `~user/` and `%(prefix)/`; `None` if there is no such home directory.
///
/// `home` is `$HOME`.
pub(super) fn interpolate(home: Option<&BStr>, path: &BStr) -> Option<BString> {
    if let Some(rest) = path.strip_prefix(b"%(prefix)/") {
        return Some([INSTALLATION.as_bytes(), rest].concat().into());
    }
    let Some(rest) = path.strip_prefix(b"~") else {
        return Some(path.to_owned());
    };
    let (user, rest) = rest.split_at_checked(rest.find_byte(b'/').unwrap_or(rest.len()))?;
    let mut expanded = match user.is_empty() {
        true => home?.to_owned(),
        false => home_of(user.as_bstr())?,
    };
    expanded.extend_from_slice(rest);
    Some(expanded)
}

/// Finds a user's home directory in `/etc/passwd`; directory services are not asked.
fn home_of(user: &BStr) -> Option<BString> {
    let accounts = std::fs::read("/etc/passwd").ok()?;
    accounts.lines().find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        (fields.next() == Some(user.as_bytes()))
            .then(|| fields.nth(4).map(BString::from))
            .flatten()
    })
}

/// `$XDG_CONFIG_HOME/git/NAME`, or `~/.config/git/NAME`.
pub(crate) fn xdg_config(environment: &Environment, name: &str) -> Option<BString> {
    let folder = match environment.get("XDG_CONFIG_HOME") {
        Some(folder) if !folder.is_empty() => folder.to_owned(),
        _ => [environment.get("HOME")?.as_bytes(), b"/.config"]
            .concat()
            .into(),
    };
    Some(
        [folder.as_bytes(), b"/git/", name.as_bytes()]
            .concat()
            .into(),
    )
}

/// Reads a boolean environment variable, `default` if it is not set.
///
/// # Errors
/// The value is not a boolean: the text is git's, without "fatal: ".
pub fn environment_boolean(
    environment: &Environment,
    name: &str,
    default: bool,
) -> Result<bool, Error> {
    let Some(value) = environment.get(name) else {
        return Ok(default);
    };
    boolean(Some(value)).ok_or_else(|| {
        Error::Bad(format!(
            "bad boolean environment value '{value}' for '{name}'",
            value = raw(value)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_expanded() {
        let home = Some(BStr::new("/home/me"));
        let expand = |text: &str| interpolate(home, text.into()).map(|path| path.to_string());
        assert_eq!(expand("~/x").as_deref(), Some("/home/me/x"));
        assert_eq!(expand("~").as_deref(), Some("/home/me"));
        assert_eq!(expand("~root/x").as_deref(), Some("/root/x"));
        assert_eq!(expand("~no.such.user/x"), None);
        assert_eq!(expand("%(prefix)/etc").as_deref(), Some("/usr/etc"));
        assert_eq!(expand("a/~").as_deref(), Some("a/~"));
        assert_eq!(interpolate(None, "~/x".into()), None);
    }
}
