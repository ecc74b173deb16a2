//! Tests against `git cat-file --textconv`.

use super::*;
use crate::converter::testing::Fixture;
use crate::converter::testing::{Answer, Request, Run};

/// Runs our conversion over `requests`.
fn ours(
    fixture: &Fixture,
    place: &str,
    variables: &[(&str, &str)],
    requests: &[Request],
) -> Answer {
    let run = Run::start(fixture, place, variables);
    let drivers = Drivers::of(&run.repository.config).unwrap();
    run.batch(requests, |run, path, id, contents| {
        match drivers.find(&run.attributes, path, true) {
            Some(textconv) => textconv.convert(&run.converter, path, id, contents),
            None => Ok(contents.to_vec()),
        }
    })
}

/// Makes the random part of temporary file names the same everywhere.
fn without_temporary_names(mut answer: Answer) -> Answer {
    let even = |text: &str| {
        let mut parts = text.split("/git-blob-");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| text + "/git-blob-XXXXXX" + &part[6..])
    };
    answer.stdout = even(&answer.stdout.to_string()).into();
    answer.messages = answer.messages.iter().map(|line| even(line)).collect();
    answer
}

#[track_caller]
fn check_with(fixture: &Fixture, variables: &[(&str, &str)], requests: &[Request]) -> Answer {
    let expected = without_temporary_names(fixture.batch("", variables, "--textconv", requests));
    let ours = without_temporary_names(ours(fixture, "", variables, requests));
    assert_eq!(ours, expected);
    ours
}

#[test]
fn the_driver_is_the_one_that_git_takes() {
    let attributes = [
        ("named", "diff=own"),
        ("set", "diff"),
        ("unset", "-diff"),
        ("unspecified", "!diff"),
        ("nothing", "text"),
        ("empty", "diff="),
        ("unknown", "diff=no-such"),
        ("without", "diff=without"),
        ("default", "diff=default"),
        ("upper", "diff=OWN"),
        ("cpp", "diff=cpp"),
        ("java", "diff=java"),
        ("binary", "binary"),
    ];
    let fixture = Fixture::new();
    let lines = attributes.map(|(path, words)| format!("{path} {words}\n"));
    fixture.write(".gitattributes", lines.concat());
    fixture.git(["config", "diff.own.textconv", "echo own; cat"]);
    fixture.git(["config", "diff..textconv", "echo empty; cat"]);
    fixture.git(["config", "diff.without.xfuncname", "x"]);
    fixture.git(["config", "diff.java.textconv", "echo java; cat"]);
    let requests = fixture.requests(attributes.map(|(path, _)| (path, "hello\n")));
    let plain = check_with(&fixture, &[], &requests);
    fixture.git(["config", "diff.default.textconv", "echo default; cat"]);
    let with_default = check_with(&fixture, &[], &requests);
    assert_ne!(plain, with_default);
    for name in BUILT_IN
        .iter()
        .filter(|name| ![DEFAULT, "java"].contains(name))
    {
        fixture.write(".gitattributes", format!("f diff={name}\n"));
        let requests = fixture.requests([("f", "hello\n")]);
        let expected = fixture.batch("", &[], "--textconv", &requests);
        let ours = ours(&fixture, "", &[], &requests);
        assert!(ours.stdout.ends_with(b" 6\nhello\n\n"), "{name}");
        // Releases before 2.55 lack some of them.
        let is_older = expected.stdout.ends_with(b"\ndefault\nhello\n\n");
        let is_new = ["ini", "r"].contains(name);
        assert!(ours == expected || (is_new && is_older), "{name}");
    }

    // What is not a regular file has no attribute.
    let run = Run::start(&fixture, "", &[]);
    let drivers = Drivers::of(&run.repository.config).unwrap();
    fixture.write(".gitattributes", "* diff=own\n");
    std::os::unix::fs::symlink("target", fixture.path("link")).unwrap();
    fixture.git(["add", "link"]);
    let tree = fixture.git(["write-tree"]);
    let name = format!("{}:link", tree.trim());
    let output = fixture.output("", ["cat-file", "--textconv", &name], "");
    let textconv = drivers.find(&run.attributes, "link".into(), false).unwrap();
    let id = gix_hash::ObjectId::null(gix_hash::Kind::Sha1);
    let converted = textconv.convert(&run.converter, "link".into(), &id, b"target");
    assert_eq!(converted.unwrap(), output.stdout);
    assert_eq!(output.stdout, b"default\ntarget");
}

#[test]
fn commands_run_as_in_git() {
    let commands = [
        ("works", "tr a-z A-Z <"),
        ("fails", "echo x; exit 3;"),
        ("dies", "kill -9 $$;"),
        ("piped", "kill -13 $$;"),
        ("silent", "true"),
        ("false", "false"),
        ("missing", "no-such-program"),
        ("missing-in-shell", "no-such-program x"),
        ("plain-program", "cat"),
        ("dir/named it's!", "echo"),
        ("dir/echo", "printf '%s.\\n' a"),
        ("where", "pwd; env | grep ^GIT_PREFIX; ls -l"),
        ("empty-command", ""),
        (
            "folder",
            "ls -ld \"$(dirname \"$1\")\" | cut -c 1-10; ls -l",
        ),
        ("removes", "rm -v"),
        ("removes-all", "rm -r \"$(dirname \"$1\")\"; echo"),
        ("adds", "touch \"$(dirname \"$1\")/more\"; echo"),
        ("makes-folder", "rm \"$1\"; mkdir \"$1\"; echo"),
    ];
    let fixture = Fixture::new();
    let mut lines = String::new();
    for (at, (path, command)) in commands.iter().enumerate() {
        let key = format!("diff.d{at}.textconv");
        fixture.git(["config", &key, command]);
        lines += &format!("\"{path}\" diff=d{at}\n");
    }
    fixture.write(".gitattributes", &lines);
    let mut ended = 0;
    for contents in ["hello\n", ""] {
        for (path, command) in commands {
            let requests = fixture.requests([(path, contents)]);
            let variables = [("TMPDIR", "tmp")];
            std::fs::create_dir_all(fixture.path("tmp")).unwrap();
            let date = |answer: Answer| Answer {
                stdout: strip_dates(&answer.stdout.to_string()).into(),
                ..answer
            };
            let expected = fixture.batch("", &variables, "--textconv", &requests);
            let ours = ours(&fixture, "", &variables, &requests);
            let left = |answer: &Answer| answer.messages.iter().any(|line| line.contains("rmdir"));
            ended += usize::from(ours.code != 0);
            let wants_left = left(&expected);
            assert_eq!(
                date(without_temporary_names(ours)),
                date(without_temporary_names(expected)),
                "{command}"
            );
            let rest = std::fs::read_dir(fixture.path("tmp")).unwrap().count();
            assert_eq!(rest > 0, wants_left, "{command}");
            std::fs::remove_dir_all(fixture.path("tmp")).unwrap();
        }
    }
    assert!(ended >= 12, "{ended}");
}

/// Removes from lines of `ls -l` what changes from run to run.
fn strip_dates(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        match line.find("/git-blob-") {
            Some(at) if line.starts_with("-rw") => {
                out += &line[..10];
                out += &line[at..];
            }
            _ => out += line,
        }
    }
    out
}

#[test]
fn the_file_has_the_form_of_the_working_tree() {
    let fixture = Fixture::new();
    fixture.write(
        ".gitattributes",
        "a diff=d eol=crlf ident\nb diff=d filter=up\nc diff=d filter=bad\nd diff=d filter=bad\ne diff=d working-tree-encoding=UTF-16\n",
    );
    fixture.git(["config", "diff.d.textconv", "od -c"]);
    fixture.git(["config", "diff.d.cachetextconv", "false"]);
    fixture.git(["config", "filter.up.smudge", "tr a-z A-Z"]);
    fixture.git(["config", "filter.bad.smudge", "exit 1"]);
    let names = ["a", "b", "c", "d", "e"];
    let requests = fixture.requests(names.map(|path| (path, "hello $Id$\n")));
    check_with(&fixture, &[], &requests);
    for request in &requests {
        let path = format!("--path={}", request.path);
        let id = request.id.to_string();
        let shown = fixture.git_bytes(["cat-file", "--textconv", &path, &id]);
        let ours = ours(&fixture, "", &[], std::slice::from_ref(request));
        let shown = [format!("{id} blob 11\n").as_bytes(), &shown, b"\n"].concat();
        assert_eq!(ours.stdout, shown);
    }
    fixture.git(["config", "filter.bad.required", "true"]);
    assert_eq!(check_with(&fixture, &[], &requests).code, 128);
    assert_eq!(check_with(&fixture, &[], &requests[..2]).code, 0);
}

#[test]
fn folders_for_temporary_files_are_those_of_git() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* diff=d\n");
    fixture.git(["config", "diff.d.textconv", "echo"]);
    fixture.write("plain", "");
    std::fs::create_dir_all(fixture.path("tmp")).unwrap();
    let top = fixture.path("tmp");
    for directory in ["tmp", "./tmp/", "none", "plain", top.to_str().unwrap()] {
        for path in ["f", "a/b/c", "a/", "/", "a//b//", "."] {
            let requests = fixture.requests([(path, "x")]);
            check_with(&fixture, &[("TMPDIR", directory)], &requests);
            assert_eq!(std::fs::read_dir(fixture.path("tmp")).unwrap().count(), 0);
        }
    }
    let long = "n".repeat(300);
    check_with(&fixture, &[], &fixture.requests([(long, "x")]));
}

#[test]
fn a_file_of_the_working_tree_stands_for_its_blob() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* diff=d\n");
    fixture.write("sub/f", "x");
    fixture.git(["config", "diff.d.textconv", "echo"]);
    fixture.git(["add", "."]);
    let output = fixture.output("", ["cat-file", "--textconv", ":sub/f"], "");
    assert_eq!(output.stdout, b"sub/f\n");
    let run = Run::start(&fixture, "sub", &[]);
    let drivers = Drivers::of(&run.repository.config).unwrap();
    let textconv = drivers.find(&run.attributes, "sub/f".into(), true).unwrap();
    let converted = textconv.convert_file(&run.converter, "sub/f".into());
    assert_eq!(converted.unwrap(), output.stdout);
}

#[test]
fn drivers_that_are_not_valid_end_the_run() {
    let fixture = Fixture::new();
    for entry in [
        "textconv",
        "command",
        "xfuncname",
        "funcname",
        "wordRegex",
        "algorithm",
        "binary",
        "binary = AUTO",
        "binary = maybe",
        "cachetextconv",
        "cacheTextConv = maybe",
        "trustExitCode = 2x",
        "other",
    ] {
        fixture.write("../home/.gitconfig", format!("[diff \"d\"]\n\t{entry}\n"));
        let output = fixture.ask(
            "",
            &["cat-file", "-t", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"],
            &[],
            b"",
        );
        let run = Run::start(&fixture, "", &[]);
        let messages = match Drivers::of(&run.repository.config) {
            Ok(_) => Vec::new(),
            Err(error) => {
                let mut messages = error.messages().to_vec();
                messages.push(format!("fatal: {error}"));
                messages
            }
        };
        assert_eq!(messages, Answer::of(output).messages, "{entry}");
    }
}
