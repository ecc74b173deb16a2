//! Tests what a checkout would write, against `git cat-file --filters`.

use super::filters::SERVER;
use crate::converter::testing::Fixture;
use crate::converter::testing::{Answer, Named, Request, Run};
use vigil_rules::attributes::Blobs;
use vigil_testkit::chance::Chance;

use std::sync::Arc;

#[track_caller]
fn check(fixture: &Fixture, requests: &[Request]) -> Answer {
    let expected = fixture.batch("", &[], "--filters", requests);
    let ours = Run::start(fixture, "", &[]).filters(requests);
    assert_eq!(ours, expected);
    ours
}

#[test]
fn random_blobs_convert_as_in_git() {
    let parts = [
        "a",
        "line of text",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "\0",
        "$Id$",
        "$Id$\n",
        "$Id: x$",
        "$Id: x y$",
        "$Id:$",
        "$Id: 0123 $",
        "$Id:",
        "$Id",
        "$",
        " ",
        "$Id: y\n",
        "\x1a",
        "é",
        "\x01",
        "\x7f",
        "\u{feff}",
        "日",
        "long text without anything that would be strange, so that some strange letters do not matter. ",
    ];
    let words = [
        "text",
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
        "crlf=auto",
        "eol=lf",
        "eol=crlf",
        "eol=crlf",
        "eol",
        "ident",
        "ident",
        "-ident",
        "binary",
        "working-tree-encoding=UTF-16",
        "working-tree-encoding=utf-16le",
        "working-tree-encoding=UTF16BE",
        "working-tree-encoding=UTF-16LE-BOM",
        "working-tree-encoding=utf16be-bom",
        "working-tree-encoding=UTF-32",
        "working-tree-encoding=UTF-32LE",
        "working-tree-encoding=latin-1",
        "working-tree-encoding=utf8",
        "working-tree-encoding=SHIFT-JIS",
        "working-tree-encoding=ISO-2022-JP",
        "working-tree-encoding=latin1//TRANSLIT",
        "working-tree-encoding=none-such",
        "-working-tree-encoding",
        "working-tree-encoding=",
        "filter=none",
    ];
    let mut random = Chance::new(0x5eed);
    let fixture = Fixture::new();
    let mut changed = 0;
    for round in 0..24 {
        fixture.git([
            "config",
            "core.autocrlf",
            ["false", "true", "input"][round % 3],
        ]);
        fixture.git([
            "config",
            "core.eol",
            ["lf", "crlf", "native", "CRLF"][round % 4],
        ]);
        let mut lines = String::new();
        let mut files = Vec::new();
        for at in 0..40 {
            lines += &format!("f{at}");
            for _ in 0..random.below(4) {
                lines += " ";
                lines += random.pick(&words);
            }
            lines += "\n";
            let mut contents = random.text(&parts, 12).into_bytes();
            match random.below(8) {
                0 => contents.push(0xff),
                1 => contents.clear(),
                2 => contents = contents.repeat(900),
                _ => {}
            }
            files.push((format!("f{at}"), contents));
        }
        fixture.write(".gitattributes", lines);
        let requests = fixture.requests(files);
        let expected = fixture.batch("", &[], "--filters", &requests);
        let ours = Run::start(&fixture, "", &[]).filters(&requests);
        assert_eq!(ours.messages, expected.messages, "round {round}");
        assert!(ours == expected, "round {round}");
        let plain: usize = requests.iter().map(|request| request.contents.len()).sum();
        changed += usize::from(ours.stdout.len() > plain + requests.len() * 60);
        assert_eq!(ours.code, 0);
    }
    assert!(changed > 12);
}

#[test]
fn smudge_commands_run_as_in_git() {
    let commands = [
        ("works", "tr a-z A-Z"),
        ("fails", "tr a-z A-Z; exit 3"),
        ("dies", "kill -9 $$"),
        ("piped", "kill -13 $$"),
        ("silent", "cat >/dev/null"),
        ("closes", "exec <&-; echo HELLO"),
        ("reads-nothing", "echo HELLO"),
        ("missing", "no-such-program"),
        ("missing-in-shell", "no-such-program x"),
        ("plain-program", "cat"),
        ("named it's!", "cat >/dev/null; echo %f %% %x"),
        ("where", "cat; pwd; env | grep ^GIT_PREFIX"),
        ("empty-command", ""),
        ("after-text", "od -c"),
        ("after-encoding", "od -c"),
        ("after-ident", "cat"),
    ];
    let fixture = Fixture::new();
    let mut lines = String::new();
    for (at, (path, command)) in commands.iter().enumerate() {
        let key = format!("filter.d{at}.smudge");
        fixture.git(["config", &key, command]);
        fixture.git(["config", &format!("filter.d{at}.clean"), "echo not used"]);
        let extra = match *path {
            "after-text" => "text eol=crlf",
            "after-encoding" => "working-tree-encoding=UTF-16 eol=crlf",
            "after-ident" => "ident",
            _ => "",
        };
        lines += &format!("\"{path}\" filter=d{at} {extra}\n");
    }
    fixture.write(".gitattributes", &lines);
    for contents in ["hello\n$Id$\n", ""] {
        let requests = fixture.requests(commands.map(|(path, _)| (path, contents)));
        let answer = check(&fixture, &requests);
        assert!(answer.messages.len() > 5, "{answer:?}");

        // The same with each filter required.
        for (at, request) in requests.iter().enumerate() {
            let variables = [
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", &*format!("filter.d{at}.required")),
                ("GIT_CONFIG_VALUE_0", "true"),
            ];
            let request = std::slice::from_ref(request);
            let expected = fixture.batch("", &variables, "--filters", request);
            let ours = Run::start(&fixture, "", &variables).filters(request);
            assert_eq!(ours, expected);
        }
    }
    fixture.git(["config", "filter.d0.process", ""]);
    check(&fixture, &fixture.requests([("works", "hello\n")]));
}

#[test]
fn errors_that_are_fatal_in_git_end_the_run() {
    let fixture = Fixture::new();
    fixture.write(
        ".gitattributes",
        "a filter=none\nb filter=only\nc filter=cleans\nd working-tree-encoding\n",
    );
    fixture.git(["config", "filter.only.required", "true"]);
    fixture.git(["config", "filter.cleans.required", "true"]);
    fixture.git(["config", "filter.cleans.clean", "cat"]);
    for path in ["a", "b", "c", "d"] {
        let requests = fixture.requests([(path, "x"), ("a", "y")]);
        let answer = check(&fixture, &requests);
        assert_eq!(answer.code, if path == "a" { 0 } else { 128 });
    }
}

#[test]
fn much_data_passes_a_smudge_filter() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "cat filter=cat\nhead filter=head\n");
    fixture.git(["config", "filter.cat.smudge", "cat"]);
    fixture.git(["config", "filter.head.smudge", "head -c 5"]);
    let contents = b"some text\n".repeat(100_000);
    let files = ["cat", "head"].map(|path| (path, contents.clone()));
    let requests = fixture.requests(files);
    let expected = fixture.batch("", &[], "--filters", &requests);
    let ours = Run::start(&fixture, "", &[]).filters(&requests);
    assert!(ours == expected);
}

/// Reads what the filter process wrote to the file `name`, and removes the file.
fn take_log(fixture: &Fixture, name: &str) -> String {
    let text = std::fs::read_to_string(fixture.path(name)).unwrap_or_default();
    let _ = std::fs::remove_file(fixture.path(name));
    text
}

#[test]
fn a_filter_process_smudges_a_whole_batch() {
    let fixture = Fixture::new();
    fixture.write("server.sh", SERVER);
    fixture.write(".gitattributes", "* filter=d ident\n? eol=crlf\n");
    fixture.git(["config", "filter.d.process", "sh server.sh"]);
    fixture.git(["config", "filter.d.smudge", "echo not used"]);

    let files = [
        ("b", "hello"),
        ("b 2", "$Id$"),
        ("d/b3", "z"),
        ("e", "x\ny"),
    ];
    let requests = fixture.requests(files);
    let logs = || ["starts", "asked", "ends"].map(|name| take_log(&fixture, name));
    let expected = fixture.batch("", &[], "--filters", &requests);
    let expected = (expected, logs());
    let ours = Run::start(&fixture, "", &[]).filters(&requests);
    let ours = (ours, logs());
    assert_eq!(ours, expected);
    let (_, [starts, asked, ends]) = ours;
    assert_eq!((starts.as_str(), ends.as_str()), ("start\n", "end\n"));
    let expected = format!("command=smudge\npathname=b\nblob={}\n", requests[0].id);
    assert!(asked.starts_with(&expected), "{asked}");

    // Processes that break off are restarted; one that gives up is not asked again.
    let names = [
        "b", "n", "q", "s", "t", "u", "x", "y", "x2", "b", "a", "b4", "e",
    ];
    check(
        &fixture,
        &fixture.requests(names.map(|name| (name, "hello"))),
    );
    for name in ["g", "l"] {
        let requests = fixture.requests([("b", "hello"), (name, "hello"), ("b", "hello")]);
        let answer = check(&fixture, &requests);
        assert_eq!(answer.code, 128);
    }
    let long = "b".repeat(65516);
    check(
        &fixture,
        &fixture.requests([("b", "x"), (&long, "x"), ("b", "x")]),
    );

    fixture.git(["config", "filter.d.required", "true"]);
    for name in ["b", "e", "a", "x", "s"] {
        let requests = fixture.requests([(name, "hello")]);
        let answer = check(&fixture, &requests);
        assert_eq!(answer.code, if name == "b" { 0 } else { 128 });
    }
}

#[test]
fn a_filter_process_that_cannot_smudge_is_reported_as_by_git() {
    for prefix in [
        "GREETING=hello",
        "VERSION=3",
        "CAPABILITIES=clean",
        "CAPABILITIES=smudge",
        "CAPABILITIES='smudge other'",
        "printf 0000;",
        "no-such-program;",
    ] {
        let fixture = Fixture::new();
        fixture.write("server.sh", SERVER);
        fixture.write(".gitattributes", "* filter=d\n");
        let process = format!("{prefix} sh server.sh");
        fixture.git(["config", "filter.d.process", &process]);
        let requests = fixture.requests([("b", "hello"), ("b", "again")]);
        check(&fixture, &requests);
    }
}

#[test]
fn one_object_is_shown_as_by_git() {
    for format in ["sha1", "sha256"] {
        let fixture = Fixture::new();
        std::fs::remove_dir_all(fixture.path(".git")).unwrap();
        fixture.git(["init", "-q", &format!("--object-format={format}")]);
        fixture.write(".gitattributes", "f ident eol=crlf filter=d\n");
        fixture.git(["config", "filter.d.smudge", "cat; env | grep ^GIT_; pwd"]);
        fixture.write("sub/f", "$Id$\n");
        fixture.git(["add", "."]);
        commit(&fixture);
        let requests = fixture.requests([("sub/f", "$Id$\n")]);
        let id = requests[0].id.to_string();
        let show = |run: Run| {
            let answer = run.filters(&requests);
            let header = format!("{id} blob 5\n");
            let shown = answer.stdout.strip_prefix(header.as_bytes()).unwrap();
            shown.strip_suffix(b"\n").unwrap().to_vec()
        };
        for place in ["", "sub"] {
            let named = fixture.ask(place, &["cat-file", "--filters", "HEAD:sub/f"], &[], b"");
            let with_path = ["cat-file", "--filters", "--path=sub/f", &id];
            let with_path = fixture.ask(place, &with_path, &[], b"");
            assert_eq!(named.stdout, with_path.stdout);
            let ours = show(Run::start(&fixture, place, &[]));
            assert_eq!(
                without_exec_path(&named.stdout),
                String::from_utf8(ours).unwrap()
            );
        }

        // The ident shows the replacement's own id.
        let other = &fixture.requests([("sub/f", "$Id$ x\n")])[0];
        fixture.git(["replace", &id, &other.id.to_string()]);
        let replaced = [Request {
            contents: other.contents.clone(),
            ..requests[0].clone()
        }];
        fixture.git(["config", "filter.d.smudge", ""]);
        let expected = fixture.batch("", &[], "--filters", &replaced);
        assert_eq!(Run::start(&fixture, "", &[]).filters(&replaced), expected);
    }
}

/// Removes variables that git's launcher may add for its own installation.
fn without_exec_path(text: &[u8]) -> String {
    String::from_utf8_lossy(text)
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("GIT_EXEC_PATH=") && !line.starts_with("GIT_SSL_CAINFO="))
        .collect()
}

fn commit(fixture: &Fixture) {
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
}

#[test]
fn a_bare_repository_has_the_attributes_that_git_gives_it() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "f eol=crlf\n");
    fixture.write("f", "a\nb\n");
    fixture.git(["add", "."]);
    commit(&fixture);
    fixture.git(["clone", "-q", "--bare", ".", "bare.git"]);
    fixture.write(
        "../home/.gitconfig",
        "[filter \"d\"]\n\tsmudge = cat; pwd; env | grep ^GIT_ | sort\n",
    );
    let requests = fixture.requests([("f", "a\nb\n")]);
    let tree = || Blobs {
        index: Arc::new(Named {
            directory: fixture.path("bare.git"),
            prefix: None,
        }),
        tree: Some(Arc::new(Named {
            directory: fixture.path("bare.git"),
            prefix: Some("HEAD:"),
        })),
    };
    let mut seen = Vec::new();
    for info in ["", "f text eol=crlf\n", "f filter=d\n"] {
        fixture.write("bare.git/info/attributes", info);
        for place in ["bare.git", "bare.git/objects"] {
            let expected = fixture.batch(place, &[], "--filters", &requests);
            let ours = Run::start(&fixture, place, &[]).filters(&requests);
            assert_eq!(
                ours.stdout.to_string(),
                without_exec_path(&expected.stdout),
                "{info} {place}"
            );
            seen.push(ours.stdout);

            let variables = [("GIT_ATTR_SOURCE", "HEAD")];
            let expected = fixture.batch(place, &variables, "--filters", &requests);
            let ours = Run::with_blobs(&fixture, place, &variables, tree()).filters(&requests);
            assert_eq!(
                ours.stdout.to_string(),
                without_exec_path(&expected.stdout),
                "{info} {place}"
            );
            seen.push(ours.stdout);
        }
    }
    assert_ne!(seen[0], seen[1]);
    assert_ne!(seen[0], seen[4]);
}

#[test]
fn attributes_of_the_index_count_for_names_in_the_index_only() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "f eol=crlf\n");
    fixture.write("f", "a\nb\n");
    fixture.git(["add", "."]);
    commit(&fixture);
    std::fs::remove_file(fixture.path(".gitattributes")).unwrap();
    let requests = fixture.requests([("f", "a\nb\n")]);
    for (prefix, name) in [(None, "HEAD:f"), (Some(":"), ":f")] {
        let output = fixture.output("", ["cat-file", "--filters", name], "");
        let blobs = Blobs {
            index: Arc::new(Named {
                directory: fixture.path(""),
                prefix,
            }),
            tree: None,
        };
        let run = Run::with_blobs(&fixture, "", &[], blobs);
        let ours = run
            .converter
            .to_working_tree("f".into(), &requests[0].id, b"a\nb\n");
        assert_eq!(*ours.unwrap(), output.stdout, "{name}");
        assert_eq!(output.stdout.contains(&b'\r'), prefix.is_some());
    }
}
