//! One file of the configuration, and those it includes (`hg help config`, "Syntax").

use std::io;
use std::path::Path;

use bstr::{BString, ByteSlice};
use vigil_linux::errno;

use super::{Config, ProcessContext};
use crate::abort::{Abort, Kind};
use crate::bytes::{bytes, is_space, lines_with_ends, normal_path, trim, trim_end};
use crate::text_file;
use vigil_stamp::paths::{bytes_of, path_of};

/// The maximum depth of includes.
const DEPTH_MAX: usize = 64;
/// The maximum number of files that one file may include, directly or not.
const FILES_MAX: usize = 4096;

/// Reads the file `path` and what it includes. The files that were read or looked for are added to `files`.
pub(super) fn read(
    path: &Path,
    text: &[u8],
    process: &ProcessContext<'_>,
    files: &mut Vec<std::path::PathBuf>,
) -> Result<Config, Abort> {
    let mut parser = Parser {
        config: Config::default(),
        process,
        files,
        depth: 0,
        read: 0,
    };
    parser.file(path, text)?;
    Ok(parser.config)
}

/// The entry point of the fuzzer. Included files are not read.
#[cfg(feature = "fuzzing")]
pub fn fuzz(text: &[u8]) {
    let process = ProcessContext {
        variable: &|_| None,
        cwd: "/".into(),
        started_in: "/".into(),
        uid: 0,
    };
    let mut files = Vec::new();
    let mut parser = Parser {
        config: Config::default(),
        process: &process,
        files: &mut files,
        depth: 0,
        read: FILES_MAX,
    };
    let _ = parser.file(Path::new("/hgrc"), text);
}

struct Parser<'p> {
    config: Config,
    process: &'p ProcessContext<'p>,
    files: &'p mut Vec<std::path::PathBuf>,
    depth: usize,
    read: usize,
}

/// The item that continuation lines extend.
struct Open {
    section: BString,
    name: BString,
}

impl Parser<'_> {
    fn file(&mut self, path: &Path, text: &[u8]) -> Result<(), Abort> {
        let mut section = BString::default();
        let mut open: Option<Open> = None;
        for (number, line) in (1..).zip(lines_with_ends(text)) {
            let line = match number {
                1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
                _ => line,
            };
            let source = || bytes!(bytes_of(path), ":", format!("{number}"));
            let first = line.first().copied().unwrap_or(b'\n');
            let is_comment = matches!(first, b';' | b'#');
            if let Some(item) = &open {
                if is_comment {
                    continue;
                }
                if is_space(first) && !trim(line).is_empty() {
                    let (section, name) = (item.section.clone(), item.name.clone());
                    let known = self.config.item(&section, &name);
                    let known = known.map(|item| item.value.clone()).unwrap_or_default();
                    let value = bytes!(known, "\n", trim(line));
                    self.config.set(section, name, value, source());
                    continue;
                }
                open = None;
            }
            if let Some(included) = argument(line, b"%include") {
                self.include(path, included, &source())?;
                continue;
            }
            if is_comment || trim(line).is_empty() {
                continue;
            }
            if let Some(name) = section_name(line) {
                section = name.into();
                continue;
            }
            if let Some((name, value)) = item(line) {
                self.config.set(section.clone(), name, value, source());
                open = Some(Open {
                    section: section.clone(),
                    name: name.into(),
                });
                continue;
            }
            if let Some(name) = argument(line, b"%unset") {
                let end = name.iter().position(|byte| is_space(*byte));
                let name = name.get(..end.unwrap_or(name.len())).unwrap_or_default();
                self.config.unset(&section, name);
                continue;
            }
            let message = trim_end(line);
            let message = match first {
                b' ' => bytes!("unexpected leading whitespace: ", message),
                _ => message.into(),
            };
            return Err(error(&source(), &message));
        }
        Ok(())
    }

    fn include(&mut self, from: &Path, text: &[u8], source: &BString) -> Result<(), Abort> {
        let expanded = self.process.expand_path(text)?;
        let path = from.parent().unwrap_or(from).join(path_of(&expanded));
        let path = path_of(&normal_path(bytes_of(&path))).to_owned();
        let refuse = |reason: &str| {
            let message = bytes!("cannot include ", expanded, " (", reason, ")");
            Err(error(source, &message))
        };
        if self.depth >= DEPTH_MAX || self.read >= FILES_MAX {
            return refuse("too many includes");
        }
        let there = self.process.there(&path);
        let text = text_file::read(&there);
        self.files.push(there);
        let text = match text {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return refuse(&errno::text_of(&error)),
        };
        self.depth = self.depth.saturating_add(1);
        self.read = self.read.saturating_add(1);
        self.file(&path, &text)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }
}

fn error(source: &BString, message: &[u8]) -> Abort {
    Abort::of(
        Kind::Config,
        bytes!("config error at ", source, ": ", message),
    )
}

/// Returns what follows `word` and white space.
fn argument<'l>(line: &'l [u8], word: &[u8]) -> Option<&'l [u8]> {
    let rest = line.strip_prefix(word)?;
    let is_apart = rest.first().is_some_and(|byte| is_space(*byte));
    Some(trim(rest)).filter(|rest| is_apart && !rest.is_empty())
}

/// Returns the name of the section that begins with `line`, whatever follows.
pub(crate) fn section_name(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"[")?;
    let rest = rest.get(..rest.find_byte(b'[').unwrap_or(rest.len()))?;
    let name = rest.get(..rest.rfind_byte(b']')?)?;
    (!name.is_empty()).then_some(name)
}

fn item(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let first = line.first().filter(|byte| !is_space(**byte))?;
    if *first == b'=' {
        return None;
    }
    let at = line.find_byte(b'=')?;
    let value = line.get(at.checked_add(1)?..)?;
    Some((trim_end(line.get(..at)?), trim(value)))
}
