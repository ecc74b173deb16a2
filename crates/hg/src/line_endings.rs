//! Line endings that the extension eol converts (`hg help -e eol`): `.hgeol` says of which files, and a file in the
//! working copy is compared as it would be committed.

use std::io;
use std::path::Path;

use bstr::{BStr, ByteSlice};
use vigil_linux::stat::{Stat, stat_path};
use vigil_stamp::file;

use crate::abort::Abort;
use crate::bytes::{bytes, lines_with_ends};
use crate::config::{Config, ProcessContext, boolean};
use crate::patterns::Matcher;

/// The file with the patterns, at the top of the working copy.
const FILE: &str = ".hgeol";
/// The file of which Mercurial's dirstate takes account: a copy of `.hgeol`, in `.hg`.
const CACHE: &str = "eol.cache";
/// The maximum length of either file in bytes.
const FILE_LEN_MAX: u64 = 1 << 16;
/// The maximum number of patterns: each is looked up by itself.
const PATTERNS_MAX: usize = 200;
/// The maximum number of patterns that are regular expressions: a short one may take much memory.
const REGULAR_MAX: usize = 16;
const LF: &[u8] = b"\n";
const CRLF: &[u8] = b"\r\n";

/// Which line endings a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Lf,
    CrLf,
    /// In the repository, those that `.hgeol` says.
    Native,
    /// Those that it happens to have.
    Binary,
}

/// Which files have which line endings: the first pattern that matches counts.
#[derive(Clone, Debug)]
struct Styles(Vec<(Matcher, Style)>);

/// How files of a working copy are converted before they are compared.
#[derive(Clone, Debug)]
pub struct LineEndings {
    styles: Styles,
    /// What ends the lines of a file with the native style in the repository.
    native_end: &'static [u8],
    /// Whether files with both line endings stay as they are.
    only_consistent: bool,
    /// Whether a line feed is added at the end of the last line.
    adds_last: bool,
    former: Former,
}

/// What the dirstate takes account of.
#[derive(Clone, Debug)]
enum Former {
    /// The styles as they are.
    Same,
    /// Other ones, or none.
    Other(Option<Styles>),
}

impl LineEndings {
    /// Reads `.hgeol` in the working copy `root`, whose repository is in `dot_hg`; `None` if there is none. `config`
    /// has defaults.
    ///
    /// # Errors
    /// The file is not understood.
    pub fn read(
        root: &Path,
        dot_hg: &Path,
        config: &Config,
        process: &ProcessContext<'_>,
    ) -> Result<Option<Self>, Abort> {
        let path = root.join(FILE);
        let text = match file::read_up_to(&path, FILE_LEN_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Err(refused("that is too long"));
            }
            // Mercurial ignores a file that it cannot read.
            Err(_) => return Ok(None),
        };
        let former = Former::read(root, dot_hg, process)?;
        Self::of(root, &parsed(root, &text, process)?, config, former).map(Some)
    }

    /// Parses the `text` of a `.hgeol` at `root`.
    ///
    /// # Errors
    /// As for [`Self::read`].
    #[cfg(feature = "fuzzing")]
    pub fn parse(root: &Path, text: &[u8]) -> Result<Self, Abort> {
        let process = ProcessContext {
            variable: &|_| None,
            cwd: root.to_path_buf(),
            started_in: root.to_path_buf(),
            uid: 0,
        };
        let own = parsed(root, text, &process)?;
        Self::of(root, &own, &Config::default(), Former::Same)
    }

    fn of(root: &Path, own: &Config, config: &Config, former: Former) -> Result<Self, Abort> {
        let is_set = |name: &str, default: bool| {
            let value = own.get("eol", name).or_else(|| config.get("eol", name));
            let is_set = value.map_or(Some(default), |value| boolean(value));
            is_set.ok_or_else(|| refused("with a value that is no boolean"))
        };
        let native_end = match own.get("repository", "native") {
            Some(native) if native == "CRLF" => CRLF,
            _ => LF,
        };
        Ok(Self {
            styles: Styles::of(own, root)?,
            native_end,
            only_consistent: is_set("only-consistent", true)?,
            adds_last: is_set("fix-trailing-newline", false)?,
            former,
        })
    }

    /// Returns whether the dirstate may call the file `path` clean though it was looked at with another style: then its contents
    /// are compared.
    pub fn doubts(&self, path: &BStr) -> bool {
        match &self.former {
            Former::Same => false,
            Former::Other(None) => true,
            Former::Other(Some(former)) => former.style(path) != self.styles.style(path),
        }
    }

    /// Returns the `contents` of the file `path` as they would be committed.
    pub fn committed(&self, path: &BStr, contents: Vec<u8>) -> Vec<u8> {
        let end = match self.styles.style(path) {
            Some(Style::Lf) => LF,
            Some(Style::CrLf) => CRLF,
            Some(Style::Native) => self.native_end,
            Some(Style::Binary) | None => return contents,
        };
        if contents.contains(&0) || self.only_consistent && is_inconsistent(&contents) {
            return contents;
        }
        let mut converted = Vec::with_capacity(contents.len());
        for line in contents.lines_with_terminator() {
            match line.strip_suffix(b"\n") {
                None if !self.adds_last => converted.extend_from_slice(line),
                ended => {
                    let line = ended.unwrap_or(line);
                    let returns = line.iter().rev().take_while(|byte| **byte == b'\r').count();
                    let len = line.len().saturating_sub(returns);
                    converted.extend_from_slice(line.get(..len).unwrap_or_default());
                    converted.extend_from_slice(end);
                }
            }
        }
        converted
    }
}

impl Styles {
    /// Takes the patterns from a parsed `.hgeol`.
    fn of(parsed: &Config, root: &Path) -> Result<Self, Abort> {
        let mut styles = Vec::new();
        let mut regular = 0usize;
        for item in parsed.section("patterns") {
            let is_regular = ["re:", "relre:"]
                .iter()
                .any(|kind| item.name.starts_with_str(kind));
            regular = regular.saturating_add(usize::from(is_regular));
            if styles.len() >= PATTERNS_MAX || regular > REGULAR_MAX {
                return Err(refused("with too many patterns"));
            }
            let style = match item.value.to_ascii_uppercase().as_slice() {
                b"LF" => Style::Lf,
                b"CRLF" => Style::CrLf,
                b"NATIVE" => Style::Native,
                b"BIN" => Style::Binary,
                _ => {
                    let what = bytes!("with the style '", item.value, "'");
                    return Err(refused(what));
                }
            };
            let matcher = Matcher::of_glob(root, &item.name)?;
            styles.push((matcher, style));
        }
        Ok(Self(styles))
    }

    /// Returns the style of the file `path`.
    fn style(&self, path: &BStr) -> Option<Style> {
        let mut all = self.0.iter();
        let (_, style) = all.find(|(matcher, _)| matcher.is_match(path))?;
        Some(*style)
    }
}

impl Former {
    fn read(root: &Path, dot_hg: &Path, process: &ProcessContext<'_>) -> Result<Self, Abort> {
        let cache = dot_hg.join(CACHE);
        let written = |stat: Stat| (stat.mtime_s, stat.mtime_ns);
        let known = match stat_path(&cache) {
            Ok(stat) => written(stat),
            Err(_) => return Ok(Self::Other(None)),
        };
        let now = stat_path(&root.join(FILE)).map(written);
        if now.is_ok_and(|now| now < known) {
            return Ok(Self::Same);
        }
        let text = file::read_up_to(&cache, FILE_LEN_MAX);
        let text = text.map_err(|error| Abort::io(&cache, &error))?;
        match text.is_empty() {
            true => Ok(Self::Other(None)),
            false => {
                let styles = Styles::of(&parsed(root, &text, process)?, root)?;
                Ok(Self::Other(Some(styles)))
            }
        }
    }
}

/// Parses the `text` of a `.hgeol`.
fn parsed(root: &Path, text: &[u8], process: &ProcessContext<'_>) -> Result<Config, Abort> {
    if lines_with_ends(text).any(|line| line.starts_with(b"%")) {
        return Err(refused("with a line that begins with '%'"));
    }
    let mut config = Config::default();
    // Mercurial's own files come first, so that no other pattern applies to them.
    config.set("patterns", ".hg*", "BIN", "");
    let read = Config::parse(&root.join(FILE), text, process);
    config.update(&read.map_err(|_| refused("that does not parse"))?);
    Ok(config)
}

fn refused(what: impl AsRef<[u8]>) -> Abort {
    Abort::unsupported(bytes!("a .hgeol ", what))
}

/// Whether some lines end in CR LF and some in LF alone.
fn is_inconsistent(contents: &[u8]) -> bool {
    let lines = contents.lines_with_terminator();
    let mut ends = lines.filter(|line| line.ends_with(b"\n"));
    let Some(first) = ends.next() else {
        return false;
    };
    let is_crlf = |line: &[u8]| line.ends_with(b"\r\n");
    ends.any(|line| is_crlf(line) != is_crlf(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_endings(hgeol: &str) -> Result<LineEndings, Abort> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), hgeol).unwrap();
        let process = ProcessContext {
            variable: &|_| None,
            cwd: folder.path().into(),
            started_in: folder.path().into(),
            uid: 0,
        };
        let read = LineEndings::read(
            folder.path(),
            &folder.path().join(".hg"),
            &Config::default(),
            &process,
        );
        Ok(read?.unwrap())
    }

    #[test]
    fn contents_are_converted_as_they_would_be_committed() {
        let read = line_endings(
            "[patterns]\n*.crlf = crlf\n*.lf = LF\n*.bin = BIN\n** = native\n[eol]\nonly-consistent = no\n",
        );
        let read = read.unwrap();
        for (path, contents, expected) in [
            ("a.crlf", "1\n2\r\n3", "1\r\n2\r\n3"),
            ("d/a.crlf", "1\n", "1\n"),
            ("a.lf", "1\r\n2\r\r\n3\r4\n", "1\n2\n3\r4\n"),
            ("a.lf", "1\r\n\0", "1\r\n\0"),
            ("a.bin", "1\r\n", "1\r\n"),
            ("d/a", "1\r\n", "1\n"),
            (".hgignore", "1\r\n", "1\r\n"),
            ("a.lf", "", ""),
        ] {
            let converted = read.committed(path.into(), contents.into());
            assert_eq!(converted.as_bstr(), expected, "{path}");
            assert!(read.doubts(path.into()));
        }
    }

    #[test]
    fn files_with_both_line_endings_stay_as_they_are() {
        let read = line_endings("[patterns]\n** = LF\n[eol]\nfix-trailing-newline = yes\n");
        let read = read.unwrap();
        for (contents, expected) in [
            ("1\r\n2\n", "1\r\n2\n"),
            ("\n1\r\n", "\n1\r\n"),
            ("1\r\n2", "1\n2\n"),
            ("1\r\n2\r", "1\n2\n"),
            ("", ""),
        ] {
            let converted = read.committed("a".into(), contents.into());
            assert_eq!(converted.as_bstr(), expected);
        }
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let many = |pattern: &str, count: usize| {
            let lines = (0..count).map(|number| format!("{pattern}{number} = LF\n"));
            format!("[patterns]\n{}", lines.collect::<String>())
        };
        assert!(line_endings(&many("a", PATTERNS_MAX - 1)).is_ok());
        assert!(line_endings(&many("re:a", REGULAR_MAX)).is_ok());
        let long = format!("# {}\n", "x".repeat(1 << 16));
        let (patterns, regular) = (many("a", PATTERNS_MAX), many("re:a", REGULAR_MAX + 1));
        for hgeol in [
            long.as_str(),
            &patterns,
            &regular,
            "[patterns]\n** = what\n",
            "%include x\n",
            "[patterns]\nnonsense\n",
            "[eol]\nonly-consistent = maybe\n",
        ] {
            let error = line_endings(hgeol).unwrap_err();
            assert!(error.to_string().contains(".hgeol"), "{error}");
        }
    }
}
