use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use super::{AttributeLookup, AttributeState, Error, Pathspec, Relation, Settings, parse};
use crate::ignore::{GlobalSources, IgnoreRules};
use vigil_testkit::chance::Chance;
use vigil_testkit::sandbox::Sandbox;

fn parsed(specs: &[&str], prefix: &str) -> Result<Pathspec, Error> {
    let specs: Vec<_> = specs.iter().map(|&spec| BString::from(spec)).collect();
    parse(
        &specs,
        prefix.into(),
        Some(Path::new("/top")),
        Settings::default(),
    )
}

/// No path has attributes.
struct NoAttributes;

impl AttributeLookup for NoAttributes {
    fn attribute(&self, _path: &BStr, _name: &BStr) -> AttributeState {
        AttributeState::Unspecified
    }
}

fn relation(specs: &[&str], dir: &str) -> Relation {
    let pathspec = parsed(specs, "").unwrap();
    pathspec.directory_relation(dir.into(), &NoAttributes)
}

#[test]
fn a_directory_is_related_as_documented() {
    assert_eq!(relation(&[], "d"), Relation::All);
    assert_eq!(relation(&["."], "d"), Relation::All);
    assert_eq!(relation(&["d"], "d"), Relation::All);
    assert_eq!(relation(&["d/"], "d"), Relation::All);
    assert_eq!(relation(&["d/"], "de"), Relation::Outside);
    assert_eq!(relation(&["d"], "de"), Relation::Outside);
    assert_eq!(relation(&["e", "d"], "d"), Relation::All);
    assert_eq!(relation(&[":(attr:!text)d"], "d"), Relation::Itself);
    assert_eq!(relation(&["d"], "d/e"), Relation::All);
    assert_eq!(relation(&["d/e"], "d"), Relation::LeadsInside);
    assert_eq!(relation(&[".", "d/e"], "d"), Relation::LeadsInside);
    assert_eq!(relation(&["*.c"], "d"), Relation::LeadsInside);
    assert_eq!(relation(&["d*"], "d"), Relation::Itself);
    assert_eq!(relation(&["e*"], "d"), Relation::Outside);
    assert_eq!(relation(&[".", ":!d/x"], "d"), Relation::Itself);
    assert_eq!(relation(&[".", ":!e"], "d"), Relation::All);
    assert_eq!(relation(&[":!d"], "d"), Relation::Outside);
    assert_eq!(relation(&[":!d?"], "d"), Relation::Outside);
    assert_eq!(relation(&[":!d"], "d/e"), Relation::Outside);
}

#[test]
fn the_common_prefix_is_a_directory() {
    let prefix =
        |specs: &[&str], prefix: &str| parsed(specs, prefix).unwrap().common_prefix().to_string();
    assert_eq!(prefix(&[], "d/"), "");
    assert_eq!(prefix(&["d/e/f", "d/e/g"], ""), "d/e/");
    assert_eq!(prefix(&["d/e/*", "d/ef"], ""), "d/");
    assert_eq!(prefix(&["e/f", ":!x"], "d/"), "d/e/");
    assert_eq!(prefix(&[":!x", "e/f"], "d/"), "");
    assert_eq!(prefix(&[":(icase)e/f"], "d/"), "d/");
    assert_eq!(prefix(&["../e/f"], "d/"), "e/");
    assert_eq!(prefix(&["/top/e/f"], "d/"), "e/");
}

#[test]
fn attributes_are_asked_for() {
    struct Texts;
    impl AttributeLookup for Texts {
        fn attribute(&self, path: &BStr, name: &BStr) -> AttributeState {
            match (name.as_bytes(), path.ends_with(b".txt")) {
                (b"text", true) => AttributeState::Set,
                (b"eol", true) => AttributeState::Value("lf".into()),
                _ => AttributeState::Unspecified,
            }
        }
    }
    let matches = |spec: &str, path: &str| {
        let pathspec = parsed(&[spec], "").unwrap();
        assert!(pathspec.uses_attributes());
        pathspec.matches(path.into(), false, &Texts)
    };
    assert!(matches(":(attr:text)", "d/a.txt"));
    assert!(!matches(":(attr:text)", "d/a.c"));
    assert!(!matches(":(attr:-text)", "d/a.txt"));
    assert!(matches(":(attr:!text)", "d/a.c"));
    assert!(matches(":(attr:text eol=lf)d", "d/a.txt"));
    assert!(!matches(":(attr:text eol=crlf)d", "d/a.txt"));
    assert!(matches(":(attr:eol=l\\f)", "d/a.txt"));
    assert!(
        !parsed(&[":(attr:text)"], "")
            .unwrap()
            .matches("a.txt".into(), false, &NoAttributes)
    );
}

#[test]
fn settings_hold_for_all() {
    let environment = |pairs: &[(&str, &str)]| {
        let value = |name: &str| pairs.iter().find(|(known, _)| *known == name);
        Settings::from_variables(|name| value(name).map(|(_, value)| (*value).into()))
    };
    let matches = |pairs: &[(&str, &str)], spec: &str, path: &str| {
        parse(&[spec.into()], "".into(), None, environment(pairs)?)
            .map(|pathspec| pathspec.matches(path.into(), false, &NoAttributes))
    };
    let literal = [("GIT_LITERAL_PATHSPECS", "1")];
    assert!(matches(&literal, ":!a", ":!a").unwrap());
    assert!(matches(&literal, ":(top)a", ":(top)a").unwrap());
    assert!(!matches(&literal, "a*", "ab").unwrap());
    assert!(matches(&[("GIT_LITERAL_PATHSPECS", "off")], "a*", "ab").unwrap());
    assert!(!matches(&[("GIT_GLOB_PATHSPECS", "yes")], "a*b", "a/b").unwrap());
    assert!(matches(&[("GIT_ICASE_PATHSPECS", "true")], "a*b", "A/B").unwrap());
    assert!(!matches(&[("GIT_NOGLOB_PATHSPECS", "2")], "a*b", "a/b").unwrap());
    assert!(matches(&[("GIT_NOGLOB_PATHSPECS", "2")], ":(glob)a*b", "axb").unwrap());
    for (pairs, text) in [
        (
            [("GIT_GLOB_PATHSPECS", "1"), ("GIT_NOGLOB_PATHSPECS", "1")],
            "global 'glob' and 'noglob' pathspec settings are incompatible",
        ),
        (
            [("GIT_LITERAL_PATHSPECS", "1"), ("GIT_ICASE_PATHSPECS", "1")],
            "global 'literal' pathspec setting is incompatible with all other global pathspec settings",
        ),
        (
            [
                ("GIT_LITERAL_PATHSPECS", "maybe"),
                ("GIT_ICASE_PATHSPECS", "1"),
            ],
            "bad boolean environment value 'maybe' for 'GIT_LITERAL_PATHSPECS'",
        ),
    ] {
        assert_eq!(matches(&pairs, "a", "a").unwrap_err().to_string(), text);
    }
}

#[test]
fn errors_in_pathspecs_are_reported_as_by_git() {
    let sandbox = Sandbox::new();
    sandbox.write("d/file", "");
    let top = sandbox.top().canonicalize().unwrap();
    let inside = top.join("d/file");
    for spec in [
        "",
        "../..",
        "../../x",
        "/",
        "/nowhere/x",
        "/nowhere",
        "/dev/null/x",
        "/..",
        ":(literal)../../x",
        ":%a",
        ":@",
        ":a",
        "::",
        ":",
        ":/",
        ":(top",
        ":(",
        ":()",
        ":(top,)a",
        ":(bogus)a",
        ":(top,bo\\,gus)a",
        ":(literal,glob)a",
        ":(prefix:x)a",
        ":(prefix:)a",
        ":(attr:)a",
        ":(attr:a,attr:b)a",
        ":(attr:a=b c)a",
        ":(attr:a=b-c_d\\,e)a",
        ":(attr:a=b%)a",
        ":(attr:a=b\\",
        ":(attr:a=\\)",
        ":(attr:-)a",
        ":(attr:a b!)a",
        ":(attr)a",
        inside.to_str().unwrap(),
    ] {
        let subdirectory = if spec.contains("prefix") { "" } else { "d" };
        let prefix = if subdirectory.is_empty() { "" } else { "d/" };
        let output = sandbox.output(subdirectory, ["status", "--porcelain", "--", spec], b"");
        let ours = parse(
            &[spec.into()],
            prefix.into(),
            Some(&top),
            Settings::default(),
        );
        match ours {
            Ok(_) => assert!(
                output.status.success(),
                "{spec:?}: {}",
                output.stderr.as_bstr()
            ),
            Err(error) => {
                assert_eq!(
                    format!("fatal: {error}\n").as_bytes().as_bstr(),
                    output.stderr.as_bstr(),
                    "{spec:?}"
                );
                assert_eq!(output.status.code(), Some(128), "{spec:?}");
            }
        }
    }
}

#[test]
fn links_lead_into_the_working_tree() {
    let sandbox = Sandbox::new();
    sandbox.write("d/file", "");
    let top = sandbox.top().canonicalize().unwrap();
    let link = top.parent().unwrap().join("link");
    std::os::unix::fs::symlink(&top, &link).unwrap();
    let prefix = |path: &Path| {
        let spec = BString::from(path.to_str().unwrap());
        let pathspec = parse(&[spec], "".into(), Some(&top), Settings::default()).unwrap();
        pathspec.items.first().unwrap().pattern.to_string()
    };
    assert_eq!(prefix(&link.join("d/../d//file")), "d/file");
    assert_eq!(prefix(&link), "");
    assert_eq!(prefix(&top), "");
}

const NAMES: &[&str] = &["a", "b", "ab", "A", "foo", "x.c", "y.c", "z.o", "a*"];

/// A walk for untracked files by the rules that the module documents.
struct Walk<'a> {
    top: &'a Path,
    tracked: &'a BTreeSet<String>,
    ignored: &'a IgnoreRules,
    pathspec: &'a Pathspec,
    shows_all: bool,
}

impl Walk<'_> {
    fn start(&self) -> Vec<String> {
        let prefix = self.pathspec.common_prefix().to_string();
        let mut found = Vec::new();
        for (slash, _) in prefix.match_indices('/') {
            let dir = &prefix[..slash];
            let is_special = dir
                .rsplit('/')
                .next()
                .is_some_and(|name| [".", "..", ".git"].contains(&name));
            let is_dir = fs::symlink_metadata(self.top.join(dir)).is_ok_and(|it| it.is_dir());
            if is_special || !is_dir || !self.enters(dir, &mut found) {
                return found;
            }
        }
        self.list(prefix.trim_end_matches('/'), &mut found);
        found
    }

    /// Reports the directory, or returns that its contents have to be examined.
    fn enters(&self, dir: &str, found: &mut Vec<String>) -> bool {
        let path = BStr::new(dir);
        if !self.pathspec.may_match_at_or_below(path) || self.ignored.is_ignored(path, true) {
            return false;
        }
        if self.tracked.contains(dir) {
            return false;
        }
        let below = format!("{dir}/");
        if self
            .tracked
            .iter()
            .any(|tracked| tracked.starts_with(&below))
        {
            return true;
        }
        match self.pathspec.directory_relation(path, &NoAttributes) {
            Relation::Outside => false,
            Relation::LeadsInside => true,
            relation => {
                let mut inside = Vec::new();
                self.list(dir, &mut inside);
                if relation == Relation::All {
                    self.assert_all_match(&below);
                }
                if self.shows_all {
                    found.append(&mut inside);
                } else if !inside.is_empty() {
                    found.push(below);
                }
                false
            }
        }
    }

    fn assert_all_match(&self, dir: &str) {
        for entry in fs::read_dir(self.top.join(dir)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{dir}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                self.assert_all_match(&(path + "/"));
            } else {
                assert!(
                    self.pathspec
                        .matches(path.as_str().into(), false, &NoAttributes),
                    "{path}"
                );
            }
        }
    }

    fn list(&self, dir: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(self.top.join(dir)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = match dir {
                "" => name.clone(),
                _ => format!("{dir}/{name}"),
            };
            if name == ".git" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                if self.enters(&path, found) {
                    self.list(&path, found);
                }
            } else if !self.tracked.contains(&path)
                && self.pathspec.may_match_at_or_below(path.as_str().into())
                && !self.ignored.is_ignored(path.as_str().into(), false)
                && self
                    .pathspec
                    .matches(path.as_str().into(), false, &NoAttributes)
            {
                found.push(path);
            }
        }
    }
}

fn spec(chance: &mut Chance) -> String {
    const MAGIC: &[&str] = &[
        "",
        "",
        "",
        "",
        "",
        ":/",
        ":!",
        ":^",
        ":!/",
        ":(icase)",
        ":(glob)",
        ":(literal)",
        ":(top)",
        ":(top,glob)",
        ":(exclude,icase)",
        ":(exclude,glob)",
        ":(glob,icase)",
        ":(attr:some)",
        ":(attr:!some,exclude)",
    ];
    const WHOLE: &[&str] = &[
        ".", "*", "*.c", "..", "../*", "./", "a/", "**/x.c", "**", "*/", "a/*/b", "a/**", "?",
        "[a]*", "sub", "sub/", "sub/x", "sub/x/", "x.c/", "a/..", "a//b", "*a", "a?", "ab?",
        "b/?*",
    ];
    const PIECES: &[&str] = &[
        "a", "b", "ab", "A", "foo", "x.c", "*", "?", "**", "[ab]", "\\a", "*.c", "a\\*", "f*",
    ];
    let mut spec = String::from(chance.pick(MAGIC));
    if chance.below(3) == 0 {
        return spec + chance.pick(WHOLE);
    }
    spec += chance.pick(&["", "", "", "../", "./"]);
    for component in 0..1 + chance.below(3) {
        if component > 0 {
            spec += "/";
        }
        spec += chance.pick(PIECES);
    }
    spec + chance.pick(&["", "", "", "/", "*"])
}

#[test]
fn status_is_that_of_git() {
    let mut chance = Chance::new(7);
    let sandbox = Sandbox::new();
    let ignore_file = "*.o\nb/foo/\n";
    sandbox.write(".gitignore", ignore_file);
    let mut tracked = BTreeSet::from([".gitignore".to_owned()]);
    for dir in ["a/b", "foo", "sub"] {
        fs::create_dir_all(sandbox.top().join(dir)).unwrap();
    }
    for _ in 0..150 {
        let names: Vec<_> = (0..1 + chance.below(4))
            .map(|_| chance.pick(NAMES))
            .collect();
        let path = names.join("/");
        let full = sandbox.top().join(&path);
        if fs::create_dir_all(full.parent().unwrap()).is_ok() && !full.exists() {
            fs::write(full, "").unwrap();
            if chance.below(4) == 0 && !path.starts_with("foo") {
                tracked.insert(path);
            }
        }
    }
    let mut input = Vec::new();
    for path in &tracked {
        input.extend_from_slice(path.as_bytes());
        input.push(0);
    }
    let add = ["update-index", "--add", "-z", "--stdin"];
    assert!(sandbox.output("", add, &input).status.success());
    let link = "160000,1234567890123456789012345678901234567890,sub";
    sandbox.git(["update-index", "--add", "--cacheinfo", link]);
    tracked.insert("sub".to_owned());

    let top = sandbox.top().canonicalize().unwrap();
    let ignored =
        IgnoreRules::root(GlobalSources::default()).with_file("".into(), ignore_file.as_bytes());
    let (mut reported, mut refused) = (0, 0);
    for _ in 0..120 {
        let prefix = chance.pick(&["", "", "a/", "a/b/", "foo/"]);
        let specs: Vec<_> = (0..1 + chance.below(3))
            .map(|_| spec(&mut chance))
            .collect();
        let byte_specs: Vec<_> = specs
            .iter()
            .map(|spec| BString::from(spec.as_str()))
            .collect();
        let pathspec = parse(&byte_specs, prefix.into(), Some(&top), Settings::default());
        for shows_all in [false, true] {
            let untracked = if shows_all { "-uall" } else { "-unormal" };
            let mut arguments = vec!["status", "--porcelain", "-z", untracked, "--"];
            arguments.extend(specs.iter().map(String::as_str));
            let output = sandbox.output(prefix, &arguments, b"");
            let pathspec = match &pathspec {
                Ok(pathspec) => pathspec,
                Err(error) => {
                    refused += 1;
                    let text = format!("fatal: {error}\n");
                    assert_eq!(output.stderr.as_bstr(), text.as_bytes().as_bstr());
                    continue;
                }
            };
            let walk = Walk {
                top: &top,
                tracked: &tracked,
                ignored: &ignored,
                pathspec,
                shows_all,
            };
            let mut found: BTreeSet<_> = walk
                .start()
                .into_iter()
                .map(|path| format!("?? {path}"))
                .collect();
            let meant = tracked.iter().filter(|&path| {
                pathspec.matches(path.as_str().into(), path == "sub", &NoAttributes)
            });
            found.extend(meant.map(|path| format!("A  {path}")));
            let expected: BTreeSet<_> = output
                .stdout
                .split(|&byte| byte == 0)
                .filter(|record| !record.is_empty())
                .map(|record| record.to_str().unwrap().to_owned())
                .collect();
            reported += found.len();
            assert_eq!(found, expected, "{prefix:?} {untracked} {specs:?}");
        }
    }
    assert!(
        reported > 1000 && refused > 0,
        "too tame: {reported}, {refused}"
    );
}
