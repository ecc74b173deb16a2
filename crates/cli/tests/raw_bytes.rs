//! Messages about names, values and lines that are not UTF-8: the same bytes as git's.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::BStr;
use vigil_testkit::sandbox::Sandbox;

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

const COMMANDS: &[&[&str]] = &[
    &["status", "-s"],
    &["describe"],
    &["describe", "--dirty"],
    &["cat-file", "-t", "HEAD"],
];

/// A repository in a folder whose name is not UTF-8, with a tagged commit.
fn repository() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::empty();
    let top = sandbox.path_from_root(b"n\xff");
    std::fs::create_dir(&top).unwrap();
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["commit", "-q", "--allow-empty", "-m", "x"],
        &["tag", "-a", "-m", "x", "v1"],
    ] {
        let mut command = sandbox.command("git", &top, arguments);
        assert!(command.status().unwrap().success());
    }
    (sandbox, top)
}

/// Asserts that both programs write the same bytes, and that these are not UTF-8.
fn assert_same_bytes<A: AsRef<[u8]>>(
    sandbox: &Sandbox,
    top: &Path,
    variables: &[(&str, &[u8])],
    arguments: &[A],
    why: &[u8],
) {
    let run = |program: &str| {
        let arguments = arguments
            .iter()
            .map(|argument| OsStr::from_bytes(argument.as_ref()));
        let mut command = sandbox.command(program, top, arguments);
        for (name, value) in variables {
            command.env(name, OsStr::from_bytes(value));
        }
        command.output().unwrap()
    };
    let (ours, theirs) = (run(VIGIL), run("git"));
    assert_eq!(
        BStr::new(&ours.stderr),
        BStr::new(&theirs.stderr),
        "{}",
        BStr::new(why)
    );
    assert_eq!(
        ours.status.code(),
        theirs.status.code(),
        "{}",
        BStr::new(why)
    );
    assert_eq!(ours.stdout, theirs.stdout, "{}", BStr::new(why));
}

#[test]
fn values_and_names_of_the_configuration() {
    let (sandbox, top) = repository();
    let texts: &[&[u8]] = &[
        b"[core]\nbare=\xff",
        b"[core]\n\xff",
        b"[a \"\xff\"]\nb\xff=c",
        b"[core]\nabbrev=\xff",
        b"[color]\nstatus=\xff",
        b"[color \"status\"]\nadded=\xff",
        b"[core]\nexcludesFile=~\xff/x",
        b"[core]\nattributesFile=~\xff/x",
        b"[core]\nfsync=\xff",
        b"[core]\neol=\xff",
        b"[status]\nshowUntrackedFiles=\xff",
        b"[column]\nui=\xff",
        b"[branch \"main\"]\nremote=\xff\nmerge=refs/heads/\xff",
        b"[remote \"\xff\"]\nfetch=\xff:\xff:\n[branch \"main\"]\nremote=\xff\nmerge=x",
        b"[core]\nrepositoryformatversion=1\n[extensions]\nfoo\xff=1",
        b"[core]\nworktree=/nowhere\xff",
        b"[submodule \"\xff\"]\nignore=\xff",
    ];
    for text in texts {
        std::fs::write(top.join(".git/config"), text).unwrap();
        for arguments in COMMANDS {
            assert_same_bytes(&sandbox, &top, &[], arguments, text);
        }
    }
    std::fs::write(top.join(".git/config"), "").unwrap();
    let file = top.join(OsStr::from_bytes(b"\xff.conf"));
    for text in ["[core", "[core]\nbare=x"] {
        std::fs::write(&file, text).unwrap();
        let variable = [("GIT_CONFIG_GLOBAL", file.as_os_str().as_bytes())];
        assert_same_bytes(
            &sandbox,
            &top,
            &variable,
            &["status", "-s"],
            text.as_bytes(),
        );
    }
}

#[test]
fn arguments_and_variables() {
    let (sandbox, top) = repository();
    let arguments: &[&[&[u8]]] = &[
        &[b"-c", b"core.\xff=1", b"status"],
        &[b"-c", b"core.bare=\xff", b"status"],
        &[b"-C", b"/\xff", b"status"],
        &[b"--git-dir=/\xff", b"status"],
        &[b"status", b"--untracked-files=\xff"],
        &[b"status", b"--ignore-submodules=\xff"],
        &[b"status", b"--", b"/\xff"],
        &[b"status", b"--", b":(\xff)x"],
        &[b"status", b"--", b":(attr:-a\xff=b)x"],
        &[b"status", b"--", b":(attr:a=\xff)x"],
        &[b"status", b"--", b":(top\xff"],
        &[b"describe", b"\xff"],
        &[b"describe", b"HEAD:\xff"],
        &[b"cat-file", b"-t", b"\xff"],
        &[b"cat-file", b"-p", b"HEAD:\xff"],
        &[b"cat-file", b"-p", b":1:\xff"],
        &[b"cat-file", b"-p", b"\xff@{u}"],
        &[b"cat-file", b"\xff", b"HEAD"],
        &[b"cat-file", b"--batch=%(\xff)"],
    ];
    for arguments in arguments {
        assert_same_bytes(&sandbox, &top, &[], arguments, &arguments.join(&b' '));
    }
    for (name, value) in [
        ("GIT_DIR", b"/\xff"),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", b"/\xff"),
        ("GIT_OBJECT_DIRECTORY", b"/\xff"),
        ("GIT_CONFIG_COUNT", b"1\xff"),
        ("GIT_CONFIG_PARAMETERS", b"x\xff"),
        ("GIT_OPTIONAL_LOCKS", b"x\xff"),
    ] {
        for arguments in COMMANDS {
            assert_same_bytes(&sandbox, &top, &[(name, value)], arguments, name.as_bytes());
        }
    }
}

#[test]
fn files_of_the_repository() {
    let files: &[(&[u8], &[u8])] = &[
        (b".git/HEAD", b"\xff\n"),
        (b".git/HEAD", b"ref: refs/heads/\xff\n"),
        (b".git/packed-refs", b"\xff\xff bad\n"),
        (b".git/index", &[b"DIRC".as_slice(), &[0xff; 28]].concat()),
        (b".git/objects/info/alternates", b"/\xff\n\xff\n"),
        (b".git/shallow", b"\xff\n"),
        (
            b".gitattributes",
            b"* \xff=1\n* -a\xff%\n[attr]\xff% a\n\xff!a\n",
        ),
        (
            b".gitmodules",
            b"[submodule \"\xff\"]\npath=\xff\nignore=\xff\n",
        ),
        (b".gitmodules", b"[\xff\n"),
    ];
    for (path, contents) in files {
        let (sandbox, top) = repository();
        std::fs::write(top.join("file"), "").unwrap();
        let add = sandbox
            .command("git", &top, ["add", "file"])
            .status()
            .unwrap();
        assert!(add.success());
        std::fs::write(top.join("file"), "changed").unwrap();
        std::fs::write(top.join(OsStr::from_bytes(path)), contents).unwrap();
        for arguments in COMMANDS {
            assert_same_bytes(&sandbox, &top, &[], arguments, &[*path, contents].concat());
        }
    }
}

/// A filter is found by its name, whatever bytes the name contains.
#[test]
fn a_filter_that_must_not_fail() {
    let (sandbox, top) = repository();
    std::fs::write(top.join("file"), "").unwrap();
    let add = sandbox
        .command("git", &top, ["add", "file"])
        .status()
        .unwrap();
    assert!(add.success());
    std::fs::write(top.join("file"), "changed").unwrap();
    std::fs::write(top.join(".gitattributes"), b"* filter=\xff\n").unwrap();
    let config = b"[filter \"\xff\"]\nclean=false\nrequired\n";
    std::fs::write(top.join(".git/config"), config).unwrap();
    assert_same_bytes(&sandbox, &top, &[], &["status", "-s"], config);
}
