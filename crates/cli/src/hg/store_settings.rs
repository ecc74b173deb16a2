//! Settings of how Mercurial stores and upgrades. None of them matters to a status, but Mercurial reads them whenever it opens a
//! repository, and ends if one is wrong.

use bstr::ByteSlice;
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::config::Config;
use vigil_hg::repository::Requirements;

use crate::reply::bytes;

/// Checks the settings that Mercurial reads when it opens a repository with these `requirements`, in its order.
///
/// # Errors
/// One of them is wrong.
pub(super) fn check(config: &Config, requirements: &Requirements) -> Result<(), Abort> {
    let settings = StoreSettings(config);
    settings.integer("format", "manifestcachesize")?;
    // An older format of history has no options.
    if requirements.has("revlogv1") || requirements.has("exp-revlogv2.2") {
        settings.check_revlogs()?;
    }
    if !settings.boolean("devel", "all-warnings", false)? {
        settings.boolean("devel", "check-locks", false)?;
    }
    Ok(())
}

struct StoreSettings<'c>(&'c Config);

impl StoreSettings<'_> {
    fn check_revlogs(&self) -> Result<(), Abort> {
        let flag = |name, default| self.boolean("storage", name, default);
        self.integer("format", "chunkcachesize")?;
        flag("revlog.optimize-delta-parent-choice", false)?;
        let chunk = "revlog.delta-parent-search.candidate-group-chunk-size";
        self.integer("storage", chunk)?;
        self.boolean("debug", "revlog.debug-delta", false)?;
        flag("revlog.issue6528.fix-incoming", false)?;
        if flag("revlog.reuse-external-delta", true)? {
            let parent = "revlog.reuse-external-delta-parent";
            flag(parent, false)?;
            if !self.0.has("storage", parent) {
                self.boolean("format", "generaldelta", false)?;
            }
        }
        flag("revlog.reuse-external-suspicious-delta-parent", false)?;
        flag("revlog.reuse-external-delta-compression", false)?;
        flag("revlog.record-delta-quality", false)?;
        self.byte_count("experimental", "maxdeltachainspan")?;
        if flag("revlog.mmap.index", true)? {
            self.byte_count("storage", "revlog.mmap.index:size-threshold")?;
        }
        self.boolean("experimental", "sparse-read", false)?;
        self.byte_count("experimental", "sparse-read.min-gap-size")?;
        self.integer("format", "maxchainlen")?;
        self.integer("storage", "filelog.expected-max-compression-ratio")?;
        self.integer("storage", "delta-fold-tolerance-percentage")?;
        self.level("revlog.zlib.level", 9)?;
        self.level("revlog.zstd.level", 22)?;
        self.boolean("experimental", "rust.index", false)?;
        flag("revlog.persistent-nodemap.mmap", false)?;
        self.boolean("devel", "persistent-nodemap", false)?;
        flag("revlog.validate-delta-base", false)?;
        Ok(())
    }

    fn boolean(&self, section: &str, name: &str, default: bool) -> Result<bool, Abort> {
        self.0.boolean(section, name, default)
    }

    fn integer(&self, section: &str, name: &str) -> Result<Option<i64>, Abort> {
        self.parsed(section, name, "valid integer", integer)
    }

    fn byte_count(&self, section: &str, name: &str) -> Result<(), Abort> {
        self.parsed(section, name, "byte quantity", byte_count)
            .map(|_| ())
    }

    /// Checks a level of compression, in the section `storage`.
    fn level(&self, name: &str, max: i64) -> Result<(), Abort> {
        match self.integer("storage", name)? {
            Some(level) if !(0..=max).contains(&level) => {
                let level = level.to_string();
                let message = bytes!(
                    "invalid value for `storage.",
                    name,
                    "` config: ",
                    level.as_str()
                );
                Err(Abort::plain(message))
            }
            _ => Ok(()),
        }
    }

    fn parsed<T>(
        &self,
        section: &str,
        name: &str,
        what: &str,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, Abort> {
        let Some(value) = self.0.get(section, name) else {
            return Ok(None);
        };
        let wrong = || {
            let message = bytes!(section, ".", name, " is not a ", what, " ('", value, "')");
            Abort::of(Kind::Config, message)
        };
        parse(value).map(Some).ok_or_else(wrong)
    }
}

/// Parses an integer as Python does: there may be space around it, a sign, and single underscores between digits. One that is too
/// large becomes the largest.
fn integer(text: &[u8]) -> Option<i64> {
    let text = text.trim_with(|letter| letter.is_ascii_whitespace() || letter == '\x0b');
    let (is_negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        (b'+', digits) => (false, digits),
        _ => (false, text),
    };
    let mut groups = digits.split(|byte| *byte == b'_');
    let is_group = |group: &[u8]| !group.is_empty() && group.iter().all(u8::is_ascii_digit);
    if !groups.all(is_group) {
        return None;
    }
    let digits = digits.iter().filter(|byte| **byte != b'_');
    let number = digits.fold(0_i64, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add((digit - b'0').into())
    });
    Some(if is_negative { -number } else { number })
}

/// Parses a number of bytes, which may have a unit such as `kb`.
fn byte_count(text: &[u8]) -> Option<()> {
    let text = text.trim_with(|letter| letter.is_ascii_whitespace() || letter == '\x0b');
    let text = text.to_ascii_lowercase();
    let units = ["m", "k", "g", "kb", "mb", "gb", "b"];
    let mut units = units.iter();
    match units.find_map(|unit| text.strip_suffix(unit.as_bytes())) {
        Some(number) => number.trim().to_str().ok()?.parse::<f64>().ok().map(|_| ()),
        None => integer(&text).map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        for (text, number) in [
            ("0", Some(0)),
            (" -12\t", Some(-12)),
            ("+1_000", Some(1000)),
            ("99999999999999999999", Some(i64::MAX)),
            ("", None),
            ("-", None),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            ("1.5", None),
            ("1kb", None),
            ("0x1", None),
        ] {
            assert_eq!(integer(text.as_bytes()), number, "{text}");
        }
        for (text, is_count) in [
            ("4096", true),
            ("1.5 MB", true),
            ("7k", true),
            ("-1", true),
            ("2b", true),
            ("", false),
            ("k", false),
            ("1.5", false),
            ("1 tb", false),
        ] {
            assert_eq!(byte_count(text.as_bytes()).is_some(), is_count, "{text}");
        }
    }
}
