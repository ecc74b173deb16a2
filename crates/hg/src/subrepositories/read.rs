//! Reads `.hgsub` and `.hgsubstate`.

use std::collections::BTreeMap;

use bstr::{BStr, ByteSlice};

use super::{Subrepositories, Subrepository};
use crate::abort::Abort;
use crate::bytes::{bytes, is_space, lines_with_ends, trim, trim_end};
use crate::config::{Config, section_name};
use crate::node::Node;
use crate::patterns::count_groups;

impl Subrepositories {
    /// Parses the texts of `.hgsub` and `.hgsubstate`; messages call the latter `name`. Where subrepositories come from may be
    /// rewritten as `config` says.
    ///
    /// # Errors
    /// A line of either file is not understood, or only Mercurial knows whether a source can be rewritten.
    pub fn parse(
        hgsub: &[u8],
        hgsubstate: &[u8],
        name: &BStr,
        config: &Config,
    ) -> Result<Self, Abort> {
        // Mercurial reads one file after the other, and complains of the first error that it finds.
        let Hgsub { places, mut rules } = parse_hgsub(hgsub)?;
        for item in config.section("subpaths") {
            rules.insert(&item.name, &item.value);
        }
        let nodes = parse_hgsubstate(hgsubstate, name)?;
        let mut all = BTreeMap::new();
        for HgsubLine { line, path, source } in places {
            let (system, place) = match source.strip_prefix(b"[") {
                None => (b"hg".as_slice(), source),
                Some(rest) => {
                    let parts = rest.split_once_str("]");
                    let message = "missing ] in subrepository source";
                    parts.ok_or_else(|| Abort::plain(message))?
                }
            };
            check_place(trim(place), config).map_err(|wrong| wrong.unwrap_or(refused(line)))?;
            // Each source is rewritten by all rules, so the first one shows whether they are valid.
            for (pattern, replacement) in std::mem::take(&mut rules) {
                check_rule(pattern, replacement)?;
            }
            let subrepository = match nodes.get(path) {
                revision if system != b"hg" => Subrepository::Other {
                    system: system.into(),
                    revision: revision.copied().unwrap_or_default().into(),
                },
                None => Subrepository::Mercurial(None),
                Some(node) => {
                    let node = Node::from_hex(node).ok_or_else(|| refused(line))?;
                    Subrepository::Mercurial(Some(node))
                }
            };
            all.insert(path.into(), subrepository);
        }
        Ok(Self(all))
    }
}

/// The lines of `.hgsub`.
#[derive(Default)]
struct Hgsub<'t> {
    places: Vec<HgsubLine<'t>>,
    /// How sources are rewritten: regular expressions, each with the replacement.
    rules: BTreeMap<&'t [u8], &'t [u8]>,
}

/// A line of `.hgsub` that places a subrepository.
struct HgsubLine<'t> {
    line: &'t [u8],
    path: &'t [u8],
    source: &'t [u8],
}

fn refused(line: &[u8]) -> Abort {
    Abort::unsupported(bytes!("the line '", line, "' of .hgsub"))
}

/// Reads the lines of `.hgsub` before the first section, and those of `[subpaths]`.
fn parse_hgsub(text: &[u8]) -> Result<Hgsub<'_>, Abort> {
    let mut all = Hgsub::default();
    let mut section: &[u8] = b"";
    for line in lines_with_ends(text) {
        let line = trim_end(line);
        match line.first() {
            None | Some(b'#' | b';') => continue,
            Some(first) if *first == b'%' || is_space(*first) => return Err(refused(line)),
            _ => {}
        }
        if let Some(name) = section_name(line) {
            section = name;
            continue;
        }
        let (path, source) = line.split_once_str("=").ok_or_else(|| refused(line))?;
        let (path, source) = (trim(path), trim(source));
        // Mercurial crashes if its own folder is called a subrepository.
        if path.is_empty() || path == b".hg" {
            return Err(refused(line));
        }
        match section {
            b"" if source.is_empty() => return Err(refused(line)),
            b"" => all.places.push(HgsubLine { line, path, source }),
            b"subpaths" => drop(all.rules.insert(path, source)),
            _ => {}
        }
    }
    Ok(all)
}

/// Checks the place from which a subrepository comes. If it is relative, Mercurial joins it to that of the repository (`paths.default`).
///
/// # Errors
/// One of them is a file on another machine, or only Mercurial knows what it takes that for: then there is no error.
fn check_place(place: &[u8], config: &Config) -> Result<(), Option<Abort>> {
    check_file_url(place)?;
    let above = config.get("paths", "default").unwrap_or_default();
    match is_relative(place) {
        true => check_file_url(above),
        false => Ok(()),
    }
}

/// Returns the rest of a URL after `file:`.
fn file_url(place: &[u8]) -> Option<&[u8]> {
    let url = place.split(|byte| *byte == b'#').next()?;
    url.strip_prefix(b"file:")
}

/// Checks that a URL, if it names a file, names one of this machine.
///
/// # Errors
/// As for [`check_place`].
fn check_file_url(place: &[u8]) -> Result<(), Option<Abort>> {
    let Some(rest) = file_url(place) else {
        return Ok(());
    };
    let Some(authority) = rest.strip_prefix(b"//") else {
        return Ok(());
    };
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_".contains(byte);
    match authority.split_once_str("/") {
        Some((b"" | b"localhost" | b"127.0.0.1" | b"[::1]", _)) => Ok(()),
        Some((host, _)) if host.iter().all(is_plain) => {
            let message = "file:// URLs can only refer to localhost";
            Err(Some(Abort::plain(message)))
        }
        _ => Err(None),
    }
}

/// Whether a place is meant from that of another repository.
fn is_relative(place: &[u8]) -> bool {
    let path = match file_url(place) {
        None => place,
        Some(url) => match url.strip_prefix(b"//").map(|rest| rest.split_once_str("/")) {
            None => url,
            Some(Some((b"", _))) => return false,
            // To Mercurial, the path begins after the slash that follows a host.
            Some(parts) => parts.map_or(b"".as_slice(), |(_, path)| path),
        },
    };
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+.-".contains(byte);
    let scheme = path.iter().take_while(|byte| is_of_scheme(byte)).count();
    let has_scheme = scheme > 0 && path.get(scheme) == Some(&b':');
    !has_scheme && !path.starts_with(b"/") && !path.starts_with(b"\\")
}

/// Checks that sources can be rewritten by this rule: `replacement` takes the place of what `pattern` matches.
///
/// # Errors
/// Mercurial gives up, or only it knows whether it does.
fn check_rule(pattern: &[u8], replacement: &[u8]) -> Result<(), Abort> {
    let refused = |_| {
        let what = bytes!("the pattern '", pattern, "' in [subpaths]");
        Abort::unsupported(what)
    };
    let groups = count_groups(pattern).map_err(refused)?;
    match is_replacement(replacement, groups) {
        true => Ok(()),
        false => Err(Abort::unsupported(bytes!(
            "the replacement '",
            replacement,
            "' in [subpaths]"
        ))),
    }
}

/// Returns whether Python takes `text`, as Mercurial quotes it, for the replacement of what a pattern with so many groups matches.
fn is_replacement(text: &[u8], groups: u32) -> bool {
    // Other bytes are quoted as Python does not allow it there.
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    // Only a backslash before a digit is not quoted.
    let after_backslashes = text.split(|byte| *byte == b'\\').skip(1);
    text.iter().all(is_plain)
        && after_backslashes
            .into_iter()
            .all(|rest| is_reference(rest, groups))
}

/// Returns whether a backslash before `rest` is valid in a replacement.
fn is_reference(rest: &[u8], groups: u32) -> bool {
    let digit = |at: usize| rest.get(at).filter(|byte| byte.is_ascii_digit());
    let is_octal = |digit: &u8| *digit < b'8';
    let number = |digit: &u8| u32::from(digit.saturating_sub(b'0'));
    match [digit(0), digit(1), digit(2)] {
        [None, ..] | [Some(b'0'), ..] => true,
        // A byte.
        [Some(a), Some(b), Some(c)] if [a, b, c].into_iter().all(is_octal) => *a < b'4',
        [Some(a), Some(b), _] => number(a).saturating_mul(10).saturating_add(number(b)) <= groups,
        [Some(a), None, _] => number(a) <= groups,
    }
}

/// Reads the nodes of `.hgsubstate` by path; messages call the file `name`.
fn parse_hgsubstate<'t>(
    text: &'t [u8],
    name: &BStr,
) -> Result<BTreeMap<&'t [u8], &'t [u8]>, Abort> {
    let mut nodes = BTreeMap::new();
    for (at, line) in lines_with_ends(text).enumerate() {
        let line = line.trim_end_with(|letter| matches!(letter, '\n' | '\r'));
        let line = line.trim_start_with(|letter| u8::try_from(letter).is_ok_and(is_space));
        if line.is_empty() {
            continue;
        }
        let number = at.saturating_add(1).to_string();
        let (node, path) = line.split_once_str(" ").ok_or_else(|| {
            let message = "invalid subrepository revision specifier in '";
            Abort::plain(bytes!(message, name, "' line ", number))
        })?;
        nodes.insert(path, node);
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(hgsub: &[u8], hgsubstate: &[u8]) -> Result<Subrepositories, Abort> {
        Subrepositories::parse(hgsub, hgsubstate, ".hgsubstate".into(), &Config::default())
    }

    #[test]
    fn places_and_nodes_are_read() {
        let message = |hgsub, hgsubstate| parse(hgsub, hgsubstate).unwrap_err().to_string();
        // The first error is the one that is reported.
        assert!(message(b"nonsense", b"nonsense").contains("of .hgsub"));
        assert!(message(b"a = [git]b", b"nonsense").contains("specifier in '.hgsubstate' line 1"));
        assert!(message(b"a = [git b", b"").contains("missing ] in"));
        let node = Node([0xab; Node::LEN]);
        let hgsubstate = format!("{node} d/sub\n\n  {node} other\n");
        let hgsub = b"# a comment\nd/sub = ../there\n new = [hg]x\n";
        assert!(parse(hgsub, hgsubstate.as_bytes()).is_err());
        let hgsub = b"# a comment\nd/sub = ../there\r\nnew=[hg]x\n[subpaths]\na = b\n";
        let read = parse(hgsub, hgsubstate.as_bytes()).unwrap();
        assert_eq!(read.paths().collect::<Vec<_>>(), ["d/sub", "new"]);
        let one = |path: &str| read.get(path.into()).cloned();
        assert_eq!(one("d/sub"), Some(Subrepository::Mercurial(Some(node))));
        assert_eq!(one("new"), Some(Subrepository::Mercurial(None)));
        assert_eq!(one("d"), None);
        let read = parse(b"[[x] = y\n[other] = a\nb = c\n", b"").unwrap();
        assert_eq!(read.paths().collect::<Vec<_>>(), ["[[x]"]);
        // The committed revision of another system's subrepository may be any text.
        let read = parse(b"a = [git]x\n", b"12 a\n").unwrap();
        assert_eq!(
            read.get("a".into()),
            Some(&Subrepository::Other {
                system: "git".into(),
                revision: "12".into()
            })
        );
        assert!(read.contains("a/b/c".into()) && !read.contains("a".into()));
    }

    #[test]
    fn files_of_other_machines_are_told() {
        let told = "file:// URLs can only refer to localhost";
        let mut config = Config::default();
        let message = |source: &str, config: &Config| {
            let hgsub = format!("a = {source}\n");
            let read = Subrepositories::parse(hgsub.as_bytes(), b"", "".into(), config);
            read.map_or_else(|abort| abort.to_string(), |_| String::new())
        };
        for (source, expected) in [
            ("file://other/x", told),
            ("[git] file://other/x#y", told),
            ("file://localhost/x", ""),
            ("file:///x", ""),
            ("file:x", ""),
            ("FILE://other/x", ""),
            ("ssh://other/x", ""),
        ] {
            assert_eq!(message(source, &config), expected, "{source}");
        }
        for source in ["file://other", "file://", "file://me@other/x"] {
            assert!(message(source, &config).contains("of .hgsub"), "{source}");
        }
        config.set("paths", "default", "file://other/x", "");
        for (source, expected) in [
            ("x", told),
            ("../x:y", told),
            ("file:x", told),
            ("file://localhost/x", told),
            ("file://localhost//x", ""),
            ("[git]x", told),
            ("/x", ""),
            ("file:///x", ""),
            ("http://other/x", ""),
        ] {
            assert_eq!(message(source, &config), expected, "{source}");
        }
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (hgsub, hgsubstate) in [
            (&b"%include x\n"[..], &b""[..]),
            (b"a\n", b""),
            (b"a =\n", b""),
            (b"a = b\n", b"nonsense\n"),
            (b"a = b\n", b"123 a\n"),
        ] {
            assert!(parse(hgsub, hgsubstate).is_err());
        }
    }

    #[test]
    fn rules_that_rewrite_no_source_are_told() {
        for (rule, is_valid) in [
            ("(.*)x = http://y/\\1", true),
            (r"a = \\\01\x'", true),
            (r"a = \0\377", true),
            ("(a)(?:b)(?P<n>c) =", true),
            (r"a = \1", false),
            (r"(a)(b) = \12", false),
            (r"(a)(b) = \2\\3", false),
            (r"a = \477", false),
            ("a = \u{e9}", false),
            ("a = \u{7f}", false),
            ("( = x", false),
            ("= x", false),
        ] {
            let hgsub = format!("sub = there\n[other]\n( = x\n[subpaths]\n{rule}\n");
            let read = parse(hgsub.as_bytes(), b"");
            assert_eq!(read.is_ok(), is_valid, "{rule}");
        }
        // Without a subrepository, nothing is rewritten.
        assert!(parse(b"[subpaths]\n( = x\n", b"").is_ok());
        // The configuration adds rules, and replaces those with the same pattern.
        let mut config = Config::default();
        config.set("subpaths", "a", "b", "");
        let parse = |hgsub: &[u8], config: &Config| {
            Subrepositories::parse(hgsub, b"", ".hgsubstate".into(), config)
        };
        assert!(parse(b"sub = x\n[subpaths]\na = \\1\n", &config).is_ok());
        config.set("subpaths", "(", "b", "");
        let message = parse(b"sub = x\n", &config).unwrap_err().to_string();
        assert!(
            message.contains("the pattern '(' in [subpaths]"),
            "{message}"
        );
    }
}
