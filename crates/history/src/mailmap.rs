//! `.mailmap`: the proper names and addresses of people (gitmailmap(5)).

mod ident;

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use gix_object::Kind;
use rustix::fs::{CWD, OFlags};
use vigil_linux::errno;
use vigil_linux::opening::open_to_read;
use vigil_model::raw_text::raw;

use self::ident::Ident;
use super::revision::{self, Memory, Options, Unresolved, resolve_in_context};
use vigil_git::config;
use vigil_git::objects::{self, Objects};
use vigil_git::refs::Refs;
use vigil_git::repository::Repository;
use vigil_model::c_string::until_nul;
use vigil_model::white_space;

/// The most bytes that git reads of a file as one line; a longer line counts as several.
const LINE_MAX: usize = 1023;

/// The largest file that is read, in bytes.
const FILE_MAX: u64 = 256 << 20;

/// The headers of a commit or a tag that name a person.
const HEADERS: [&[u8]; 3] = [b"author ", b"committer ", b"tagger "];

/// Why the mailmap could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A configured value is bad.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The object with the mailmap cannot be read.
    #[error(transparent)]
    Objects(#[from] objects::Error),
    /// The name of the object with the mailmap cannot be resolved.
    #[error(transparent)]
    Revision(#[from] revision::Error),
    /// git exits while it resolves the name of that object; this is its message.
    #[error("{}", raw(.0))]
    Fatal(BString),
}

impl Error {
    /// git's messages before it exits, as whole lines.
    pub fn messages(&self) -> &[String] {
        match self {
            Self::Config(error) => error.messages(),
            Self::Objects(_) | Self::Revision(_) | Self::Fatal(_) => &[],
        }
    }
}

/// The proper name and address of a person; `None` keeps the given one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ProperIdentity {
    name: Option<BString>,
    email: Option<BString>,
}

/// A mailmap. All that is looked up is in lower case.
#[derive(Clone, Debug, Default)]
pub struct Mailmap {
    /// The mappings by address.
    any_name: HashMap<BString, ProperIdentity>,
    /// The mappings by address and name, which go before the others.
    by_name: HashMap<(BString, BString), ProperIdentity>,
}

/// A mailmap that was read.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The mappings.
    pub mailmap: Mailmap,
    /// Whole lines for stderr, without line feeds.
    pub messages: Vec<BString>,
}

impl Loaded {
    /// Reads the mailmap for `repository`: `.mailmap` at the top of the working tree (or where the caller stands outside it), the object that `mailmap.blob`
    /// names (in a bare repository by default `HEAD:.mailmap`), and `mailmap.file`; later ones win.
    ///
    /// # Errors
    /// git exits. A source that cannot be read otherwise leads to a message, and counts as empty.
    pub fn read(
        repository: &Repository,
        refs: &Refs,
        objects: &Objects,
        memory: &Memory,
    ) -> Result<Self, Error> {
        let config = &repository.config;
        let mut loaded = Self::default();
        let is_bare = repository.is_bare()?;
        let directory = repository.directory_without_need();
        let file = config.path("mailmap.file")?;
        let blob = config.entry("mailmap.blob");
        let blob = blob.map(|entry| entry.required().map(BString::from));
        let mut blob = blob.transpose()?;
        if is_bare {
            blob = blob.or_else(|| Some("HEAD:.mailmap".into()));
        } else {
            loaded.add_file(directory, Path::new(".mailmap"), false);
        }
        if let Some(name) = blob {
            loaded.add_blob(name.as_bstr(), repository, refs, objects, memory)?;
        }
        if let Some(file) = file {
            loaded.add_file(directory, &file, true);
        }
        Ok(loaded)
    }

    /// Adds the mappings in the file `path`, which is relative to `folder`; none if it does not exist.
    pub fn add_file(&mut self, folder: &Path, path: &Path, follows_links: bool) {
        match read_file(&folder.join(path), follows_links) {
            Ok(text) => self.mailmap.add_file_contents(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let reason = errno::text_of(&error);
                let path = path.as_os_str().as_bytes();
                self.add_message(&[
                    b"error: unable to open mailmap at ",
                    path,
                    b": ",
                    reason.as_bytes(),
                ]);
            }
        }
    }

    /// Adds the mappings in the object called `name`; none if it does not exist.
    ///
    /// # Errors
    /// git exits.
    pub(crate) fn add_blob(
        &mut self,
        name: &BStr,
        repository: &Repository,
        refs: &Refs,
        objects: &Objects,
        memory: &Memory,
    ) -> Result<(), Error> {
        let options = Options::default();
        let resolution = resolve_in_context(name, &options, repository, refs, objects, memory);
        self.messages.extend(resolution.messages);
        let id = match resolution.outcome {
            Ok(found) => found.id,
            Err(Unresolved::Fatal(text)) => return Err(Error::Fatal(text)),
            Err(Unresolved::Failed(error)) => return Err(error.into()),
            Err(_) => return Ok(()),
        };
        let mut contents = Vec::new();
        match objects.read(&id, &mut contents)? {
            Some(Kind::Blob) => self.mailmap.add_contents(&contents),
            Some(_) => self.add_message(&[b"error: mailmap is not a blob: ", name]),
            None => self.add_message(&[b"error: unable to read mailmap object at ", name]),
        }
        Ok(())
    }

    fn add_message(&mut self, parts: &[&[u8]]) {
        self.messages.push(parts.concat().into());
    }
}

impl Mailmap {
    /// Adds the mappings in `contents`, up to the first NUL, in lines of any length.
    pub fn add_contents(&mut self, contents: &[u8]) {
        for line in until_nul(contents).lines() {
            self.add_line(line);
        }
    }

    /// Adds the mappings in the contents of a file, read like git in lines of limited length.
    pub fn add_file_contents(&mut self, contents: &[u8]) {
        for line in contents.lines_with_terminator() {
            for part in line.chunks(LINE_MAX) {
                self.add_line(until_nul(part));
            }
        }
    }

    fn add_line(&mut self, line: &[u8]) {
        if line.starts_with(b"#") {
            return;
        }
        let Some((first, rest)) = Contact::parse(line, false) else {
            return;
        };
        let second = Contact::parse(rest, true).map(|(second, _)| second);
        let (old_email, new_email, old_name) = match second {
            Some(second) => (second.email, Some(first.email), second.name),
            None => (first.email, None, None),
        };
        let known = ProperIdentity {
            name: first.name.map(BString::from),
            email: new_email.map(BString::from),
        };
        let old_email = folded(old_email);
        match old_name {
            Some(old_name) => {
                self.by_name.insert((old_email, folded(old_name)), known);
            }
            None => {
                let any = self.any_name.entry(old_email).or_default();
                any.name = known.name.or(any.name.take());
                any.email = known.email.or(any.email.take());
            }
        }
    }

    /// Returns the proper name and address of a person; `None` if the mailmap has none.
    pub fn map<'a>(&'a self, name: &'a BStr, email: &'a BStr) -> Option<(&'a BStr, &'a BStr)> {
        let old_email = folded(email);
        let any = self.any_name.get(&old_email);
        let known = match self.by_name.is_empty() {
            true => any,
            false => self.by_name.get(&(old_email, folded(name))).or(any),
        }?;
        if known.name.is_none() && known.email.is_none() {
            return None;
        }
        let new = |new: &'a Option<BString>, old| new.as_ref().map_or(old, |new| new.as_bstr());
        Some((new(&known.name, name), new(&known.email, email)))
    }

    /// Returns the line that `git check-mailmap` prints for `contact`, without a line feed. `contact` is
    /// `Name <address>`, or an address alone.
    pub fn check(&self, contact: &BStr) -> BString {
        let (name, email) = match Ident::split(contact) {
            Some(ident) => (ident.name(contact), ident.email(contact)),
            None => (BStr::new(b""), contact),
        };
        let (name, email) = self.map(name, email).unwrap_or((name, email));
        let space: &[u8] = if name.is_empty() { b"" } else { b" " };
        [name, space, b"<", email, b">"].concat().into()
    }

    /// Returns the contents of a commit or a tag with the proper names and addresses in its headers; `None` if
    /// nothing changes (`git cat-file --use-mailmap`).
    pub fn replace_idents(&self, contents: &[u8]) -> Option<Vec<u8>> {
        if self.any_name.is_empty() && self.by_name.is_empty() {
            return None;
        }
        let mut replaced = Vec::new();
        // The end of the part that was copied, and the start of the next line.
        let (mut copied, mut at) = (0, 0);
        loop {
            let rest = contents.get(at..).unwrap_or_default();
            if matches!(rest.first(), None | Some(b'\n' | 0)) {
                break;
            }
            let end = rest.find_byteset(b"\n\0").unwrap_or(rest.len());
            let line = rest.get(..end).unwrap_or_default();
            let header = HEADERS.iter().find(|header| line.starts_with(header));
            at = at.saturating_add(end);
            let is_replaced = header.is_some_and(|header| {
                let start = at.saturating_sub(line.len()).saturating_add(header.len());
                let person = line.get(header.len()..).unwrap_or_default().as_bstr();
                let Some(ident) = Ident::split(person) else {
                    return false;
                };
                let old = (ident.name(person), ident.email(person));
                let Some((name, email)) = self.map(old.0, old.1) else {
                    return false;
                };
                let before = contents.get(copied..start.saturating_add(ident.start()));
                replaced.extend_from_slice(before.unwrap_or_default());
                replaced.extend_from_slice(&[name.as_bytes(), b" <", email, b">"].concat());
                copied = start.saturating_add(ident.end());
                true
            });
            // git skips one byte too many after a replacement, and so may miss the end of the headers.
            if is_replaced {
                at = at.saturating_add(1);
            }
            if contents.get(at) == Some(&b'\n') {
                at = at.saturating_add(1);
            }
        }
        if copied == 0 {
            return None;
        }
        replaced.extend_from_slice(contents.get(copied..).unwrap_or_default());
        Some(replaced)
    }
}

/// A name and an address in a line of a mailmap.
struct Contact<'a> {
    name: Option<&'a [u8]>,
    email: &'a [u8],
}

impl<'a> Contact<'a> {
    /// Parses the contact at the start of `line`; also returns the rest of the line.
    fn parse(line: &'a [u8], may_have_no_email: bool) -> Option<(Self, &'a [u8])> {
        let (name, rest) = line.split_once_str("<")?;
        let (email, rest) = rest.split_once_str(">")?;
        if email.is_empty() && !may_have_no_email {
            return None;
        }
        let name = white_space::trim(name);
        let name = (!name.is_empty()).then_some(name);
        Some((Self { name, email }, rest))
    }
}

/// Returns `text` in lower case, for comparison.
fn folded(text: &[u8]) -> BString {
    text.to_ascii_lowercase().into()
}

/// Reads a file. One that exists but cannot be read as text, such as a directory, is empty.
fn read_file(path: &Path, follows_links: bool) -> io::Result<Vec<u8>> {
    let flags = match follows_links {
        true => OFlags::empty(),
        false => OFlags::NOFOLLOW,
    };
    let file = std::fs::File::from(open_to_read(CWD, path, flags)?);
    let mut text = Vec::new();
    // Like git, stop at a read error.
    let _ = file.take(FILE_MAX).read_to_end(&mut text);
    Ok(text)
}

#[cfg(test)]
mod tests;
