//! `vigil cat-file` compared with `git cat-file`: the same bytes, messages and exit codes.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Output, Stdio};

use vigil_testkit::sandbox::{git_is_at_least, run_with_input, skip_test};

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// Two repositories: one with loose and packed objects, a mailmap, attributes, tags and links, and an empty one.
struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    fn new(format: &str) -> Self {
        let mut sandbox =
            vigil_testkit::sandbox::Sandbox::initialised(&[&format!("--object-format={format}")]);
        for who in ["AUTHOR", "COMMITTER"] {
            sandbox.set_variable(&format!("GIT_{who}_NAME"), "Wrong Name");
            sandbox.set_variable(&format!("GIT_{who}_EMAIL"), "author@example.com");
        }
        let top = sandbox.top();
        for (name, contents) in [
            ("file", "one\n".repeat(400)),
            ("dir/data", "no end of line".to_owned()),
            ("dir/sub/empty", String::new()),
            (
                ".mailmap",
                "Right Name <right@example.com> <author@example.com>\n".to_owned(),
            ),
            (
                ".gitattributes",
                "*.id ident\n*.crlf text eol=crlf\n*.up diff=up\n".to_owned(),
            ),
            ("a.id", "$Id$\n".to_owned()),
            ("a.crlf", "a\nb\n".to_owned()),
            ("a.up", "shout\n".to_owned()),
        ] {
            sandbox.write(name, contents);
        }
        std::os::unix::fs::symlink("../file", top.join("dir/link")).unwrap();
        std::os::unix::fs::symlink("nowhere", top.join("dangling")).unwrap();
        std::os::unix::fs::symlink("../../outside", top.join("dir/out")).unwrap();
        std::os::unix::fs::symlink("circle", top.join("circle")).unwrap();
        sandbox.git(["config", "diff.up.textconv", "tr a-z A-Z <"]);
        sandbox.git(["add", "-A"]);
        sandbox.git(["commit", "-q", "-m", "first"]);
        std::fs::write(top.join("file"), format!("{}two\n", "one\n".repeat(399))).unwrap();
        sandbox.git(["commit", "-q", "-a", "-m", "second"]);
        sandbox.git(["tag", "-a", "-m", "tagged", "v1"]);
        sandbox.git(["repack", "-q", "-a", "-d", "-f"]);
        std::fs::write(top.join("late"), "loose\n").unwrap();
        sandbox.git(["add", "-A"]);
        sandbox.git(["commit", "-q", "-m", "third"]);
        Self(sandbox)
    }

    fn run(&self, program: &str, arguments: &[&str], input: &[u8]) -> Output {
        run_with_input(self.command(program, "", arguments), input)
    }

    /// What git prints, including the final newline.
    fn git(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.git_bytes(arguments)).unwrap()
    }

    /// Asserts that both programs answer `arguments` and `input` alike.
    fn assert_same_cat_file(&self, arguments: &[&str], input: &[u8]) {
        self.assert_same_as_git_with_input(&[&["cat-file"], arguments].concat(), input);
    }

    fn ids(&self) -> Vec<String> {
        let all = self.git(&[
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname)",
        ]);
        all.lines().map(str::to_owned).collect()
    }
}

const REVISIONS: &[&str] = &[
    "HEAD",
    "v1",
    "v1^{}",
    "HEAD^{tree}",
    "HEAD:file",
    "HEAD:dir",
    "HEAD:dir/",
    "HEAD:no/such",
    ":file",
    "HEAD~2",
    "nonsense",
    "HEAD:dir/link",
    "HEAD:dangling",
    "HEAD:dir/out",
    "HEAD:circle",
    "HEAD:file/x",
    "HEAD:dir/link/x",
    "",
];

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

#[test]
fn single_objects_print_what_git_prints() {
    let sandbox = Sandbox::new("sha1");
    let ids = sandbox.ids();
    let named = REVISIONS.iter().copied().filter(|name| !name.is_empty());
    for name in named.chain(ids.iter().map(String::as_str)) {
        for options in [
            &["-t"][..],
            &["-s"],
            &["-e"],
            &["-p"],
            &["blob"],
            &["tree"],
            &["commit"],
            &["tag"],
            &["no-type"],
            &["--textconv"],
            &["--filters"],
            &["-p", "--use-mailmap"],
        ] {
            sandbox.assert_same_cat_file(&[options, &[name]].concat(), b"");
        }
    }
    for path in ["a.id", "a.crlf", "a.up", "file"] {
        for transform in ["--filters", "--textconv"] {
            sandbox.assert_same_cat_file(&[transform, &format!("HEAD:{path}")], b"");
            sandbox.assert_same_cat_file(&[transform, &format!("--path={path}"), "HEAD:file"], b"");
            let line = format!("HEAD:a.up {path}\nHEAD {path}\nHEAD:file\n");
            sandbox.assert_same_cat_file(&["--batch", transform], line.as_bytes());
        }
    }
}

#[test]
fn attributes_may_come_from_a_tree() {
    let sandbox = Sandbox::new("sha1");
    sandbox.git(&["tag", "attributes"]);
    std::fs::remove_file(sandbox.top().join(".gitattributes")).unwrap();
    for name in [
        "attributes",
        "attributes^{tree}",
        "attributes:file",
        "missing",
    ] {
        for source in [
            &[][..],
            &[&*format!("--attr-source={name}")],
            &["-c", &format!("attr.tree={name}")],
        ] {
            for transform in ["--filters", "--textconv"] {
                for path in ["a.id", "a.crlf", "a.up", "file"] {
                    let path = format!("--path={path}");
                    for object in ["HEAD:file", "HEAD:", "HEAD:missing"] {
                        let arguments = [source, &["cat-file", transform, &path, object]].concat();
                        sandbox.assert_same_as_git_with_input(&arguments, b"");
                    }
                }
                let arguments = [source, &["cat-file", "--batch", transform]].concat();
                sandbox.assert_same_as_git_with_input(
                    &arguments,
                    b"HEAD: a.up\nHEAD:file a.up\nHEAD:file a.crlf\n",
                );
            }
        }
    }
}

#[test]
fn wrong_command_lines_end_as_with_git() {
    let sandbox = Sandbox::new("sha1");
    let code = |program, arguments: &[&str]| {
        let arguments = [&["cat-file"], arguments].concat();
        sandbox.run(program, &arguments, b"").status.code()
    };
    for arguments in [
        &[][..],
        &["-p"],
        &["-t", "HEAD", "v1"],
        &["x"],
        &["a", "b", "c"],
        &["nothing", "HEAD"],
        &["--batch", "HEAD"],
        &["--batch", "--batch-check"],
        &["--batch", "-p"],
        &["-e", "-p", "HEAD"],
        &["--path=x", "-p", "HEAD"],
        &["--buffer", "-p", "HEAD"],
        &["--unknown"],
    ] {
        assert_eq!(
            code(VIGIL, arguments),
            code("git", arguments),
            "{arguments:?}"
        );
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
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let _ = stdin.write_all(b"HEAD\n");
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(13));
    assert!(output.stderr.is_empty());
}

/// Damage is reported as by git, and what follows the damage is answered where git answers it.
#[test]
fn damage_is_reported_as_by_git() {
    let sandbox = Sandbox::new("sha1");
    let id = sandbox.git(&["rev-parse", "HEAD:late"]).trim().to_owned();
    let path = sandbox.loose_object(&id);
    let whole = std::fs::read(&path).unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    PermissionsExt::set_mode(&mut permissions, 0o644);
    std::fs::set_permissions(&path, permissions).unwrap();
    let question = format!("{id}\nHEAD\n");
    for damaged in [&b""[..], b"garbage", &whole[..whole.len() / 2]] {
        std::fs::write(&path, damaged).unwrap();
        for options in [&["--batch"][..], &["--batch-check"]] {
            sandbox.assert_same_cat_file(options, question.as_bytes());
        }
        for option in ["-t", "-s", "-p", "-e"] {
            sandbox.assert_same_cat_file(&[option, &id], b"");
        }
        // Older versions do not take an empty file for an object here, either.
        if git_is_at_least("git", 47) {
            sandbox.assert_same_cat_file(&["blob", &id], b"");
            sandbox.assert_same_cat_file(&["tree", &id], b"");
        }
    }
}

/// The name of a pack in messages depends on how the repository was found.
#[test]
fn a_pack_is_named_as_git_names_it() {
    let sandbox = Sandbox::new("sha1");
    let (top, bare) = (sandbox.top(), sandbox.root().join("bare"));
    let bare = bare.to_str().unwrap();
    sandbox.git(&["clone", "-q", "--bare", "--no-local", ".", bare]);
    let id = sandbox.git(&["rev-parse", "HEAD:file"]).trim().to_owned();
    for folder in [&top.join(".git"), Path::new(bare)] {
        for entry in std::fs::read_dir(folder.join("objects/pack")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "pack") {
                continue;
            }
            // Everything between the header and the checksum.
            let mut bytes = std::fs::read(&path).unwrap();
            let len = bytes.len();
            bytes[12..len - 20].fill(0xff);
            let mode = PermissionsExt::from_mode(0o644);
            std::fs::set_permissions(&path, mode).unwrap();
            std::fs::write(&path, bytes).unwrap();
        }
    }
    let folder = sandbox.root().to_str().unwrap();
    let absolute = format!("{folder}/work/.git/objects");
    let linked = top.join(".git/worktrees/linked");
    std::fs::create_dir_all(top.join("below/linked")).unwrap();
    std::fs::create_dir_all(&linked).unwrap();
    std::fs::copy(top.join(".git/HEAD"), linked.join("HEAD")).unwrap();
    std::fs::write(linked.join("commondir"), "../..\n").unwrap();
    let gitfile = top.join("below/linked/.git");
    std::fs::write(linked.join("gitdir"), gitfile.to_str().unwrap()).unwrap();
    std::fs::write(&gitfile, "gitdir: ../../.git/worktrees/linked\n").unwrap();
    let mut printed = std::collections::BTreeSet::new();
    for (directory, variables) in [
        ("work", &[][..]),
        ("work/dir", &[]),
        ("work/.git", &[]),
        ("work/.git/refs", &[]),
        ("work/below/linked", &[]),
        ("bare", &[]),
        ("bare/refs", &[]),
        ("", &[("GIT_DIR", "bare")]),
        ("bare/refs", &[("GIT_DIR", "..")]),
        ("work/dir", &[("GIT_DIR", "../.git")]),
        (
            "work/dir",
            &[("GIT_DIR", "../.git"), ("GIT_WORK_TREE", "..")],
        ),
        ("work", &[("GIT_OBJECT_DIRECTORY", ".git/objects")]),
        ("work/dir", &[("GIT_OBJECT_DIRECTORY", absolute.as_str())]),
    ] {
        let [git, vigil] = ["git", VIGIL].map(|program| {
            let mut command = sandbox.command(program, "", ["cat-file", "blob", &id]);
            command.current_dir(sandbox.root().join(directory));
            command.envs(variables.iter().copied()).output().unwrap()
        });
        assert_eq!(vigil, git, "{directory} {variables:?}");
        printed.insert(git.stderr);
    }
    assert!(printed.len() >= 7, "{printed:?}");
}

/// Each damaged stream makes git fail in another place of its library, some of which only its fast path reaches.
#[test]
fn damaged_streams_are_reported_as_by_git() {
    let sandbox = Sandbox::new("sha1");
    let top = sandbox.top();
    let rows = |from: u32, to: u32| {
        let row = |row: u32| format!("{row} {:x}\n", row.wrapping_mul(0x9e37_79b9));
        (from..to).map(row).collect::<String>()
    };
    // A base and its delta, an object that is streamed from the pack, and loose objects of both sizes.
    for (name, contents) in [
        ("base", rows(0, 900)),
        ("change", rows(300, 900) + &rows(2000, 2200)),
        ("start", rows(0, 700)),
        ("large", rows(0, 4000)),
    ] {
        std::fs::write(top.join(name), contents).unwrap();
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "packed"]);
    sandbox.git(&["repack", "-q", "-a", "-d", "-f"]);
    for (name, contents) in [("loose", rows(5, 700)), ("streamed", rows(7, 4000))] {
        std::fs::write(top.join(name), contents).unwrap();
    }
    sandbox.git(&["add", "-A"]);
    let pack = sandbox.pack_file("pack");
    for name in ["base", "change", "start", "large", "loose", "streamed"] {
        let id = sandbox.git(&["rev-parse", &format!(":{name}")]);
        let id = id.trim();
        let loose = sandbox.loose_object(id);
        let (file, start, len) = match loose.exists() {
            true => (loose.clone(), 0, std::fs::metadata(&loose).unwrap().len()),
            false => {
                let idx = sandbox.git(&["verify-pack", "-v", pack.to_str().unwrap()]);
                let line = idx.lines().find(|line| line.starts_with(id)).unwrap();
                let numbers: Vec<u64> = line
                    .split(' ')
                    .filter_map(|word| word.parse().ok())
                    .collect();
                // Before 2.55, git determined the size of a delta's result first.
                if numbers.len() > 3 && !git_is_at_least("git", 55) {
                    continue;
                }
                // The size, the size in the pack, and the offset there.
                (pack.clone(), numbers[2], numbers[1])
            }
        };
        let sound = std::fs::read(&file).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        for number in 0..60 {
            let mut bytes = sound.clone();
            let place = start + 12 + (number * 7919) % (len - 16);
            bytes[usize::try_from(place).unwrap()] ^= 1 << (number % 8);
            std::fs::write(&file, &bytes).unwrap();
            let [git, vigil] =
                ["git", VIGIL].map(|program| sandbox.run(program, &["cat-file", "blob", id], b""));
            assert_eq!(vigil, git, "{name}, byte {place}");
        }
        std::fs::write(&file, &sound).unwrap();
    }
}

/// Where a commit is expected, git first asks only for the object's type, and its message is about the object that was named.
#[test]
fn only_commits_have_parents() {
    let sandbox = Sandbox::new("sha1");
    sandbox.git(&["tag", "-a", "-m", "of a blob", "of-blob", "HEAD:late"]);
    sandbox.git(&["tag", "-a", "-m", "of a tag", "of-tag", "of-blob"]);
    // Before 2.55, git reported on what the tag leads to.
    if git_is_at_least("git", 55) {
        for name in ["of-blob^0", "of-blob~1", "of-tag^", "HEAD:dir~0"] {
            sandbox.assert_same_cat_file(&["-t", name], b"");
        }
    }
    // An invalid commit: to get from it to a tree, git looks only at its first line.
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    for text in [format!("tree {tree}nonsense"), "nonsense\n".to_owned()] {
        let arguments = [
            "hash-object",
            "-w",
            "--literally",
            "-t",
            "commit",
            "--stdin",
        ];
        let made = sandbox.run("git", &arguments, text.as_bytes());
        let made = String::from_utf8(made.stdout).unwrap();
        let name = format!("{}:dir/data", made.trim());
        sandbox.assert_same_cat_file(&["-t", &name], b"");
        sandbox.assert_same_cat_file(&["--batch-check"], name.as_bytes());
    }
}

/// git does not take the path for one that is relative to the directory.
#[test]
fn a_path_that_is_not_there_is_not_looked_for_in_the_directory() {
    let sandbox = Sandbox::new("sha1");
    for name in ["HEAD:data", ":data", ":1:data", "HEAD:nothing", ":nothing"] {
        let answers = [VIGIL, "git"].map(|program| {
            let mut command = sandbox.command(program, "dir", ["cat-file", "-p", name]);
            let output = command.output().unwrap();
            (output.status.code(), output.stdout, output.stderr)
        });
        assert_eq!(answers[0], answers[1], "{name}");
    }
}

/// git hands objects of any type to the command of a diff driver.
#[test]
fn objects_of_all_types_are_converted() {
    let sandbox = Sandbox::new("sha1");
    let id = sandbox.git(&["rev-parse", "v1"]);
    for name in ["HEAD", "v1", "HEAD^{tree}", "HEAD:dir", id.trim()] {
        for path in ["a.up", "file"] {
            let path = format!("--path={path}");
            sandbox.assert_same_cat_file(&["--textconv", &path, name], b"");
            sandbox.assert_same_cat_file(&["--filters", &path, name], b"");
        }
    }
    let missing = "12".repeat(20);
    sandbox.assert_same_cat_file(&["--textconv", "--path=a.up", &missing], b"");
    sandbox.assert_same_cat_file(&["--filters", "--path=a.id", &missing], b"");
}

#[test]
fn control_characters_are_not_shown() {
    let sandbox = Sandbox::new("sha1");
    let id = sandbox.git(&["rev-parse", "HEAD"]);
    let info = sandbox.top().join(".git/objects/info");
    std::fs::create_dir_all(&info).unwrap();
    std::fs::write(info.join("alternates"), "/no\rwhere\n").unwrap();
    sandbox.assert_same_cat_file(&["--batch-check"], id.as_bytes());
}

/// git writes a large blob up to the last whole part before the damage.
#[test]
fn streams_end_where_those_of_git_end() {
    let sandbox = Sandbox::new("sha1");
    let mut state = 1u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 26) as u8 + b'0'
    });
    std::fs::write(
        sandbox.top().join("noise"),
        noise.take(3 << 20).collect::<Vec<_>>(),
    )
    .unwrap();
    let id = sandbox.git(&["hash-object", "-w", "noise"]);
    let id = id.trim();
    let loose = sandbox.loose_object(id);
    let whole = std::fs::read(&loose).unwrap();
    std::fs::remove_file(&loose).unwrap();
    for at in [40, 1000, 300_000, whole.len() / 2, whole.len() - 2] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&loose, damaged).unwrap();
        for arguments in [&["--batch"][..], &["-p", id], &["blob", id]] {
            let arguments = [&["cat-file"], arguments].concat();
            let [ours, theirs] =
                [VIGIL, "git"].map(|program| sandbox.run(program, &arguments, id.as_bytes()));
            // The exact problem with the stream is reported in the words of a library.
            assert!(
                ours.stdout == theirs.stdout,
                "{arguments:?}, damage at {at}"
            );
            assert_eq!(
                ours.status.code(),
                theirs.status.code(),
                "{arguments:?}, damage at {at}"
            );
        }
    }
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

/// git changes to the top of the working tree before it looks for alternates.
#[test]
fn alternates_of_the_environment_are_relative_to_the_top() {
    let sandbox = Sandbox::new("sha1");
    sandbox.git(&["init", "-q", "../far"]);
    let id = sandbox.run(
        "git",
        &["-C", "../far", "hash-object", "-w", "--stdin"],
        b"far",
    );
    let id = String::from_utf8(id.stdout).unwrap();
    for alternate in ["../far/.git/objects", "../../../far/.git/objects"] {
        let types = [VIGIL, "git"].map(|program| {
            let arguments = ["-C", "dir/sub", "cat-file", "-t", id.trim()];
            let mut command = sandbox.command(program, "", arguments);
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternate);
            let output = command.output().unwrap();
            (output.status.code(), output.stdout)
        });
        assert_eq!(types[0], types[1], "{alternate}");
    }
}

#[test]
fn files_of_the_environment_are_relative_to_the_top() {
    let sandbox = Sandbox::new("sha1");
    sandbox.write("dir/sub/bad", "1\n");
    for (variable, command) in [
        ("GIT_SHALLOW_FILE", ["cat-file", "-p", "HEAD"]),
        ("GIT_GRAFT_FILE", ["describe", "--tags", "HEAD"]),
        ("GIT_GRAFT_FILE", ["status", "-s", "-b"]),
    ] {
        for path in ["bad", "dir/sub/bad"] {
            let answers = [VIGIL, "git"].map(|program| {
                let mut command = sandbox.command(program, "dir/sub", command);
                command.env("GIT_OPTIONAL_LOCKS", "0").env(variable, path);
                let output = command.output().unwrap();
                let errors = String::from_utf8(output.stderr).unwrap();
                // The command in the advice depends on git's version.
                let errors = errors.lines().filter(|line| !line.contains("git config"));
                let errors: Vec<String> = errors.map(str::to_owned).collect();
                (output.status.code(), output.stdout, errors)
            });
            assert_eq!(answers[0], answers[1], "{variable}={path} {command:?}");
        }
    }
}

/// git outputs the cached result of a conversion, even if the command would now produce another.
#[test]
fn cached_conversions_are_printed() {
    let sandbox = Sandbox::new("sha1");
    let path = sandbox.top().join("answer");
    std::fs::write(&path, "before\n").unwrap();
    let command = format!("cat {} #", path.display());
    sandbox.git(&["config", "diff.up.textconv", &command]);
    let both = |expected: &str| {
        let arguments = ["cat-file", "--textconv", "HEAD:a.up"];
        assert_eq!(
            sandbox.run(VIGIL, &arguments, b"").stdout,
            expected.as_bytes()
        );
        assert_eq!(sandbox.git(&arguments), expected);
    };
    both("before\n");
    sandbox.git(&["config", "diff.up.cachetextconv", "true"]);
    both("before\n");
    std::fs::write(&path, "after\n").unwrap();
    both("before\n");
    sandbox.git(&["config", "diff.up.textconv", &format!("{command} other")]);
    both("after\n");
}

/// The settings of diff drivers must be valid, whatever is asked.
#[test]
fn drivers_are_checked_before_anything_is_printed() {
    let sandbox = Sandbox::new("sha1");
    for (key, value) in [
        ("diff.up.cachetextconv", "perhaps"),
        ("diff.x.binary", "maybe"),
    ] {
        sandbox.git(&["config", key, value]);
        for arguments in [
            &["-t", "HEAD"][..],
            &["--batch"],
            &["--batch-check", "--nothing"],
        ] {
            sandbox.assert_same_cat_file(arguments, b"HEAD\n");
        }
        sandbox.git(&["config", "--unset", key]);
    }
}

/// The contents shown must be those of the tree that was asked for.
#[test]
fn a_tree_in_the_place_of_another_one_is_not_used() {
    let sandbox = Sandbox::new("sha1");
    let file = |name: &str| {
        let id = sandbox.git(&["rev-parse", name]);
        sandbox.loose_object(id.trim())
    };
    sandbox.git(&["update-index", "--force-remove", "late"]);
    sandbox.git(&["update-index", "--force-remove", "file"]);
    let other = sandbox.git(&["write-tree"]);
    let contents = std::fs::read(file(other.trim())).unwrap();
    let id = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let place = file(id.trim());
    std::fs::remove_file(&place).unwrap();
    std::fs::write(&place, contents).unwrap();
    for option in ["-p", "-t", "-s", "tree"] {
        sandbox.assert_same_cat_file(&[option, id.trim()], b"");
    }
}

/// An object named by its id in the other hash algorithm is shown with ids of that algorithm.
#[test]
fn objects_have_ids_in_the_other_hash_algorithm() {
    let sandbox = Sandbox(vigil_testkit::sandbox::Sandbox::new());
    if !git_is_at_least("git", 45) {
        return skip_test(
            "objects_have_ids_in_the_other_hash_algorithm",
            "git is older than 2.45",
        );
    }
    sandbox.git(&["config", "core.repositoryFormatVersion", "1"]);
    sandbox.git(&["config", "extensions.objectFormat", "sha1"]);
    sandbox.git(&["config", "extensions.compatObjectFormat", "sha256"]);
    let commit = |name: &str| {
        sandbox.write(name, format!("{name}\n"));
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "-m", name]);
    };
    commit("file");
    commit("dir/sub");
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    commit("theirs");
    sandbox.git(&["tag", "-a", "-m", "tagged", "v1"]);
    sandbox.git(&["checkout", "-q", "main"]);
    commit("ours");
    sandbox.write("empty", "");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "with an empty file"]);
    // The merge commit contains the tag that was merged.
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "merge", "v1"]);

    let mut names = Vec::new();
    for name in [
        "HEAD",
        "HEAD^{tree}",
        "HEAD:file",
        "HEAD:dir",
        "HEAD:empty",
        "v1",
        "HEAD~2",
        "HEAD^^{tree}",
    ] {
        let other = sandbox.git(&["rev-parse", "--output-object-format=sha256", name]);
        names.push(other.trim().to_owned());
    }
    // Starting from a commit or tag named this way, git does not get to other objects.
    for suffix in [":dir/sub", ":dir", ":nothing"] {
        names.push(format!("{}{suffix}", names[1]));
    }
    names.push("a".repeat(64));
    names.push("0".repeat(64));
    // In a batch, git does not find an empty tree that no commit has.
    let empty_tree = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
    for name in names.iter().map(String::as_str).chain([empty_tree]) {
        for option in ["-e", "-t", "-s", "-p", "tree", "blob", "commit"] {
            sandbox.assert_same_cat_file(&[option, name], b"");
        }
    }
    let input = names.join("\n") + "\nHEAD\n";
    for option in [
        "--batch",
        "--batch-check",
        "--batch-check=%(objecttype) %(objectname) %(objectsize:disk) %(rest)",
    ] {
        sandbox.assert_same_cat_file(&[option], input.as_bytes());
    }
    let commands: String = names
        .iter()
        .map(|name| format!("contents {name}\ninfo {name}\n"))
        .collect();
    sandbox.assert_same_cat_file(&["--batch-command"], commands.as_bytes());

    // So is the base of a delta.
    let lines: String = (0..200).map(|line| format!("{line}\n")).collect();
    let mut input_of_deltas = String::new();
    for last in 0..3 {
        sandbox.write("long", format!("{lines}{last}\n"));
        sandbox.git(&["add", "long"]);
        sandbox.git(&["commit", "-q", "-m", "long"]);
        let id = sandbox.git(&["rev-parse", "--output-object-format=sha256", ":long"]);
        input_of_deltas.push_str(&id);
    }
    sandbox.git(&["repack", "-adfq"]);
    for format in ["%(deltabase)", "%(objectsize) %(deltabase)"] {
        let option = format!("--batch-check={format}");
        sandbox.assert_same_cat_file(&[&option], input_of_deltas.as_bytes());
    }

    // Contents are rewritten as if the object had been named by its own id.
    sandbox.write(".mailmap", "New Name <new@name> <author@example.com>\n");
    sandbox.write(".gitattributes", "*.up filter=up diff=up\n*.id ident\n");
    sandbox.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    sandbox.git(&["config", "diff.up.textconv", "tr a-z 0-9 <"]);
    for option in ["--batch", "--batch-check"] {
        sandbox.assert_same_cat_file(&[option, "--use-mailmap"], input.as_bytes());
        for transform in ["--filters", "--textconv"] {
            for path in ["", " a.up", " b.id"] {
                let lines = names.iter().map(|name| format!("{name}{path}\n"));
                for line in lines {
                    sandbox.assert_same_cat_file(&[option, transform], line.as_bytes());
                }
            }
        }
    }
}

/// In a batch, git says nothing about references that look like ids, wherever in a name the id is.
#[test]
fn ids_that_are_names_of_references_are_taken_for_ids() {
    let sandbox = Sandbox::new("sha1");
    let id = sandbox.git(&["rev-parse", "HEAD"]);
    let id = id.trim();
    sandbox.git(&["update-ref", &format!("refs/heads/{id}"), "HEAD~1"]);
    for end in ["", "~1", "^", "^^{tree}", "~1:file", "^{tree}", ":file"] {
        let name = format!("{id}{end}");
        sandbox.assert_same_cat_file(&["--batch-check"], name.as_bytes());
    }
}

/// git reads the shallow boundary with the first commit that it parses, and exits if it cannot.
#[test]
fn a_bad_shallow_boundary_is_fatal_once_a_commit_is_parsed() {
    let sandbox = Sandbox::new("sha1");
    sandbox.git(&["tag", "-a", "-m", "tagged", "of-commit"]);
    sandbox.git(&["tag", "of-tree", "HEAD^{tree}"]);
    sandbox.write(".git/shallow", "no id\n");
    for name in ["HEAD", "of-commit", "of-tree", "HEAD:file"] {
        for end in [
            "",
            "^{}",
            "^{commit}",
            "^{tree}",
            "^{tag}",
            "^{object}",
            "^0",
            "~1",
        ] {
            let name = format!("{name}{end}");
            sandbox.assert_same_cat_file(&["-t", &name], b"");
            sandbox.assert_same_cat_file(&["--batch-check"], name.as_bytes());
        }
    }
}

#[test]
fn a_long_chain_of_tags_is_followed_to_its_end() {
    let sandbox = Sandbox::new("sha1");
    let start = sandbox.git(&["rev-parse", "HEAD"]);
    let mut stream = String::new();
    for number in 0..400 {
        let from = match number {
            0 => start.trim().to_owned(),
            number => format!(":{number}"),
        };
        let mark = number + 1;
        stream.push_str(&format!(
            "tag c{number}\nmark :{mark}\nfrom {from}\ntagger T <t@t> 1 +0000\ndata 0\n"
        ));
    }
    sandbox.run("git", &["fast-import", "--quiet"], stream.as_bytes());
    let mut names = String::new();
    for tag in ["c126", "c127", "c128", "c399"] {
        for end in [
            "",
            "^{}",
            "^{commit}",
            "^{tree}",
            "^{blob}",
            "~1",
            ":file",
            "^{/se}",
        ] {
            names.push_str(&format!("{tag}{end}\n"));
        }
        sandbox.assert_same_cat_file(&["-p", &format!("{tag}:file")], b"");
        sandbox.assert_same_cat_file(&["tree", tag], b"");
    }
    names.push_str(":/second\n");
    sandbox.assert_same_cat_file(&["--batch-check"], names.as_bytes());
}

#[test]
fn the_type_that_a_tag_names_counts_until_the_object_is_read() {
    for kind in ["blob", "tree", "nonsense", "commit"] {
        let sandbox = Sandbox::new("sha1");
        let id = sandbox.git(&["rev-parse", "HEAD~1"]);
        let id = id.trim();
        let length = if kind == "commit" { 39 } else { 40 };
        let text = format!("object {}\ntype {kind}\ntag bad\n\nx\n", &id[..length]);
        let arguments = ["hash-object", "-t", "tag", "-w", "--literally", "--stdin"];
        let tag = sandbox.run("git", &arguments, text.as_bytes()).stdout;
        std::fs::write(sandbox.top().join(".git/refs/tags/bad"), tag).unwrap();
        for end in [
            "^{}",
            "^{commit}",
            "^{tag}",
            "^{tree}",
            "^{blob}",
            "^{object}",
            "^{/x}",
            ":file",
        ] {
            sandbox.assert_same_cat_file(&["--batch-check"], format!("bad{end}\n").as_bytes());
        }
        for option in ["-t", "-p", "-e", "commit", "tree", "blob", "tag"] {
            sandbox.assert_same_cat_file(&[option, "bad"], b"");
        }
        for option in ["-t", "-p", "-e"] {
            sandbox.assert_same_cat_file(&[option, "bad^{}"], b"");
            sandbox.assert_same_cat_file(&[option, "bad^{commit}"], b"");
        }
        // Messages already printed affect what follows.
        sandbox.assert_same_cat_file(&["--batch-check"], b"bad^{}\nHEAD~1\nHEAD\nHEAD~2:file\n");
        sandbox.assert_same_cat_file(&["--batch-check"], b"HEAD~1\nbad^{}\nHEAD\n");
        sandbox.assert_same_cat_file(&["--batch-check"], b":/second\nbad^{}\n");
    }
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
