use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

use super::{FILE_SIZE_MAX, GlobalSources, IgnoreRules};
use vigil_testkit::chance::Chance;
use vigil_testkit::sandbox::Sandbox;

fn rules(contents: &[u8]) -> Arc<IgnoreRules> {
    IgnoreRules::root(GlobalSources::default()).with_file(BStr::new(""), contents)
}

fn decides(contents: &[u8], path: &str, is_dir: bool) -> Option<(usize, BString)> {
    rules(contents)
        .matching(path.into(), is_dir)
        .map(|rule| (rule.line, rule.pattern.to_owned()))
}

#[test]
fn a_line_is_read_as_git_reads_it() {
    let line = |contents: &[u8], path| decides(contents, path, true).map(|(line, _)| line);
    assert_eq!(line(b"\xef\xbb\xbfa\r\nb", "a"), Some(1));
    assert_eq!(line(b"a\r\r\n", "a"), None);
    assert_eq!(line(b"#a\n\n\\#a", "#a"), Some(3));
    assert_eq!(line(b"\\!a", "!a"), Some(1));
    assert_eq!(line(b"a  ", "a"), Some(1));
    assert_eq!(line(b"a\t", "a"), None);
    assert_eq!(line(b"a\\  ", "a "), Some(1));
    assert_eq!(line(b"a \\", "a "), None);
    assert_eq!(line(b"a\0b\n", "a"), Some(1));
    assert_eq!(line(b"a\n", "b"), None);
    assert_eq!(line(b"foo**/a", "foo.o/x/a"), None);
    assert_eq!(line(b"foo**/a", "foo.o/a"), Some(1));
    assert_eq!(line(b"**/a/b", "x/a/b"), Some(1));
    assert_eq!(line(b"*.o", ".o"), Some(1));
    assert_eq!(line(b"*-and-a-long-ending", "a-and-a-long-ending"), Some(1));
    for empty in ["", "\n", "/", "!", "!/", "\r\n", "//", "**//", "#"] {
        let root = IgnoreRules::root(GlobalSources::default());
        let same = root.with_file("".into(), empty.as_bytes());
        assert!(Arc::ptr_eq(&root, &same), "{empty:?}");
    }
}

#[test]
fn a_match_tells_where_the_rule_is() {
    let info = b"*.tmp\n".as_slice();
    let excludes = b"x\n*.tmp\n*.log".as_slice();
    let root = IgnoreRules::root(GlobalSources {
        excludes_file: Some((Path::new("/home/u/ignore"), excludes)),
        info_exclude: Some((Path::new("/r/.git/info/exclude"), info)),
        ignore_case: false,
    });
    let below = root
        .with_file("".into(), b"/d/e/*\n")
        .with_file("d".into(), b"\n!e/f/  \n");
    let told = |path: &str, is_dir| {
        let rule = below.matching(path.into(), is_dir)?;
        Some((rule.is_negated, rule.source.to_string(), rule.line))
    };
    assert_eq!(told("d/e/f", true), Some((true, "d/.gitignore".into(), 2)));
    assert_eq!(told("d/e/f", false), Some((false, ".gitignore".into(), 1)));
    assert_eq!(
        told("d/a.tmp", false),
        Some((false, "/r/.git/info/exclude".into(), 1))
    );
    assert_eq!(
        told("d/a.log", false),
        Some((false, "/home/u/ignore".into(), 3))
    );
    assert_eq!(told("d/y", false), None);
    assert!(!below.is_ignored("d/e/f".into(), true));
    assert!(below.is_ignored("d/e/f".into(), false));
}

#[test]
fn the_last_of_many_equal_names_decides() {
    let mut contents = Vec::new();
    for number in 0..5000 {
        contents.extend_from_slice(format!("name{number}\n").as_bytes());
    }
    contents.extend_from_slice(b"!name77\nname77/\n");
    assert_eq!(
        decides(&contents, "a/name77", true),
        Some((5002, "name77/".into()))
    );
    assert_eq!(
        decides(&contents, "a/name77", false),
        Some((5001, "!name77".into()))
    );
    assert_eq!(
        decides(&contents, "name4999", false),
        Some((5000, "name4999".into()))
    );
    assert_eq!(decides(&contents, "name5000", false), None);
}

/// The digest of rules in all the places where they may be.
fn digest(excludes: &str, info: &str, files: &[(&str, &str)], ignore_case: bool) -> u128 {
    let root = IgnoreRules::root(GlobalSources {
        excludes_file: Some((Path::new("/excludes"), excludes.as_bytes())),
        info_exclude: Some((Path::new("/info"), info.as_bytes())),
        ignore_case,
    });
    files
        .iter()
        .fold(root, |rules, (dir, contents)| {
            rules.with_file((*dir).into(), contents.as_bytes())
        })
        .digest()
}

#[test]
fn a_digest_is_that_of_the_rules_in_force() {
    let digest_of_top = |top: &str| digest("x", "y", &[("", top), ("d", "b")], false);
    let told = digest_of_top("a\n!c/\n");
    for same in [
        "a\n!c/",
        "\u{feff}a\r\n!c/\r\n",
        "# why\n\na  \n!c/ \n",
        "a\n/\n!\n!c/",
        "a\0z\n!c/",
    ] {
        assert_eq!(digest_of_top(same), told, "{same:?}");
    }
    for other in [
        "",
        "a",
        "!c/\na",
        "a\nc/",
        "a\n!c",
        "a\n!/c/",
        "A\n!c/",
        "a!c/",
        "a\n!c/\na",
    ] {
        assert_ne!(digest_of_top(other), told, "{other:?}");
    }
}

#[test]
fn each_part_has_its_share_in_the_digest() {
    let top_and_d = [("", "a"), ("d", "b")];
    let all = [
        digest("x", "y", &top_and_d, false),
        digest("x", "y", &top_and_d, true),
        digest("y", "x", &top_and_d, false),
        digest("x\ny", "", &top_and_d, false),
        digest("", "y", &top_and_d, false),
        digest("x", "", &top_and_d, false),
        digest("x", "y", &[("", "a"), ("e", "b")], false),
        digest("x", "y", &[("", "a"), ("d/b", "b")], false),
        digest("x", "y", &[("", "a"), ("d", "b"), ("d/e", "c")], false),
        digest("x", "y", &[("", "b"), ("d", "a")], false),
        digest("x", "y", &[("", "a\nb")], false),
        digest("x", "y", &[("", "a")], false),
        digest("x", "y", &[("d", "b")], false),
        digest("x", "y", &[], false),
        digest("", "", &[], false),
        digest("", "", &[], true),
    ];
    assert_eq!(BTreeSet::from(all).len(), all.len());

    assert_eq!(
        digest("x", "y", &[("", "a"), ("c", "#"), ("d", "b")], false),
        all[0]
    );
    // One file of rules is like another, whatever its name.
    assert_eq!(digest("x", "", &[], false), digest("", "x", &[], false));
}

#[test]
fn a_digest_is_the_same_in_every_process() {
    assert_eq!(
        format!("{:032x}", digest("", "*.o\n", &[("d", "/a")], false)),
        "4c5d4e1d91eafff5727978beeea2f808"
    );
}

#[test]
fn deep_directories_are_freed() {
    let mut rules = rules(b"a");
    for depth in 0..200_000 {
        let contents: &[u8] = if depth % 2 == 0 { b"a" } else { b"b" };
        rules = rules.with_file("".into(), contents);
    }
    assert!(rules.is_ignored("b".into(), false));
    drop(rules);
}

#[test]
fn a_file_that_is_too_large_has_no_rules() {
    let rules = rules(b"a");
    let contents = vec![b'b'; FILE_SIZE_MAX as usize + 1];
    let with_file = rules.with_file("".into(), &contents);
    assert!(Arc::ptr_eq(&rules, &with_file));
}

const NAMES: &[&str] = &[
    "a",
    "b",
    "ab",
    "A",
    "foo",
    "Foo",
    "foo.o",
    ".o",
    "x.o",
    "X.O",
    "a b",
    "b ",
    "#c",
    "!d",
    "a*",
    "[a]",
    "a]b",
    "-",
    "ba.r",
    "f\\o",
    "verylongfilename.extension-of-files",
];

const PIECES: &[&str] = &[
    "a",
    "b",
    "ab",
    "foo",
    "Foo",
    "*.o",
    ".o",
    "*",
    "**",
    "?",
    "[a]",
    "[!a]",
    "[^b]",
    "[a-f]",
    "[]a]",
    "[a",
    "]",
    "[[:alpha:]]",
    "[[:upper:]x]",
    "[[:bad:]]",
    "[A-c]",
    "\\a",
    "\\*",
    "\\ ",
    "\\",
    " ",
    "#",
    "!",
    "foo*",
    "*o",
    "f?o",
    "a**b",
    "x.*",
    "*.extension-of-files",
    "name.extension-of-files",
    "-",
    "ba.r",
    "\\[a]",
    "f\\\\o",
];

const LINES: &[&str] = &[
    "*",
    "/*",
    "**",
    "**/",
    "/**",
    "**/a",
    "**/*.o",
    "/**/b",
    "a/**",
    "a/**/b",
    "a/*/b",
    "!*/",
    "!a/",
    "a//",
    "//a",
    "/a",
    "a/",
    "!/a/b",
    "\\#c",
    "\\!d",
    "#a",
    "b\\ ",
    "b ",
    "a b  ",
    "*.o",
    "!*.o",
    "!foo.o",
    "foo**/a",
    "**foo",
    "**/**/a",
    "a/b/**/foo",
    "[a-",
    "a\\",
    "\\/a",
    "[/]a",
    "a[/]b",
    "**/a/**",
    "?/b",
    "*/foo",
    "**/foo/*",
];

/// A rule, more often a tricky one than not.
fn pattern(chance: &mut Chance) -> String {
    if chance.below(3) == 0 {
        return (chance.pick(LINES)).into();
    }
    let mut line = String::from(chance.pick(&["", "", "", "!", "/", "!/", "**/", "/**/"]));
    for component in 0..1 + chance.below(3) {
        if component > 0 {
            line += chance.pick(&["/", "/", "/**/", "//"]);
        }
        for _ in 0..1 + chance.below(2) {
            line += chance.pick(PIECES);
        }
    }
    line + chance.pick(&["", "", "", "/", " ", "/**", "/*", "\r", "  \r", "/ "])
}

/// Whether the literal prefix of a rule runs into `**`, which git before 2.52 takes for a component of its
/// own.
fn depends_on_version(line: &str) -> bool {
    line.find(['*', '?', '[', '\\'])
        .and_then(|special| line.split_at_checked(special))
        .is_some_and(|(literal, glob)| {
            glob.starts_with("**") && !literal.is_empty() && !literal.ends_with(['/', '!'])
        })
}

fn pattern_file(chance: &mut Chance) -> Vec<u8> {
    let mut contents = chance.pick(&["", "", "\u{feff}"]).as_bytes().to_vec();
    for _ in 0..chance.below(8) {
        let pattern = pattern(chance);
        if depends_on_version(&pattern) {
            continue;
        }
        contents.extend_from_slice(pattern.as_bytes());
        contents.push(b'\n');
    }
    if chance.below(2) == 0 {
        contents.pop();
    }
    contents
}

type Verdict = Option<(BString, usize, BString)>;

/// The rule that decides about `path`. As in git, the rules about its parents come first.
fn decision(
    root: &Arc<IgnoreRules>,
    files: &BTreeMap<BString, Vec<u8>>,
    path: &BStr,
    is_dir: bool,
) -> Verdict {
    let with_file = |rules: &Arc<IgnoreRules>, dir: &BStr| match files.get(dir) {
        Some(contents) => rules.with_file(dir, contents),
        None => Arc::clone(rules),
    };
    let told =
        |rule: super::Match<'_>| Some((rule.source.to_owned(), rule.line, rule.pattern.to_owned()));
    let mut rules = with_file(root, "".into());
    for slash in path.find_iter("/") {
        let parent = path[..slash].as_bstr();
        if let Some(rule) = rules.matching(parent, true)
            && !rule.is_negated
        {
            return told(rule);
        }
        rules = with_file(&rules, parent);
    }
    rules.matching(path, is_dir).and_then(told)
}

/// Creates random files and directories in the working tree. Returns their paths, and those that could not be
/// created.
fn grow_tree(sandbox: &Sandbox, chance: &mut Chance, count: usize) -> BTreeSet<String> {
    for dir in ["a/b", "foo"] {
        fs::create_dir_all(sandbox.top().join(dir)).unwrap();
    }
    let mut paths = BTreeSet::new();
    for _ in 0..count {
        let names: Vec<_> = (0..1 + chance.below(4))
            .map(|_| chance.pick(NAMES))
            .collect();
        let path = names.join("/");
        let full = sandbox.top().join(&path);
        if chance.below(2) == 0 {
            fs::create_dir_all(&full).ok();
        } else if let Some(parent) = full.parent()
            && fs::create_dir_all(parent).is_ok()
            && !full.exists()
        {
            fs::write(&full, "").unwrap();
        }
        paths.insert(path);
    }
    paths
}

#[test]
fn decisions_are_those_of_git() {
    let mut chance = Chance::new(1);
    let sandbox = Sandbox::new();
    let paths = grow_tree(&sandbox, &mut chance, 300);
    let mut input = Vec::new();
    for path in &paths {
        input.extend_from_slice(path.as_bytes());
        input.push(0);
    }
    let mut decided = 0;
    for round in 0..20 {
        let ignore_case = round % 4 == 3;
        let mut files = BTreeMap::new();
        for dir in ["", "a", "a/b", "foo"] {
            let contents = pattern_file(&mut chance);
            sandbox.write(Path::new(dir).join(".gitignore"), &contents);
            files.insert(BString::from(dir), contents);
        }
        let (excludes, info) = (pattern_file(&mut chance), pattern_file(&mut chance));
        sandbox.write(".git/excludes", &excludes);
        sandbox.write(".git/info/exclude", &info);
        let mut arguments = vec!["-c", "core.excludesFile=.git/excludes"];
        if ignore_case {
            arguments.extend(["-c", "core.ignoreCase=true"]);
        }
        arguments.extend(["check-ignore", "-v", "-n", "-z", "--no-index", "--stdin"]);
        let output = sandbox.output("", &arguments, &input);
        let fields: Vec<_> = output.stdout.split(|&byte| byte == 0).collect();
        let told = output.stderr.as_bstr();
        assert_eq!(fields.len(), paths.len() * 4 + 1, "{told}");
        let root = IgnoreRules::root(GlobalSources {
            excludes_file: Some((Path::new(".git/excludes"), &excludes)),
            info_exclude: Some((Path::new(".git/info/exclude"), &info)),
            ignore_case,
        });
        for (fields, path) in fields.as_chunks::<4>().0.iter().zip(&paths) {
            assert_eq!(fields[3].as_bstr(), path.as_bytes().as_bstr());
            let expected: Verdict = (!fields[0].is_empty()).then(|| {
                let line = fields[1].to_str().unwrap().parse().unwrap();
                (fields[0].into(), line, fields[2].into())
            });
            let is_dir = fs::symlink_metadata(sandbox.top().join(path))
                .is_ok_and(|metadata| metadata.is_dir());
            let found = decision(&root, &files, path.as_bytes().as_bstr(), is_dir);
            decided += usize::from(found.is_some());
            assert_eq!(found, expected, "round {round}: {path:?}");
        }
    }
    assert!(decided > 1000, "the rules are too tame: {decided}");
}
