//! Tests conversions against `git status` and `git hash-object`.

mod explain;
mod filters;
mod fingerprint;
mod smudge;

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;

use gix_hash::Kind;

use super::*;
use crate::converter::testing::Fixture;
use vigil_testkit::chance::Chance;

impl Fixture {
    /// Returns settings without configuration but with `drivers`, which are configured in git, too.
    fn settings(&self, drivers: &[(&str, Driver)]) -> Settings {
        let drivers = drivers
            .iter()
            .map(|(name, driver)| {
                let set = |key: &str, value: Option<&BString>| {
                    let key = format!("filter.{name}.{key}");
                    if let Some(value) = value {
                        self.git(["config", &key, &value.to_string()]);
                    }
                };
                set("clean", driver.clean.as_ref());
                set("smudge", driver.smudge.as_ref());
                set("process", driver.process.as_ref());
                set("required", driver.required.then(|| "true".into()).as_ref());
                (BString::from(*name), driver.clone())
            })
            .collect();
        let variables = ["PATH", "HOME"].map(|name| {
            let value = match name {
                "HOME" => self.home().into_os_string(),
                _ => std::env::var_os(name).unwrap(),
            };
            (name.into(), value.as_bytes().into())
        });
        Settings {
            hash: Kind::Sha1,
            auto_crlf: AutoCrlf::False,
            eol_crlf: false,
            warns_of_loss: true,
            fault: None,
            drivers,
            child_environment: ChildEnvironment {
                directory: self.path(""),
                variables: variables.into(),
                stderr: FilterStderr::Discard,
            },
        }
    }

    fn converter(&self, settings: Settings) -> Converter {
        let places = vigil_rules::attributes::AttributeFiles {
            work_tree: Some(self.path("")),
            info_file: self.path(".git/info/attributes"),
            info_origin: ".git/info/attributes".into(),
            ..Default::default()
        };
        let attributes = Attributes::new(places, self.blobs(), Arc::default());
        Converter::new(settings, Arc::new(attributes))
    }

    /// Records `contents` as they are, without stat data: only the contents decide.
    fn record(&self, files: &[(String, Vec<u8>)]) -> Vec<ObjectId> {
        let mut lines = Vec::new();
        let ids: Vec<ObjectId> = files
            .iter()
            .map(|(path, contents)| {
                let id = hash_blob(Kind::Sha1, contents);
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
        self.git_with_input(
            ["hash-object", "-w", "--no-filters", "--stdin-paths"],
            &names,
        );
        self.git(["read-tree", "--empty"]);
        self.git_with_input(["update-index", "--index-info"], &lines);
        ids
    }

    /// Returns the paths that git finds modified, and its messages. A "fatal: " line is an error.
    fn status(&self) -> Result<(BTreeSet<String>, BTreeSet<String>), String> {
        let arguments = ["--no-optional-locks", "status", "--porcelain", "-uno", "-z"];
        let output = self.output("", arguments, "");
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        if let Some(fatal) = messages
            .lines()
            .find_map(|line| line.strip_prefix("fatal: "))
        {
            return Err(fatal.to_owned());
        }
        assert!(output.status.success(), "{messages}");
        let modified = output
            .stdout
            .split(|byte| *byte == 0)
            .filter(|line| line.get(1) == Some(&b'M'))
            .map(|line| String::from_utf8_lossy(&line[3..]).into_owned())
            .collect();
        // git looks at a modified file twice.
        Ok((modified, messages.lines().map(str::to_owned).collect()))
    }

    /// Returns what `converter` finds, in the same form.
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
        let messages = converter.messages.take();
        let messages = messages.iter().flat_map(|line| {
            let line = line.to_string();
            line.lines().map(str::to_owned).collect::<Vec<_>>()
        });
        Ok((modified, messages.collect()))
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

/// Returns a form in which `text` might be in the working tree.
fn working_tree_form(random: &mut Chance, text: &str) -> Vec<u8> {
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
    let mut random = Chance::new(0xc0de);
    let fixture = Fixture::new();
    for round in 0..12 {
        let auto_crlf = [AutoCrlf::False, AutoCrlf::True, AutoCrlf::Input][round % 3];
        let value = ["false", "true", "input"][round % 3];
        fixture.git(["config", "core.autocrlf", value]);
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
            fixture.write(&path, working_tree_form(&mut random, &text));
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

        // The ids without an index, which hash-object does not read either.
        fixture.git(["read-tree", "--empty"]);
        let names: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        let hashed = fixture.git_with_input(
            ["hash-object", "--stdin-paths"],
            names.join("\n").as_bytes(),
        );
        for (path, id) in names.iter().zip(hashed.lines()) {
            let file = File::open(fixture.path(path)).unwrap();
            let size = file.metadata().unwrap().len();
            let ours = converter.hash_file((*path).into(), &file, size).unwrap();
            assert_eq!(ours.to_string(), id, "{path} in round {round}");
            let contents = converter.read_file((*path).into(), &file, size).unwrap();
            assert_eq!(hash_blob(Kind::Sha1, &contents), ours);
        }
    }
}

#[test]
fn large_texts_convert_in_pieces() {
    let fixture = Fixture::new();
    let line = "sixteen bytes..\r\n";
    let piece = PIECE_SIZE as usize;
    let mut contents = line.repeat(3 * piece / line.len()).into_bytes();
    // A CRLF across the boundary of two pieces.
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
            let output = fixture.output("", ["hash-object", path], "");
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
    let id = hash_blob(Kind::Sha1, b"hello");
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
        fixture.git(["add", "old"]);
        fixture.git([
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
        fixture.git(["add", "-N", "new"]);
        fixture.git(["config", "core.autocrlf", value]);
        let output = fixture.output("", ["status", "--porcelain"], "");
        assert_eq!(output.stdout, b" R old -> new\n");

        let converter = fixture.converter(Settings {
            auto_crlf,
            ..fixture.settings(&[])
        });
        let file = File::open(fixture.path("new")).unwrap();
        let size = new.len() as u64;
        converter.read_file("new".into(), &file, size).unwrap();
        let messages: Vec<u8> = converter
            .messages
            .take()
            .iter()
            .flat_map(|line| [line.as_slice(), b"\n"].concat())
            .collect();
        assert_eq!(
            String::from_utf8(messages),
            String::from_utf8(output.stderr)
        );
    }
}
