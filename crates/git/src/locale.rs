//! The locale, as far as git's answers depend on it (locale(7)).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, ByteSlice};

use crate::environment::Environment;

/// Where the C library looks for locales.
const FOLDER: &str = "/usr/lib/locale";

/// Many locales in one file. Which ones is not looked up.
const ARCHIVE: &str = "locale-archive";

/// Returns the locale that the variables ask for, whose values `variable` returns, if they name one.
pub fn of_variables<V: AsRef<[u8]>>(variable: impl Fn(&str) -> Option<V>) -> Option<V> {
    let values = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let mut values = values.filter_map(variable);
    values.find(|value| !value.as_ref().is_empty())
}

/// Returns the name, without the character set, of the locale that `environment` asks for, if its characters are in UTF-8. If it
/// is not installed, the locale is C, whose characters are bytes.
pub fn with_utf8(environment: &Environment) -> Option<&BStr> {
    with_utf8_in(Path::new(FOLDER), environment)
}

fn with_utf8_in<'e>(folder: &Path, environment: &'e Environment) -> Option<&'e BStr> {
    let locale = of_variables(|name| environment.get(name))?;
    let (name, charset) = locale.split_once_str(".")?;
    let (charset, modifier) = match charset.find_byte(b'@') {
        Some(at) => charset.split_at_checked(at)?,
        None => (charset, &b""[..]),
    };
    let charset = charset.to_ascii_lowercase();
    if !matches!(&charset[..], b"utf-8" | b"utf8") || name.contains(&b'/') {
        return None;
    }
    let folder_name = [name, b".utf8", modifier].concat();
    let is_installed = name == b"C"
        || folder.join(ARCHIVE).exists()
        || folder.join(OsStr::from_bytes(&folder_name)).exists();
    is_installed.then_some(name.as_bstr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_count_if_they_are_installed() {
        let folder = tempfile::tempdir().unwrap();
        let name = |variables: &[(&str, &str)]| {
            let variables = variables
                .iter()
                .map(|&(name, value)| (name.into(), value.into()));
            let environment = Environment::new(variables, "/");
            with_utf8_in(folder.path(), &environment).map(ToString::to_string)
        };
        assert_eq!(name(&[]), None);
        let c = Some("C".to_owned());
        assert_eq!(name(&[("LANG", "C.UTF-8")]), c);
        assert_eq!(name(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]), c);
        assert_eq!(name(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]), None);
        assert_eq!(name(&[("LANG", "de_DE.ISO-8859-1")]), None);
        assert_eq!(name(&[("LANG", "de_DE.UTF-8")]), None);
        std::fs::create_dir(folder.path().join("de_DE.utf8")).unwrap();
        let german = Some("de_DE".to_owned());
        assert_eq!(name(&[("LANG", "de_DE.UTF-8")]), german);
        assert_eq!(name(&[("LANG", "de_DE.UTF-8@euro")]), None);
        std::fs::write(folder.path().join(ARCHIVE), "").unwrap();
        assert_eq!(name(&[("LANG", "de_DE.UTF-8@euro")]), german);
    }
}
