//! Conversions against `git status` and `git hash-object`.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use gix_hash::Kind;

use super::*;
use crate::git::attributes::fixture::{Fixture, Random};

impl Fixture {
    /// Settings without configuration, with `drivers` configured in git too.
    fn settings(&self, drivers: &[(&str, Driver)]) -> Settings {
        let drivers = drivers
            .iter()
            .map(|(name, driver)| {
                let set = |key: &str, value: Option<&BString>| {
                    let key = format!("filter.{name}.{key}");
                    if let Some(value) = value {
                        self.run(["config", &key, &value.to_string()]);
                    }
                };
                set("clean", driver.clean.as_ref());
                set("process", driver.process.as_ref());
                set("required", driver.required.then(|| "true".into()).as_ref());
                (BString::from(*name), driver.clone())
            })
            .collect();
        let variables = ["PATH", "HOME"].map(|name| {
            let value = match name {
                "HOME" => self.path("home").into_os_string(),
                _ => std::env::var_os(name).unwrap(),
            };
            (name.into(), value.as_bytes().into())
        });
        Settings {
            hash: Kind::Sha1,
            auto_crlf: AutoCrlf::False,
            eol_crlf: false,
            warns_of_loss: true,
            drivers,
            surroundings: Surroundings {
                directory: self.path(""),
                variables: variables.into(),
                stderr: FilterStderr::Discard,
            },
        }
    }

    fn converter(&self, settings: Settings) -> Converter {
        let places = crate::git::attributes::Settings {
            work_tree: Some(self.path("")),
            info_file: self.path(".git/info/attributes"),
            info_origin: ".git/info/attributes".into(),
            ..Default::default()
        };
        let attributes = Attributes::new(places, self.blobs(), Arc::default());
        Converter::new(settings, Arc::new(attributes))
    }

    /// Records `contents` as they are, without stat facts: only the contents decide.
    fn record(&self, files: &[(String, Vec<u8>)]) -> Vec<ObjectId> {
        let mut lines = Vec::new();
        let ids: Vec<ObjectId> = files
            .iter()
            .map(|(path, contents)| {
                let id = hash::hash(Kind::Sha1, contents);
                lines.extend_from_slice(format!("100644 {id} 0\t{path}\n").as_bytes());
                id
            })
            .collect();
        let scratch = tempfile::tempdir().unwrap();
        let mut names = Vec::new();
        for (at, (_, contents)) in files.iter().enumerate() {
            let path = scratch.path().join(at.to_string());
            std::fs::write(&path, contents).unwrap();
            names.extend_from_slice(path.as_os_str().as_bytes());
            names.push(b'\n');
        }
        self.feed(
            ["hash-object", "-w", "--no-filters", "--stdin-paths"],
            &names,
        );
        self.run(["read-tree", "--empty"]);
        self.feed(["update-index", "--index-info"], &lines);
        ids
    }

    fn feed<const N: usize>(&self, arguments: [&str; N], input: &[u8]) -> Vec<u8> {
        let mut child = self
            .git(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        output.stdout
    }

    /// The paths that git finds modified, and what it says. Its "fatal: " line comes as an error.
    fn status(&self) -> Result<(BTreeSet<String>, BTreeSet<String>), String> {
        let output = self
            .git(["--no-optional-locks", "status", "--porcelain", "-uno", "-z"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if let Some(fatal) = said.lines().find_map(|line| line.strip_prefix("fatal: ")) {
            return Err(fatal.to_owned());
        }
        assert!(output.status.success(), "{said}");
        let modified = output
            .stdout
            .split(|byte| *byte == 0)
            .filter(|line| line.get(1) == Some(&b'M'))
            .map(|line| String::from_utf8_lossy(&line[3..]).into_owned())
            .collect();
        // git looks at a modified file twice.
        Ok((modified, said.lines().map(str::to_owned).collect()))
    }

    /// What `converter` finds, in the same form.
    fn ours(
        &self,
        converter: &Converter,
        files: &[(String, Vec<u8>)],
        ids: &[ObjectId],
    ) -> Result<(BTreeSet<String>, BTreeSet<String>), String> {
        let mut modified = BTreeSet::new();
        for ((path, _), id) in files.iter().zip(ids) {
            let file = File::open(self.path(path)).unwrap();
            let size = file.metadata().unwrap().len();
            let unchanged = converter
                .is_unchanged(path.as_str().into(), &file, size, id)
                .map_err(|error| error.to_string())?;
            if !unchanged {
                modified.insert(path.clone());
            }
        }
        let said = converter.messages.take();
        let said = said.iter().flat_map(|line| {
            let line = line.to_string();
            line.lines().map(str::to_owned).collect::<Vec<_>>()
        });
        Ok((modified, said.collect()))
    }
}

fn utf16(text: &str, big: bool, mark: bool) -> Vec<u8> {
    let mark = if mark { "\u{feff}" } else { "" };
    mark.encode_utf16()
        .chain(text.encode_utf16())
        .flat_map(|unit| {
            if big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        })
        .collect()
}

fn utf32(text: &str, mark: bool) -> Vec<u8> {
    let mark = if mark { "\u{feff}" } else { "" };
    mark.chars()
        .chain(text.chars())
        .flat_map(|c| u32::from(c).to_le_bytes())
        .collect()
}

/// A form in which `text` might be in the working tree.
fn variant(random: &mut Random, text: &str) -> Vec<u8> {
    let crlf = text.replace("\r\n", "\n").replace('\n', "\r\n");
    match random.below(10) {
        0 => text.into(),
        1 | 2 => crlf.into(),
        3 => text.replace("\r\n", "\n").into(),
        4 => text.replace("$Id$", "$Id: 0123 $").into(),
        5 => utf16(text, random.below(2) == 0, random.below(2) == 0),
        6 => utf16(&crlf, random.below(2) == 0, true),
        7 => utf32(text, random.below(2) == 0),
        8 => text.chars().map(|c| c as u8).collect(),
        _ => text.replacen('a', "b", 1).into(),
    }
}

#[test]
fn random_contents_convert_as_in_git() {
    let parts = [
        "a",
        "line of text",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\r\n",
        "\r",
        "\0",
        "$Id$",
        "$Id$\n",
        "$Id: x$",
        "$Id: y\n",
        "\x1a",
        "é",
        "\x01",
        "\x7f",
    ];
    let words = [
        "text",
        "-text",
        "text=auto",
        "text=auto",
        "text=input",
        "text=x",
        "!text",
        "crlf",
        "-crlf",
        "crlf=input",
        "eol=lf",
        "eol=crlf",
        "eol",
        "ident",
        "-ident",
        "binary",
        "working-tree-encoding=UTF-16",
        "working-tree-encoding=utf-16le",
        "working-tree-encoding=UTF16BE",
        "working-tree-encoding=UTF-16LE-BOM",
        "working-tree-encoding=UTF-32",
        "working-tree-encoding=UTF-32LE",
        "working-tree-encoding=latin-1",
        "working-tree-encoding=utf8",
        "working-tree-encoding=SHIFT-JIS",
        "working-tree-encoding=none-such",
        "-working-tree-encoding",
        "working-tree-encoding=",
        "filter=none",
    ];
    let mut random = Random(0xc0de);
    let fixture = Fixture::new();
    for round in 0..12 {
        let auto_crlf = [AutoCrlf::False, AutoCrlf::True, AutoCrlf::Input][round % 3];
        let value = ["false", "true", "input"][round % 3];
        fixture.run(["config", "core.autocrlf", value]);
        let mut lines = String::new();
        let mut files = Vec::new();
        for at in 0..24 {
            let path = format!("f{at}");
            lines += &path;
            for _ in 0..random.below(4) {
                lines += " ";
                lines += random.pick(&words);
            }
            lines += "\n";
            let text = random.text(&parts, 12);
            fixture.write(&path, variant(&mut random, &text));
            files.push((path, text.into_bytes()));
        }
        fixture.write(".gitattributes", lines);
        let ids = fixture.record(&files);
        let converter = fixture.converter(Settings {
            auto_crlf,
            ..fixture.settings(&[])
        });
        let ours = fixture.ours(&converter, &files, &ids);
        assert_eq!(ours, fixture.status(), "round {round}");

        // Ids without an index; hash-object does not read it either.
        fixture.run(["read-tree", "--empty"]);
        let names: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        let hashed = fixture.feed(
            ["hash-object", "--stdin-paths"],
            names.join("\n").as_bytes(),
        );
        for (path, id) in names.iter().zip(String::from_utf8(hashed).unwrap().lines()) {
            let file = File::open(fixture.path(path)).unwrap();
            let size = file.metadata().unwrap().len();
            let ours = converter.hash_file((*path).into(), &file, size).unwrap();
            assert_eq!(ours.to_string(), id, "{path} in round {round}");
            let contents = converter.read_file((*path).into(), &file, size).unwrap();
            assert_eq!(hash::hash(Kind::Sha1, &contents), ours);
        }
    }
}

fn command(clean: &str) -> Driver {
    Driver {
        clean: Some(clean.into()),
        ..Driver::default()
    }
}

fn required(driver: Driver) -> Driver {
    Driver {
        required: true,
        ..driver
    }
}

#[test]
fn clean_commands_run_as_in_git() {
    let upper = "tr a-z A-Z";
    let cases: [(&str, Driver, &[u8]); 17] = [
        ("works", command(upper), b"HELLO\n"),
        ("works-required", required(command(upper)), b"HELLO\n"),
        ("differs", command("tr a-z b-za"), b"hello\n"),
        ("fails", command("tr a-z A-Z; exit 3"), b"hello\n"),
        ("dies", command("kill -9 $$"), b"hello\n"),
        ("silent", command("cat >/dev/null"), b""),
        ("closes", command("exec <&-; echo HELLO"), b"HELLO\n"),
        ("reads-nothing", command("echo HELLO"), b"HELLO\n"),
        ("missing", command("no-such-program"), b"hello\n"),
        ("missing-in-shell", command("no-such-program x"), b"hello\n"),
        ("plain-program", command("cat"), b"hello\n"),
        (
            "named it's",
            command("cat >/dev/null; echo %f %% %x"),
            b"named it's % %x\n",
        ),
        (
            "where",
            command("cat >/dev/null; test -d .git && echo $GIT_PREFIX here"),
            b"here\n",
        ),
        ("empty-command", command(""), b"hello\n"),
        (
            "empty-process",
            Driver {
                process: Some("".into()),
                ..command(upper)
            },
            b"hello\n",
        ),
        ("then-text", command("printf 'a\\r\\n$Id: x$'"), b"a\n$Id$"),
        ("then-encoding", command("printf 'a\\0b\\0'"), b"ab"),
    ];
    let fixture = Fixture::new();
    let mut lines = String::new();
    let mut files = Vec::new();
    let mut drivers = Vec::new();
    for (at, (path, driver, recorded)) in cases.into_iter().enumerate() {
        fixture.write(path, "hello\n");
        let extra = match path {
            "then-text" => "text ident",
            "then-encoding" => "working-tree-encoding=UTF-16LE",
            _ => "",
        };
        lines += &format!("\"{path}\" filter=d{at} {extra}\n");
        files.push((path.to_owned(), recorded.to_vec()));
        drivers.push((format!("d{at}"), driver));
    }
    let drivers: Vec<(&str, Driver)> = drivers
        .iter()
        .map(|(name, driver)| (name.as_str(), driver.clone()))
        .collect();
    fixture.write(".gitattributes", &lines);
    let ids = fixture.record(&files);
    let converter = fixture.converter(fixture.settings(&drivers));
    let (modified, said) = fixture.ours(&converter, &files, &ids).unwrap();
    assert_eq!(modified, BTreeSet::from(["differs".to_owned()]));
    assert!(!said.is_empty());
    assert_eq!(
        Ok((modified, said)),
        without_stderr_of_filters(fixture.status())
    );
}

/// What git and not a filter says.
type Answer = Result<(BTreeSet<String>, BTreeSet<String>), String>;

fn without_stderr_of_filters(answer: Answer) -> Answer {
    answer.map(|(modified, said)| {
        let by_git = |line: &String| {
            ["error: ", "warning: ", "hint: "]
                .iter()
                .any(|prefix| line.starts_with(prefix))
        };
        (modified, said.into_iter().filter(by_git).collect())
    })
}

#[test]
fn a_required_filter_that_fails_ends_the_run() {
    for (driver, attributes) in [
        (required(command("exit 1")), "filter=d"),
        (required(command("no-such-program")), "filter=d"),
        (required(Driver::default()), "filter=d"),
        (required(command("")), "filter=d"),
        (command("cat"), "working-tree-encoding"),
    ] {
        let fixture = Fixture::new();
        fixture.write("f", "hello\n");
        fixture.write(".gitattributes", format!("f {attributes}\n"));
        let files = [("f".to_owned(), b"hello\n".to_vec())];
        let ids = fixture.record(&files);
        let converter = fixture.converter(fixture.settings(&[("d", driver)]));
        let ours = fixture.ours(&converter, &files, &ids);
        assert!(ours.is_err());
        assert_eq!(ours, fixture.status());
    }
}

#[test]
fn much_data_passes_a_filter_both_ways() {
    let contents = b"some text\n".repeat(100_000);
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* filter=d\n");
    fixture.write("f", &contents);
    let file = File::open(fixture.path("f")).unwrap();
    for (driver, expected) in [
        (command("cat"), contents.clone()),
        (required(command("cat")), contents.clone()),
        (command("head -c 5"), contents[..5].to_vec()),
        (required(command("head -c 5")), contents[..5].to_vec()),
    ] {
        let converter = fixture.converter(fixture.settings(&[("d", driver)]));
        let size = contents.len() as u64;
        let ours = converter.read_file("f".into(), &file, size).unwrap();
        assert!(ours == expected);
        assert!(converter.messages.take().is_empty());
    }
}

/// A filter process in shell. What it does with a file depends on the first letter of the path, and it writes a
/// line to `starts` when it starts, to `ends` when it ends by itself.
const SERVER: &str = r#"
echo start >>starts
packet() {
    head=$(dd bs=1 count=4 2>/dev/null)
    test -n "$head" || { echo end >>ends; exit 0; }
    size=$((0x$head - 4))
    test $size -gt 0 || return 1
    data=$(dd bs=1 count=$size 2>/dev/null)
}
line() { printf '%04x%s\n' $((${#1} + 5)) "$1"; }
raw() { printf '%04x%s' $((${#1} + 4)) "$1"; }
flush() { printf 0000; }
skip() { while packet; do :; done; }
skip
line ${GREETING-git-filter-server}; line version=${VERSION-2}; flush
skip
for word in ${CAPABILITIES-clean smudge}; do line capability=$word; done; flush
while :; do
    while packet; do case $data in pathname=*) path=${data#pathname=};; esac; done
    all=
    while packet; do all=$all$data; done
    case $path in
    e*) line status=error; flush;;
    a*) line status=abort; flush;;
    x*) exit 1;;
    g*) printf zzzz;;
    l*) printf ffff;;
    s*) line status=strange; flush;;
    t*) line status=success; flush; raw "tail"; flush; line status=error; flush;;
    n*) flush; raw AB; flush; flush;;
    *) line status=success; flush; raw "$(printf %s "$all" | tr a-z A-Z)"; raw .; flush; flush;;
    esac
done
"#;

fn server(fixture: &Fixture, prefix: &str) -> Driver {
    fixture.write("server.sh", SERVER);
    Driver {
        clean: Some("echo not used".into()),
        process: Some(format!("{prefix} sh server.sh").into()),
        required: false,
    }
}

#[test]
fn filter_processes_are_spoken_to_as_by_git() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "? filter=d\n?? filter=d\n");
    let driver = server(&fixture, "");
    let names = ["b", "b2", "e", "n", "q", "s", "t", "u", "x", "y"];
    let mut files: Vec<(String, Vec<u8>)> = names
        .iter()
        .map(|name| (name.to_string(), b"HELLO.".to_vec()))
        .collect();
    files[2].1 = b"hello".to_vec();
    for (path, _) in &files {
        fixture.write(path, "hello");
    }
    let ids = fixture.record(&files);
    let converter = fixture.converter(fixture.settings(&[("d", driver)]));
    let ours = fixture.ours(&converter, &files, &ids);
    assert_eq!(ours, fixture.status());
}

#[test]
fn a_filter_process_serves_until_the_converter_ends() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* filter=d\n");
    let driver = server(&fixture, "");
    let converter = fixture.converter(fixture.settings(&[("d", driver)]));
    let count = |name: &str| {
        std::fs::read_to_string(fixture.path(name)).map_or(0, |text| text.lines().count())
    };
    let clean = |path: &str| {
        fixture.write(path, "hello");
        let file = File::open(fixture.path(path)).unwrap();
        converter.read_file(path.into(), &file, 5).unwrap()
    };
    std::thread::scope(|scope| {
        for path in ["b1", "b2", "b3"] {
            scope.spawn(move || assert_eq!(clean(path), b"HELLO."));
        }
    });
    assert_eq!((count("starts"), count("ends")), (1, 0));

    // A filter that gives up is not asked again in this run, but in the next.
    assert_eq!(clean("a"), b"hello");
    assert_eq!(clean("b4"), b"hello");
    assert_eq!(count("starts"), 1);
    converter.refresh(fixture.blobs());
    assert_eq!(count("ends"), 1);
    assert_eq!(clean("b5"), b"HELLO.");
    assert_eq!(count("starts"), 2);

    // One that breaks off is started anew for the next file.
    assert_eq!(clean("x"), b"hello");
    let said = converter.messages.take();
    assert_eq!(said[0], "error: external filter ' sh server.sh' failed");
    assert_eq!(clean("b6"), b"HELLO.");
    assert_eq!(count("starts"), 3);
    drop(converter);
    assert_eq!(count("ends"), 2);
}

#[test]
fn a_filter_process_that_does_not_come_up_is_reported_as_by_git() {
    for prefix in [
        "GREETING=hello",
        "VERSION=3",
        "VERSION=x",
        "CAPABILITIES=smudge",
        "CAPABILITIES='clean other'",
        "printf 00;",
        "printf 0000;",
        "printf 'pack';",
        "no-such-program",
    ] {
        let fixture = Fixture::new();
        fixture.write(".gitattributes", "f filter=d\n");
        fixture.write("f", "hello");
        let files = [("f".to_owned(), b"hello".to_vec())];
        let ids = fixture.record(&files);
        let driver = match prefix {
            "no-such-program" => Driver {
                process: Some(prefix.into()),
                ..Driver::default()
            },
            _ => server(&fixture, prefix),
        };
        let converter = fixture.converter(fixture.settings(&[("d", driver)]));
        let ours = fixture.ours(&converter, &files, &ids);
        assert_eq!(
            ours,
            without_stderr_of_filters(fixture.status()),
            "{prefix}"
        );
    }
}

#[test]
fn large_texts_convert_in_pieces() {
    let fixture = Fixture::new();
    let line = "sixteen bytes..\r\n";
    let piece = PIECE_SIZE as usize;
    let mut contents = line.repeat(3 * piece / line.len()).into_bytes();
    // A CRLF on the border of two pieces.
    contents.splice(piece - 1..piece, *b"\r\n");
    let lone_cr = [contents.as_slice(), b"\rx"].concat();
    let late_nul = [contents.as_slice(), b"\0"].concat();
    let files = [("crlf", contents), ("lone-cr", lone_cr), ("nul", late_nul)];
    for attribute in ["text=auto", "text", "-text"] {
        fixture.write(".gitattributes", format!("* {attribute}\n"));
        let converter = fixture.converter(fixture.settings(&[]));
        for (path, contents) in &files {
            fixture.write(path, contents);
            let file = File::open(fixture.path(path)).unwrap();
            let size = contents.len() as u64;
            let id = converter.hash_file((*path).into(), &file, size).unwrap();
            let output = fixture.run(["hash-object", path]);
            assert_eq!(
                format!("{id}\n").as_bytes(),
                output.stdout,
                "{path} {attribute}"
            );
        }
    }
}

#[test]
fn a_file_that_is_too_short_counts_as_changed() {
    let fixture = Fixture::new();
    fixture.write("f", "hello");
    let file = File::open(fixture.path("f")).unwrap();
    let converter = fixture.converter(fixture.settings(&[]));
    let id = hash::hash(Kind::Sha1, b"hello");
    assert!(converter.is_unchanged("f".into(), &file, 5, &id).unwrap());
    assert!(!converter.is_unchanged("f".into(), &file, 6, &id).unwrap());
    assert_eq!(
        converter.messages.take(),
        ["error: short read while indexing f"]
    );
}

#[test]
fn lost_line_endings_are_warned_of_where_renames_are_sought() {
    let text = |ending: &str| (0..50).map(|n| format!("{n}{ending}")).collect::<String>();
    for (auto_crlf, value, old, new) in [
        (AutoCrlf::True, "true", text("\n"), text("\n") + "x\n"),
        (AutoCrlf::Input, "input", text("\n"), text("\r\n") + "x\r\n"),
        (AutoCrlf::True, "true", text("\n"), text("\r\n") + "x\r\n"),
        (AutoCrlf::Input, "input", text("\n"), text("\n") + "x\n"),
    ] {
        let fixture = Fixture::new();
        fixture.write("old", old);
        fixture.run(["add", "old"]);
        fixture.run([
            "-c",
            "user.name=x",
            "-c",
            "user.email=x",
            "commit",
            "-q",
            "-m",
            "x",
        ]);
        std::fs::remove_file(fixture.path("old")).unwrap();
        fixture.write("new", &new);
        fixture.run(["add", "-N", "new"]);
        fixture.run(["config", "core.autocrlf", value]);
        let output = fixture.run(["status", "--porcelain"]);
        assert_eq!(output.stdout, b" R old -> new\n");

        let converter = fixture.converter(Settings {
            auto_crlf,
            ..fixture.settings(&[])
        });
        let file = File::open(fixture.path("new")).unwrap();
        let size = new.len() as u64;
        converter.read_file("new".into(), &file, size).unwrap();
        let said: Vec<u8> = converter
            .messages
            .take()
            .iter()
            .flat_map(|line| [line.as_slice(), b"\n"].concat())
            .collect();
        assert_eq!(String::from_utf8(said), String::from_utf8(output.stderr));
    }
}

#[test]
fn a_filter_process_that_ends_at_once_leaves_files_as_they_are() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "f filter=d\n");
    fixture.write("f", "hello");
    let driver = Driver {
        process: Some("exit 1".into()),
        ..Driver::default()
    };
    let converter = fixture.converter(fixture.settings(&[("d", driver)]));
    let file = File::open(fixture.path("f")).unwrap();
    assert_eq!(converter.read_file("f".into(), &file, 5).unwrap(), b"hello");
    // Whether the greeting could be written is a matter of luck, in git too.
    let said = converter.messages.take();
    assert_eq!(
        said.last().unwrap(),
        "error: initialization for subprocess 'exit 1' failed"
    );
}
