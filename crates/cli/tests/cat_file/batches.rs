//! Batches: what is read, what is answered, and when.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use vigil_testkit::process::pipe_without_reader;
use vigil_testkit::sandbox::{git_is_at_least, run_with_input};

use super::sandbox::{REVISIONS, Sandbox, VIGIL};

/// Returns whether older versions of git lack an option or answer it differently.
fn needs_newer_git(options: &[&str]) -> bool {
    options.iter().any(|option| {
        *option == "--use-mailmap"
            || *option == "-Z"
            || option.ends_with("(nothing)")
            || option.ends_with("=%(objectname")
    })
}

#[test]
fn batches_print_what_git_prints() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::new(format);
        let ids = sandbox.ids();
        let null = "0".repeat(ids[0].len());
        let mut names: Vec<&str> = REVISIONS.to_vec();
        names.extend(ids.iter().map(String::as_str));
        names.push(&null);
        let lines = names.join("\n").into_bytes();
        let in_nul = names.join("\0").into_bytes();
        for options in [
            &["--batch"][..],
            &["--batch-check"],
            &["--batch", "--buffer"],
            &[
                "--batch-check=%(objectname) %(objecttype) %(objectsize) %(objectsize:disk) %(deltabase) %(rest)|%%",
            ],
            &["--batch-check=%(objectname)"],
            &["--batch=%(objecttype)"],
            &["--batch", "--follow-symlinks"],
            &["--batch-check", "--use-mailmap"],
            &["--batch", "--use-mailmap"],
            &["--batch=%(nothing)"],
            &["--batch=%(objectname"],
        ] {
            if needs_newer_git(options) && !git_is_at_least("git", 47) {
                continue;
            }
            sandbox.assert_same_cat_file(options, &lines);
            sandbox.assert_same_cat_file(
                options,
                b"HEAD\r\n\nHEAD words behind\nHEAD:file\tx\nHEAD:dir\r",
            );
        }
        for options in [&["--batch", "-Z"][..], &["--batch-check", "-z"]] {
            if needs_newer_git(options) && !git_is_at_least("git", 47) {
                continue;
            }
            sandbox.assert_same_cat_file(options, &in_nul);
        }
        for options in [
            &["--batch"][..],
            &["--batch-check"],
            &["--batch-check=%(objectname)"],
            &["--batch", "--unordered"],
            &["--batch-check=%(objectname) %(deltabase)", "--unordered"],
            &["--batch", "--use-mailmap"],
        ] {
            if needs_newer_git(options) && !git_is_at_least("git", 47) {
                continue;
            }
            sandbox.assert_same_cat_file(&[&["--batch-all-objects"], options].concat(), b"");
        }
        for limit in ["0", "1", "1k", "9g"] {
            sandbox.git(&["config", "core.deltaBaseCacheLimit", limit]);
            sandbox.assert_same_cat_file(&["--batch"], &lines);
            sandbox.assert_same_cat_file(&["--batch-all-objects", "--batch"], b"");
            sandbox.assert_same_cat_file(&["--batch-all-objects", "--batch", "--unordered"], b"");
        }
    }
}

#[test]
fn commands_are_understood_as_git_understands_them() {
    let sandbox = Sandbox::new("sha1");
    for input in [
        "contents HEAD\ninfo HEAD:file\ninfo nonsense\n",
        "info HEAD\nflush\ncontents v1\n",
        "mailmap true\ncontents HEAD\nmailmap no\ncontents HEAD\n",
        "mailmap perhaps\n",
        "info HEAD\n\ninfo v1\n",
        " info HEAD\n",
        "\x0binfo HEAD\n",
        "\x0cinfo HEAD\n",
        "info\n",
        "flush now\n",
        "fetch HEAD\n",
        "info HEAD\n\r\n",
        "info HEAD\n\0nothing\n",
    ] {
        if input.starts_with("mailmap") && !git_is_at_least("git", 55) {
            continue;
        }
        sandbox.assert_same_cat_file(&["--batch-command"], input.as_bytes());
        sandbox.assert_same_cat_file(&["--batch-command", "--buffer"], input.as_bytes());
        sandbox.assert_same_cat_file(
            &["--batch-command=%(objecttype) %(objectsize)"],
            input.as_bytes(),
        );
    }
    if !git_is_at_least("git", 42) {
        return;
    }
    // Here a line's terminator is part of the line.
    for input in [
        "info HEAD\0contents v1\0info HEAD",
        "info HEAD\0\0info v1\0",
        "info HEAD\0\ninfo v1\0",
        "info HEAD\0 info v1\0",
        "\0",
    ] {
        sandbox.assert_same_cat_file(&["--batch-command", "-z"], input.as_bytes());
        sandbox.assert_same_cat_file(&["--batch-command", "-z", "--buffer"], input.as_bytes());
    }
}

/// Each answer arrives before the next question is asked.
#[test]
fn each_answer_comes_before_the_next_question() {
    let sandbox = Sandbox::new("sha1");
    let mut child: Child = sandbox
        .command(VIGIL, "", ["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for id in sandbox.ids() {
        writeln!(stdin, "{id}").unwrap();
        let wanted = sandbox
            .run("git", &["cat-file", "--batch"], id.as_bytes())
            .stdout;
        let mut answer = vec![0; wanted.len()];
        stdout.read_exact(&mut answer).unwrap();
        assert!(answer == wanted, "{id}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

/// A process that was started early is asked about history for the first time: the boundary is the one of now.
#[test]
fn history_is_bounded_where_it_is_when_first_asked_for() {
    let sandbox = Sandbox::new("sha1");
    let shallow = sandbox.top().join(".git/shallow");
    let [ours, theirs] = [VIGIL, "git"].map(|program| {
        let mut child: Child = sandbox
            .command(program, "", ["cat-file", "--batch-check"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut answers = BufReader::new(stdout).lines();
        let mut ask = |name: &str| {
            writeln!(stdin, "{name}").unwrap();
            answers.next().unwrap().unwrap()
        };
        let before = ask("HEAD");
        std::fs::write(&shallow, sandbox.git(&["rev-parse", "HEAD~1"])).unwrap();
        let mut found = vec![before, ask("HEAD~1"), ask("HEAD~2")];
        std::fs::remove_file(&shallow).unwrap();
        found.push(ask("HEAD~2"));
        drop(stdin);
        assert!(child.wait().unwrap().success());
        found
    });
    assert_eq!(ours, theirs);
    assert_eq!(ours.last().unwrap(), "HEAD~2 missing");
}

/// Nothing is read before the first question, not even what could not be read.
#[test]
fn without_a_question_nothing_is_wrong() {
    let sandbox = Sandbox::new("sha1");
    std::fs::write(sandbox.top().join(".git/packed-refs"), "junk\n").unwrap();
    for (batch, question) in [
        ("--batch", "HEAD"),
        ("--batch-check", "HEAD"),
        ("--batch-command", "info HEAD"),
    ] {
        for input in ["", question] {
            sandbox.assert_same_cat_file(&[batch], input.as_bytes());
        }
    }
}

#[test]
fn input_that_cannot_be_read_is_at_its_end() {
    let sandbox = Sandbox::new("sha1");
    for batch in ["--batch", "--batch-check", "--batch-command"] {
        let [ours, theirs] = [VIGIL, "git"].map(|program| {
            let mut command = sandbox.command(program, "", ["cat-file", batch]);
            let folder = std::fs::File::open(sandbox.top()).unwrap();
            command.stdin(folder).output().unwrap()
        });
        assert_eq!(ours, theirs);
    }
}

/// If the reader goes away, the command dies of the signal without a message, as git does.
#[test]
fn a_closed_pipe_ends_cat_file_quietly() {
    use std::os::unix::process::ExitStatusExt;
    let sandbox = Sandbox::new("sha1");
    let mut child = sandbox
        .command(VIGIL, "", ["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(pipe_without_reader().unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let _ = stdin.write_all(b"HEAD\n");
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(13));
    assert!(output.stderr.is_empty());
}

/// A bad index is reported when git opens it.
#[test]
fn existence_is_checked_where_git_checks_it() {
    let sandbox = Sandbox::new("sha1");
    let id = sandbox.git(&["rev-parse", "HEAD:late"]);
    let index = sandbox.pack_file("idx");
    std::fs::remove_file(&index).unwrap();
    std::fs::write(&index, "short").unwrap();
    sandbox.assert_same_cat_file(&["-e", id.trim()], b"");
}

/// Stands in for a git that knows `remote-object-info`: it reports how it was asked, and says that the remote `gone` is gone.
const GIT_WITH_REMOTE_OBJECT_INFO: &str = r#"#!/bin/sh
case $1 in --exec-path) cd "${0%/*}" && pwd; exit ;; esac
test "$1" = cat-file || exit 99
shift
line=$(tr '\0' '\n')
case $line in
remote-object-info) echo "fatal: remote-object-info requires arguments" >&2; exit 128 ;;
"remote-object-info gone"*) echo "fatal: gone" >&2; exit 128 ;;
esac
echo "asked with $* for ${line#remote-object-info }"
"#;

#[test]
fn git_is_asked_about_objects_of_remotes_if_it_knows_how() {
    let sandbox = Sandbox::new("sha1");
    let programs = sandbox.path_from_root("programs");
    std::fs::create_dir(&programs).unwrap();
    let put = |script: &str| {
        let git = programs.join("git");
        std::fs::write(&git, script).unwrap();
        std::fs::set_permissions(&git, PermissionsExt::from_mode(0o755)).unwrap();
    };
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let ask = |options: &[&str], input: &str| {
        let mut command = sandbox.command(VIGIL, "", [&["cat-file"], options].concat());
        command.env("PATH", &path);
        let output = run_with_input(command, input.as_bytes());
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            text(output.stdout),
            text(output.stderr),
            output.status.code().unwrap(),
        )
    };
    put(GIT_WITH_REMOTE_OBJECT_INFO);
    let input = "info nothing\nremote-object-info origin one two\ninfo nothing\n";
    let told = |how: &str| {
        format!("nothing missing\nasked with {how} for origin one two\nnothing missing\n")
    };
    for (options, how) in [
        (&["--batch-command"][..], "--batch-command"),
        (
            &["--batch-command=%(objectname)"],
            "--batch-command=%(objectname)",
        ),
        (&["--batch-command", "--buffer"], "--batch-command"),
    ] {
        assert_eq!(
            ask(options, input),
            (told(how), String::new(), 0),
            "{options:?}"
        );
    }
    let (stdout, _, code) = ask(&["--batch-command", "-z"], &input.replace('\n', "\0"));
    assert_eq!((stdout, code), (told("--batch-command -z"), 0));
    let refused = |stdout: &str, what: &str| (stdout.to_owned(), format!("fatal: {what}\n"), 128);
    assert_eq!(
        ask(
            &["--batch-command"],
            "info nothing\nremote-object-info gone x\ninfo nothing\n"
        ),
        refused("nothing missing\n", "gone")
    );
    let without = "remote-object-info requires arguments";
    assert_eq!(
        ask(&["--batch-command"], "remote-object-info\n"),
        refused("", without)
    );
    // An older git answers the line as any unknown command, and a git that is really Vigil asks nobody.
    let older = "#!/bin/sh\necho \"fatal: unknown command: 'remote-object-info'\" >&2; exit 128\n";
    for script in [
        older.to_owned(),
        format!("#!/bin/sh\nexec '{VIGIL}' \"$@\"\n"),
    ] {
        put(&script);
        let unknown = "unknown command: 'remote-object-info x'";
        assert_eq!(
            ask(&["--batch-command"], "remote-object-info x\n"),
            refused("", unknown)
        );
    }
}
