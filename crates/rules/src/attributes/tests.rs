//! Lookups against `git check-attr`.

use std::os::unix::fs::symlink;

use super::*;
use std::ffi::{OsStr, OsString};
use vigil_testkit::chance::Chance;
use vigil_testkit::sandbox::Sandbox;

const NAMES: [&str; 6] = ["text", "eol", "binary", "diff", "m", "x"];

/// A repository, which also serves as the source of recorded attributes.
pub(crate) struct Fixture(Sandbox);

vigil_testkit::wraps_a_sandbox!(Fixture);

impl Fixture {
    pub(crate) fn new() -> Self {
        Self(Sandbox::new())
    }

    pub(crate) fn blobs(&self) -> Blobs {
        Blobs {
            index: Arc::new(BlobsOfIndex(self.path(""))),
            tree: None,
        }
    }
}

/// Reads the index through git.
struct BlobsOfIndex(PathBuf);

impl IndexBlobs for BlobsOfIndex {
    fn blob(&self, path: &BStr) -> Option<Vec<u8>> {
        let object = OsString::from_iter([OsStr::new(":0:"), OsStr::from_bytes(path)]);
        let mut git = std::process::Command::new("git");
        let git = git
            .current_dir(&self.0)
            .args(["cat-file", "blob"])
            .arg(object);
        let output = git.output().unwrap();
        output.status.success().then_some(output.stdout)
    }
}

impl Fixture {
    fn attributes(&self, fold_case: bool) -> Attributes {
        let files = AttributeFiles {
            work_tree: Some(self.path("")),
            info_file: self.path(".git/info/attributes"),
            info_origin: ".git/info/attributes".into(),
            user_file: Some(self.path("../home/.config/git/attributes")),
            system_file: None,
            fold_case,
        };
        Attributes::new(files, self.blobs(), Arc::default())
    }

    /// git's output for all `paths`, and its standard error.
    fn check_attr(&self, paths: &[String]) -> (Vec<Vec<Value>>, Vec<u8>) {
        let arguments = [&["check-attr", "-z", "--stdin"][..], &NAMES].concat();
        let output = self.output("", arguments, paths.join("\0"));
        let fields: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
        let values: Vec<Value> = fields
            .as_chunks::<3>()
            .0
            .iter()
            .map(|fields| match fields[2] {
                b"unspecified" => Value::Unspecified,
                b"set" => Value::Set,
                b"unset" => Value::Unset,
                text => Value::Text(text.into()),
            })
            .collect();
        assert_eq!(
            values.len(),
            paths.len() * NAMES.len(),
            "{:?}",
            output.stderr.as_bstr()
        );
        let rows = values.chunks(NAMES.len()).map(<[Value]>::to_vec).collect();
        (rows, output.stderr)
    }

    fn assert_same(&self, attributes: &Attributes, paths: &[&str]) {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let (rows, stderr) = self.check_attr(&paths);
        for (path, row) in paths.iter().zip(rows) {
            let ours = attributes.lookup(path.as_str().into(), NAMES);
            assert_eq!(ours.to_vec(), row, "{path}");
        }
        let output: Vec<u8> = attributes
            .messages
            .take()
            .iter()
            .flat_map(|line| [line.as_slice(), b"\n"].concat())
            .collect();
        assert_eq!(output.as_bstr(), stderr.as_bstr());
    }
}

/// Whether a component of the line's pattern has `**` and something else.
fn has_joined_stars(line: &str) -> bool {
    line.split([' ', '/'])
        .any(|part| part.contains("**") && part != "**")
}

#[test]
fn each_state_has_the_line_that_gives_it() {
    let fixture = Fixture::new();
    fixture.write(
        ".gitattributes",
        "\u{feff}*.c text\n# more\n[attr]m x=1 diff\n*.c m\n",
    );
    fixture.write("dir/.gitattributes", "\n*.c -text\na.c !eol\n");
    fixture.write(".git/info/attributes", "a.* binary\n");
    let attributes = fixture.attributes(false);
    let places = |path: &str, names: &[&str]| -> Vec<Option<String>> {
        let found = attributes.lookup_with_origins(path.into(), names);
        let place = |(_, place): (Value, Origin)| format!("{}:{}", place.file, place.line);
        found.into_iter().map(|found| found.map(place)).collect()
    };
    let some = |place: &str| Some(place.to_owned());
    assert_eq!(
        places("b.c", &["text", "m", "x", "eol"]),
        [
            some(".gitattributes:1"),
            some(".gitattributes:4"),
            some(".gitattributes:4"),
            None
        ]
    );
    assert_eq!(
        places("dir/b.c", &["text", "diff", "eol"]),
        [some("dir/.gitattributes:2"), some(".gitattributes:4"), None]
    );
    assert_eq!(
        places("dir/a.c", &["text", "diff", "eol"]),
        [
            some(".git/info/attributes:1"),
            some(".git/info/attributes:1"),
            some("dir/.gitattributes:3")
        ]
    );
    for path in ["b.c", "dir/b.c", "dir/a.c", "none"] {
        let with_places = attributes.lookup_with_origins(path.into(), &NAMES);
        let values: Vec<Value> = with_places
            .into_iter()
            .map(|found| found.map(|(value, _)| value).unwrap_or_default())
            .collect();
        assert_eq!(values, attributes.lookup(path.into(), NAMES), "{path}");
    }
}

#[test]
fn random_patterns_match_as_in_git() {
    let parts = [
        "a",
        "b",
        "A",
        "/",
        "/",
        "*",
        "**",
        "**/",
        "/**",
        "?",
        "[ab]",
        "[!a]",
        "[a-b]",
        "[A]",
        "[",
        "]",
        "\\",
        "\\a",
        "-",
        "[[:upper:]]",
        "[]-a]",
        "!",
        "[\\a-b]",
        "[a",
        ":]",
        "[B-a]",
        "**/",
        "/**/",
    ];
    let names = ["a", "b", "A", "B", "ab", "-", "]", "[", "ba", "*", "\\"];
    for fold_case in [false, true] {
        let mut random = Chance::new(0x5eed_1234_9876 + u64::from(fold_case));
        let fixture = Fixture::new();
        let value = if fold_case { "true" } else { "false" };
        fixture.git(["config", "core.ignorecase", value]);
        for at in 0..16 {
            let mut lines = String::new();
            for number in 0..120 {
                let pattern = random.text(&parts, 6).replace('"', "");
                let attribute = random.pick(&["text", "diff", "m", "x"]);
                lines += &format!("{pattern} {attribute}={number}\n");
            }
            // Negated lines are no patterns, and older versions of git let `**` match across directories
            // where it is not a whole component.
            let lines: String = lines
                .lines()
                .filter(|line| !line.starts_with('!') && !has_joined_stars(line))
                .map(|line| format!("{line}\n"))
                .collect();
            fixture.write(
                if at % 2 == 0 {
                    ".gitattributes"
                } else {
                    "a/.gitattributes"
                },
                lines,
            );
            let paths: Vec<String> = (0..40)
                .map(|_| {
                    (0..=random.below(3))
                        .map(|_| random.pick(&names))
                        .collect::<Vec<_>>()
                        .join("/")
                })
                .collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            fixture.assert_same(&fixture.attributes(fold_case), &paths);
        }
    }
}

#[test]
fn attribute_sources_macros_and_states_have_gits_precedence() {
    let states = [
        "text",
        "-text",
        "!text",
        "text=auto",
        "eol=lf",
        "eol=",
        "binary",
        "-binary",
        "!binary",
        "diff",
        "-diff",
        "m",
        "-m",
        "!m",
        "m=v",
        "x",
        "x=1",
        "-x",
        "!x",
    ];
    let patterns = ["*", "*.c", "a", "d/*", "/a", "d/", "\"a\"", "e/**", "b.c"];
    let paths = ["a", "b.c", "d/a", "d/b.c", "d/e/a", "d/e/b.c", "d/", "e/x"];
    let mut random = Chance::new(77);
    let fixture = Fixture::new();
    let attributes = fixture.attributes(false);
    for _ in 0..40 {
        for place in [
            ".gitattributes",
            "d/.gitattributes",
            "d/e/.gitattributes",
            ".git/info/attributes",
            "../home/.config/git/attributes",
        ] {
            let mut lines = String::new();
            for _ in 0..random.below(4) {
                if random.below(4) == 0 && !place.starts_with("d/") {
                    let name = random.pick(&["m", "x", "binary"]);
                    let meaning =
                        random.pick(&["x", "-x", "m", "text=1 -diff", "-m x", "binary", ""]);
                    lines += &format!("[attr]{name} {meaning}\n");
                }
                lines += random.pick(&patterns);
                for _ in 0..=random.below(2) {
                    lines += " ";
                    lines += random.pick(&states);
                }
                lines += random.pick(&["\n", "\r\n", " \n", "\n\n# x\n"]);
            }
            let path = fixture.path(place);
            let _ = std::fs::remove_file(&path);
            if random.below(3) > 0 {
                fixture.write(place, lines);
            }
        }
        // One long-lived value sees the files of each round.
        attributes.refresh(fixture.blobs());
        fixture.assert_same(&attributes, &paths);
    }
}

#[test]
fn odd_files_are_read_and_complained_of_as_in_git() {
    let fixture = Fixture::new();
    let mut odd = b"\xef\xbb\xbf*.c text\n".to_vec();
    odd.extend_from_slice(b"!a text\n a$ -text\na b$ c\n[attr]ok -x\na ok\n");
    odd.extend_from_slice(b"b text\0 binary\n\"b c\" x=1\n\"b\\141\" x=2\n\"open x\n");
    odd.extend_from_slice(format!("b {} x\n", "y=".to_owned() + &"z".repeat(2041)).as_bytes());
    odd.extend_from_slice(format!("b {} x\n", "y=".to_owned() + &"z".repeat(2040)).as_bytes());
    odd.extend_from_slice(b"z --x\nz =\nz -\nlast m=no-line-feed");
    fixture.write(".gitattributes", odd);
    fixture.write("d/.gitattributes", "[attr]m x\n\"[attr]m\" x\n* x=5\n");
    let paths = ["x.c", "a", "b", "b c", "ba", "\"open", "z", "last", "d/a"];
    fixture.assert_same(&fixture.attributes(false), &paths);

    // A directory is a file without lines, a symbolic link is not followed.
    std::fs::remove_file(fixture.path(".gitattributes")).unwrap();
    std::fs::create_dir(fixture.path(".gitattributes")).unwrap();
    std::fs::rename(fixture.path("d/.gitattributes"), fixture.path("d/real")).unwrap();
    symlink("real", fixture.path("d/.gitattributes")).unwrap();
    fixture.assert_same(&fixture.attributes(false), &paths);
}

#[test]
fn the_index_stands_in_for_a_missing_file() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* x=top\n[attr]m x=macro\n");
    fixture.write("d/.gitattributes", "a m text\n\0b -text\n");
    fixture.git(["add", "."]);
    std::fs::remove_file(fixture.path(".gitattributes")).unwrap();
    std::fs::remove_file(fixture.path("d/.gitattributes")).unwrap();
    let attributes = fixture.attributes(false);
    fixture.assert_same(&attributes, &["a", "d/a", "d/b"]);

    fixture.write("d/.gitattributes", "* x=file\n");
    // Until a refresh, answers stay as they were.
    assert_eq!(
        attributes.lookup("d/b".into(), ["x"]),
        [Value::Text("top".into())]
    );
    attributes.refresh(fixture.blobs());
    fixture.assert_same(&attributes, &["a", "d/a", "d/b"]);

    std::fs::remove_file(fixture.path("d/.gitattributes")).unwrap();
    fixture.git(["rm", "-q", "--cached", ".gitattributes"]);
    attributes.refresh(fixture.blobs());
    fixture.assert_same(&attributes, &["a", "d/a", "d/b"]);
}

#[test]
fn threads_agree() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* x\n!no x\n");
    let attributes = fixture.attributes(false);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for at in 0..200 {
                    let path = format!("{}/{}/f", at % 7, at % 5);
                    assert_eq!(attributes.lookup(path.as_str().into(), ["x"]), [Value::Set]);
                }
            });
        }
    });
    assert_eq!(attributes.messages.take().len(), 1);
}

/// Blobs made up by a test.
struct FixedBlobs(&'static str, &'static str);

impl IndexBlobs for FixedBlobs {
    fn blob(&self, path: &BStr) -> Option<Vec<u8>> {
        (path == self.0).then(|| self.1.into())
    }
}

#[test]
fn a_tree_takes_the_place_of_files_and_index() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* x=file text\n");
    fixture.write(".git/info/attributes", "* diff\n");
    let attributes = fixture.attributes(false);
    attributes.refresh(Blobs {
        tree: Some(Arc::new(FixedBlobs("d/.gitattributes", "* x=tree\n"))),
        ..fixture.blobs()
    });
    let names = ["x", "text", "diff"];
    let unspecified = Value::Unspecified;
    assert_eq!(
        attributes.lookup("d/f".into(), names),
        [Value::Text("tree".into()), unspecified.clone(), Value::Set]
    );
    assert_eq!(
        attributes.lookup("f".into(), names),
        [unspecified.clone(), unspecified, Value::Set]
    );
}
