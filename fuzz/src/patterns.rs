//! Patterns, and the files and arguments that hold them.

use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::wildmatch::{self, Flags};
use vigil_rules::attributes::{AttributeFiles, Attributes, Blobs, IndexBlobs, Value};
use vigil_rules::ignore::{GlobalSources, IgnoreRules};
use vigil_rules::pathspec::{self, AttributeLookup, AttributeState, Relation};
use vigil_rules::sparse::SparseCheckout;

use crate::input::{Input, path_inside};

/// Longer patterns and paths are truncated: excessive cost shows at this length already.
const LEN_MAX: usize = 512;

fn limited(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(LEN_MAX)]
}

/// The part before the first NUL.
fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The result agrees with a table over all pairs of positions, for patterns of plain bytes, `?` and single `*`.
pub(crate) fn wildmatch(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    let flags = Flags {
        pathname: choice & 1 != 0,
        fold_case: choice & 2 != 0,
    };
    let (pattern, text) = (
        limited(until_nul(input.field())),
        limited(until_nul(input.0)),
    );
    let found = wildmatch::wildmatch(pattern, text, flags);
    if let Some(expected) = slow_match(pattern, text, flags) {
        assert_eq!(found, expected);
    }
    let literal = &pattern[..wildmatch::literal_prefix_len(pattern)];
    if found && !flags.fold_case {
        assert!(text.starts_with(literal));
    }
}

/// Whether the simple `pattern` matches `text`. `None` for patterns that the table does not support.
fn slow_match(pattern: &[u8], text: &[u8], flags: Flags) -> Option<bool> {
    if pattern.iter().any(|byte| matches!(byte, b'[' | b'\\'))
        || pattern.windows(2).any(|two| two == b"**")
    {
        return None;
    }
    let crosses = |byte: u8| !(flags.pathname && byte == b'/');
    let same = |a: u8, b: u8| a == b || (flags.fold_case && a.eq_ignore_ascii_case(&b));
    // `reached[at]`: whether the pattern so far matches the first `at` bytes.
    let mut reached: Vec<bool> = (0..=text.len()).map(|at| at == 0).collect();
    for &byte in pattern {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            next[at] = match (byte, at.checked_sub(1)) {
                (b'*', before) => {
                    reached[at]
                        || before.is_some_and(|before| next[before] && crosses(text[before]))
                }
                (b'?', Some(before)) => reached[before] && crosses(text[before]),
                (_, Some(before)) => reached[before] && same(byte, text[before]),
                (_, None) => false,
            };
        }
        reached = next;
    }
    reached.last().copied()
}

/// A rule, as a slow implementation of gitignore(5) reads it.
struct SlowRule<'a> {
    line: usize,
    is_negated: bool,
    only_directories: bool,
    pattern: &'a [u8],
}

fn slow_rules(contents: &[u8]) -> Vec<SlowRule<'_>> {
    let contents = contents.strip_prefix(b"\xef\xbb\xbf").unwrap_or(contents);
    let mut rules = Vec::new();
    for (line, text) in (1..).zip(contents.split(|byte| *byte == b'\n')) {
        if text.is_empty() || text.starts_with(b"#") {
            continue;
        }
        let mut text = until_nul(text.strip_suffix(b"\r").unwrap_or(text));
        while let Some(shorter) = text.strip_suffix(b" ") {
            let backslashes = shorter
                .iter()
                .rev()
                .take_while(|byte| **byte == b'\\')
                .count();
            if backslashes % 2 == 1 {
                break;
            }
            text = shorter;
        }
        let unnegated = text.strip_prefix(b"!");
        let pattern = unnegated.unwrap_or(text);
        let directory = pattern.strip_suffix(b"/");
        rules.push(SlowRule {
            line,
            is_negated: unnegated.is_some(),
            only_directories: directory.is_some(),
            pattern: directory.unwrap_or(pattern),
        });
    }
    rules
}

/// Tries all rules. Returns the line of the last one that matches `path`, and whether that one is negated.
fn slow_matching(contents: &[u8], path: &[u8], is_dir: bool, fold: bool) -> Option<(usize, bool)> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let rules = slow_rules(contents).into_iter().rev();
    let mut matching = rules
        .filter(|rule| is_dir || !rule.only_directories)
        .filter(|rule| match rule.pattern.contains(&b'/') {
            false => wildmatch::wildmatch(
                rule.pattern,
                name,
                Flags {
                    pathname: false,
                    fold_case: fold,
                },
            ),
            true => {
                let rooted = rule.pattern.strip_prefix(b"/").unwrap_or(rule.pattern);
                wildmatch::wildmatch(
                    rooted,
                    path,
                    Flags {
                        pathname: true,
                        fold_case: fold,
                    },
                )
            }
        });
    matching.next().map(|rule| (rule.line, rule.is_negated))
}

/// The deciding rule is that of the slow implementation: the last matching one in the deepest file that has any.
pub(crate) fn ignore(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    let (is_dir, fold) = (choice & 1 != 0, choice & 2 != 0);
    let path = path_inside(limited(input.field()));
    let [excludes, info, top, own] = [(); 4].map(|()| limited(input.field()));
    if path.is_empty() {
        return;
    }
    let dir: &[u8] = path
        .split_str("/")
        .next()
        .filter(|dir| dir.len() < path.len())
        .unwrap_or_default();
    let mut rules = IgnoreRules::root(GlobalSources {
        excludes_file: Some((Path::new("excludes"), excludes)),
        info_exclude: Some((Path::new("info"), info)),
        ignore_case: fold,
    })
    .with_file("".into(), top);
    let mut files = vec![
        ("excludes".into(), excludes, 0),
        ("info".into(), info, 0),
        (".gitignore".into(), top, 0),
    ];
    if !dir.is_empty() {
        rules = rules.with_file(dir.as_bstr(), own);
        let source = BString::from([dir, b"/.gitignore"].concat());
        files.push((source, own, dir.len() + 1));
    }
    let slow = files.iter().rev().find_map(|(source, contents, start)| {
        let (line, is_negated) = slow_matching(contents, &path[*start..], is_dir, fold)?;
        Some((source.as_bstr(), line, is_negated))
    });
    let found = rules.matching(path.as_bstr(), is_dir);
    assert_eq!(
        found.map(|rule| (rule.source, rule.line, rule.is_negated)),
        slow
    );
    assert_eq!(
        rules.is_ignored(path.as_bstr(), is_dir),
        slow.is_some_and(|slow| !slow.2)
    );
}

/// A tree with attributes at its top and in one folder.
struct Tree {
    top: Vec<u8>,
    own_path: Vec<u8>,
    own: Vec<u8>,
}

impl IndexBlobs for Tree {
    fn blob(&self, path: &BStr) -> Option<Vec<u8>> {
        match path.as_bytes() {
            b".gitattributes" => Some(self.top.clone()),
            path if path == self.own_path => Some(self.own.clone()),
            _ => None,
        }
    }
}

fn attributes_of(tree: Tree, fold_case: bool) -> Attributes {
    let settings = AttributeFiles {
        info_file: "/nonexistent/attributes".into(),
        fold_case,
        ..AttributeFiles::default()
    };
    let tree = Arc::new(tree);
    let blobs = Blobs {
        index: tree.clone(),
        tree: Some(tree),
    };
    Attributes::new(settings, blobs, Arc::default())
}

/// An attribute does not depend on which others are asked for, and a pattern matches as it does in an ignore
/// file.
pub(crate) fn attributes(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    let (is_dir, fold) = (choice & 1 != 0, choice & 2 != 0);
    let path = path_inside(limited(input.field()));
    let (top, own) = (limited(input.field()), limited(input.field()));
    let pattern = limited(input.field());
    if path.is_empty() {
        return;
    }
    let asked = if is_dir {
        [&path, b"/".as_slice()].concat()
    } else {
        path.clone()
    };
    let asked = asked.as_bstr();
    let dir = path.split_str("/").next().unwrap_or_default();
    let tree = Tree {
        top: top.into(),
        own_path: [dir, b"/.gitattributes"].concat(),
        own: own.into(),
    };
    let attributes = attributes_of(tree, fold);
    const NAMES: [&str; 6] = ["text", "eol", "binary", "diff", "m", "x"];
    let values = attributes.lookup(asked, NAMES);
    for (name, value) in NAMES.iter().zip(&values) {
        assert_eq!(
            &attributes.lookup(asked, [name]),
            std::slice::from_ref(value)
        );
        if let Value::Text(text) = value {
            assert!(text.len() <= LEN_MAX);
        }
    }
    if values[2] == Value::Set {
        // `binary` is a macro, unless its parts are set otherwise.
        assert!(
            values[0] != Value::Unspecified
                || contains_either(top, own, "text")
                || contains_either(top, own, "[attr]")
        );
    }

    let is_plain = !pattern.is_empty()
        && !matches!(pattern[0], b'#' | b'!' | b'"')
        && !pattern.starts_with(b"[attr]")
        && !pattern
            .iter()
            .any(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0));
    if is_plain {
        let tree = Tree {
            top: [b"\n", pattern, b" x\n"].concat(),
            own_path: Vec::new(),
            own: Vec::new(),
        };
        let [value] = attributes_of(tree, fold).lookup(asked, ["x"]);
        let ignored = IgnoreRules::root(GlobalSources {
            excludes_file: Some((Path::new("x"), &[b"\n", pattern].concat())),
            info_exclude: None,
            ignore_case: fold,
        });
        assert_eq!(
            value == Value::Set,
            ignored.is_ignored(path.as_bstr(), is_dir)
        );
    }
}

fn contains_either(a: &[u8], b: &[u8], what: &str) -> bool {
    a.contains_str(what) || b.contains_str(what)
}

/// No path has attributes.
struct NoAttributes;

impl AttributeLookup for NoAttributes {
    fn attribute(&self, _path: &BStr, _name: &BStr) -> AttributeState {
        AttributeState::Unspecified
    }
}

/// If a pathspec matches a path, it may concern that path, and the path is below the common prefix.
pub(crate) fn pathspec(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    let settings = pathspec::Settings {
        literal: choice & 1 != 0,
        glob: choice & 2 != 0,
        noglob: choice & 4 != 0,
        icase: choice & 8 != 0,
    };
    let is_dir = choice & 16 != 0;
    let path = path_inside(limited(input.field()));
    let mut prefix = path_inside(limited(input.field()));
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    let specs: Vec<BString> =
        std::iter::from_fn(|| (!input.0.is_empty()).then(|| limited(input.field()).into()))
            .take(8)
            .collect();
    let spec = match pathspec::parse(&specs, prefix.as_bstr(), None, settings) {
        Ok(spec) => spec,
        Err(error) => {
            assert!(error.to_string().len() <= 4096 + data.len() * 8);
            return;
        }
    };
    assert_eq!(spec.is_empty(), specs.is_empty());
    if path.is_empty() {
        return;
    }
    let matches = spec.matches(path.as_bstr(), is_dir, &NoAttributes);
    if matches {
        let with_slash = [&path, b"/".as_slice()].concat();
        assert!(with_slash.starts_with(spec.common_prefix()));
        let ends = path.find_iter("/").chain([path.len()]);
        for end in ends {
            assert!(spec.may_match_at_or_below(path[..end].as_bstr()));
        }
    }
    match spec.directory_relation(path.as_bstr(), &NoAttributes) {
        Relation::All => {
            for name in ["x", "y/z"] {
                let below = [&path, b"/".as_slice(), name.as_bytes()].concat();
                assert!(spec.matches(below.as_bstr(), false, &NoAttributes));
            }
        }
        Relation::Itself | Relation::LeadsInside => {
            assert!(spec.may_match_at_or_below(path.as_bstr()))
        }
        Relation::Outside => {}
    }
    if let [only] = specs.as_slice()
        && prefix.is_empty()
        && path_inside(only) == only.as_slice()
        && (settings.literal || !only.starts_with(b":"))
    {
        assert_eq!(matches, slow_pathspec(only, &path, settings));
    }
}

/// Whether `spec`, a path or glob without magic and from the top, matches `path`.
fn slow_pathspec(spec: &[u8], path: &[u8], settings: pathspec::Settings) -> bool {
    let equal = |a: &[u8], b: &[u8]| a == b || (settings.icase && a.eq_ignore_ascii_case(b));
    let (start, rest) = path.split_at(spec.len().min(path.len()));
    if equal(start, spec) && (rest.is_empty() || rest.starts_with(b"/")) {
        return true;
    }
    let literal_len = wildmatch::literal_prefix_len(spec);
    let (literal, glob) = spec.split_at(literal_len);
    let is_glob = !glob.is_empty() && !settings.literal && !settings.noglob;
    is_glob
        && path.len() >= literal_len
        && equal(&path[..literal_len], literal)
        && wildmatch::wildmatch(
            glob,
            &path[literal_len..],
            Flags {
                pathname: settings.glob,
                fold_case: settings.icase,
            },
        )
}

/// Patterns decide as in the slow implementation. In a cone, files at the top and everything below its
/// directories are in.
pub(crate) fn sparse_checkout(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    let (cone, fold) = (choice & 1 != 0, choice & 2 != 0);
    let path = path_inside(limited(input.field()));
    let contents = limited(input.0);
    let sparse = SparseCheckout::parse(contents, cone, fold);
    assert!(cone || !sparse.is_cone());
    assert_eq!(sparse.warnings().is_empty(), sparse.is_cone() || !cone);
    if path.is_empty() {
        return;
    }
    let is_in = sparse.in_checkout(path.as_bstr());
    if sparse.is_cone() {
        assert!(is_in || path.contains(&b'/'));
        if is_in {
            // If a directory is in by its name, so is everything below it.
            let sibling = match path.rfind("/") {
                Some(slash) => [&path[..=slash], b"\x01"].concat(),
                None => b"\x01".to_vec(),
            };
            let below = [&path, b"/\x01".as_slice()].concat();
            assert!(sparse.in_checkout(sibling.as_bstr()) || sparse.in_checkout(below.as_bstr()));
        }
        return;
    }
    let mut slow = slow_matching(contents, &path, false, fold);
    let mut end = path.len();
    while slow.is_none()
        && let Some(slash) = path[..end].rfind("/")
    {
        end = slash;
        slow = slow_matching(contents, &path[..end], true, fold);
    }
    assert_eq!(is_in, slow.is_some_and(|(_, is_negated)| !is_negated));
}
