//! Tests against real git: the entries that it lists, and its errors for damage.

use bstr::ByteSlice;

use super::*;
use crate::environment::Environment;
use crate::repository::tests::sandbox::{Sandbox, assert_same_as_git, run};
use crate::repository::{Repository, discover};
use vigil_testkit::sandbox::skip_test;

fn open(environment: &Environment) -> Repository {
    discover(environment, environment.working_directory()).unwrap()
}

/// Compares all entries with `git config --list`.
#[track_caller]
fn assert_same_list(sandbox: &Sandbox, cwd: &str, variables: &[(&str, &str)]) -> Config {
    let environment = sandbox.with(variables, cwd);
    let config = open(&environment).config;
    let mut list = BString::default();
    for entry in config.entries() {
        list.extend_from_slice(entry.key);
        if let Some(value) = entry.value {
            list.push(b'\n');
            list.extend_from_slice(value);
        }
        list.push(0);
    }
    let output = run(&environment, &["config", "--list", "-z"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(list, output.stdout.as_bstr());
    config
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    sandbox
}

#[test]
fn scopes_come_in_gits_order() {
    let sandbox = sandbox();
    sandbox.write("home/.gitconfig", "[a]\nb=home\n");
    sandbox.write("home/.config/git/config", "[a]\nb=xdg\n");
    sandbox.write("xdg/git/config", "[a]\nb=other\n");
    sandbox.write("system", "[a]\nb=system\n");
    sandbox.append(
        "main/.git/config",
        "[a]\nb=local\n[extensions]\nworktreeConfig\n",
    );
    sandbox.write("main/.git/config.worktree", "[a]\nb=worktree\n");
    let config = assert_same_list(
        &sandbox,
        "main",
        &[
            ("GIT_CONFIG_NOSYSTEM", "no"),
            ("GIT_CONFIG_SYSTEM", "@/system"),
            ("GIT_CONFIG_PARAMETERS", "'a.b'='command' 'a.C'='x'"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "a.b"),
            ("GIT_CONFIG_VALUE_0", "counted"),
        ],
    );
    let values: Vec<_> = config
        .every("A.B")
        .filter_map(|entry| entry.value)
        .collect();
    assert_eq!(
        values,
        [
            "system", "xdg", "home", "local", "worktree", "counted", "command"
        ]
    );
    assert_eq!(config.string("a.b"), Some("command".into()));
    assert_same_list(&sandbox, "main", &[("XDG_CONFIG_HOME", "@/xdg")]);
    assert_same_list(&sandbox, "main", &[("XDG_CONFIG_HOME", "")]);
    assert_same_list(&sandbox, "main", &[("GIT_CONFIG_GLOBAL", "@/system")]);
    assert_same_list(&sandbox, "main", &[("GIT_CONFIG_GLOBAL", "../system")]);
    assert_same_list(&sandbox, "main", &[("GIT_CONFIG_GLOBAL", "")]);
    assert_same_list(&sandbox, "main/.git", &[("GIT_CONFIG_GLOBAL", "/dev/null")]);
}

#[test]
fn text_is_read_as_git_reads_it() {
    let sandbox = sandbox();
    let before = std::fs::read(sandbox.root.join("main/.git/config")).unwrap();
    for text in [
        "[a]b=c\n[A.B]c\n[a \"B.c\\\"\\\\\"] d = \"x;\"#y\n",
        "[a]\r\nb = c \\\r\n d\r\n e=\r x\n",
        "[a]\n b = \\t\\b\\n\\\\\\\"  \n",
        "[a]\n b = x # \\\n c\n",
        "[a]\nb = x\\\n# y\n c = \"x\\\ny\"\n",
        "[a-1.x.Y]\nb-2= \"\" \n",
        "[a]\nb=\u{e4}\u{0}x\n",
        "[a \"\"]\nb=c",
        "; x\n# y\n[a] ; z\nb=c\n \t\n",
    ] {
        std::fs::write(
            sandbox.root.join("main/.git/config"),
            [&before, text.as_bytes()].concat(),
        )
        .unwrap();
        assert_same_list(&sandbox, "main", &[]);
        sandbox.write("home/.gitconfig", &format!("\u{feff}{text}"));
        assert_same_list(&sandbox, "main", &[]);
        std::fs::remove_file(sandbox.root.join("home/.gitconfig")).unwrap();
    }
    std::fs::write(sandbox.root.join("main/.git/config"), &before).unwrap();
    for text in [
        "b=c\n",
        "[a]\nb=\"c\n",
        "[a]\nb=\\x\n",
        "[a\n]",
        "[a \"b]\nc=d",
        "[a\"b\"]",
        "[a \"b\" ]",
        "[]\n",
        "[a]\n\n1=x",
        "[a]\nb c",
        "[a]\n_=1",
        "[a",
        "\u{feff}\n]",
        "[a]\nb=x\\",
        "[a \"\n\"]",
    ] {
        sandbox.write("home/.gitconfig", text);
        assert_same_as_git(&sandbox, "main", &[]);
        std::fs::remove_file(sandbox.root.join("home/.gitconfig")).unwrap();
        sandbox.append("main/.git/config", "");
        let local = [&before, text.as_bytes()].concat();
        std::fs::write(sandbox.root.join("main/.git/config"), local).unwrap();
        assert_same_as_git(&sandbox, "main", &[]);
        assert_same_as_git(&sandbox, "home", &[("GIT_DIR", "../main/.git")]);
        std::fs::write(sandbox.root.join("main/.git/config"), &before).unwrap();
    }
    let text = b"[core]\nrepositoryformatversion=0\nb=\xff\xfe\n[a \"\xff\"]\nx=\x01\n";
    std::fs::write(sandbox.root.join("main/.git/config"), text).unwrap();
    let config = assert_same_list(&sandbox, "main", &[]);
    assert_eq!(config.subsections("A"), [BString::from(&b"\xff"[..])]);
    assert_eq!(
        config.subsection_string("A", b"\xff".as_bstr(), "X"),
        Some("\u{1}".into())
    );
}

#[test]
fn files_include_each_other() {
    let sandbox = sandbox();
    sandbox.git("", &["init", "-q", "--bare", "linked.git"]);
    std::os::unix::fs::symlink("main", sandbox.root.join("link")).unwrap();
    sandbox.write("home/inc/one", "[a]\nfrom=one\n[include]\npath=two\n");
    sandbox.write("home/inc/two", "[a]\nfrom=two\n");
    sandbox.write("home/yes", "[a]\nyes\n");
    sandbox.write("home/.gitconfig", "[a]\nx=1\n[include]\npath=inc/one\npath=~/inc/two\npath=none\npath=@/home/inc/two\n[a]\nx=2\n");
    sandbox.append("main/.git/config", "[include]\npath=../../home/inc/one\n");
    assert_same_list(&sandbox, "main", &[]);
    sandbox.git("main", &["checkout", "-q", "-b", "topic/x"]);
    for condition in [
        "gitdir:main/.git",
        "gitdir:main/",
        "gitdir:main",
        "gitdir:@/main/.git",
        "gitdir:@/main/",
        "gitdir:~/../main/",
        "gitdir:./../main/",
        "gitdir:./main/",
        "gitdir:@/*/.git",
        "gitdir:@/MAIN/",
        "gitdir/i:@/MAIN/",
        "gitdir/i:**/.GIT",
        "gitdir:@/link/",
        "gitdir:**",
        "gitdir:",
        "onbranch:topic/x",
        "onbranch:topic/",
        "onbranch:topic",
        "onbranch:*",
        "onbranch:**",
        "hasconfig:remote.*.url:https://x/**",
        "hasconfig:remote.*.url:https://y/*",
        "hasconfig:other:x",
        "future:x",
        "",
    ] {
        sandbox.write(
            "home/.gitconfig",
            &format!(
                "[remote \"a\"]\nurl=https://x/y/z\n[remote \"b\"]\nurl=w\n[includeIf \"{condition}\"]\npath=yes\n"
            ),
        );
        assert_same_list(&sandbox, "main", &[]);
        assert_same_list(&sandbox, "main/.git", &[]);
        // A shell that came through the symbolic link has its path in PWD.
        let pwd = [("PWD", "@/link"), ("GIT_DIR", ".git")];
        assert_same_list(&sandbox, "link", &pwd);
    }
}

#[test]
fn files_are_included_for_a_working_tree() {
    let sandbox = sandbox();
    sandbox.git("", &["init", "-q", "--bare", "bare.git"]);
    sandbox.folder("main/sub");
    std::os::unix::fs::symlink("main", sandbox.root.join("link")).unwrap();
    sandbox.write("home/yes", "[a]\nyes\n");
    sandbox.write("home/.gitconfig", "[includeIf \"worktree:**\"]\npath=yes\n");
    let listed = run(&sandbox.with(&[], "main"), &["config", "--get", "a.yes"]);
    if !listed.status.success() {
        skip_test("conditions about working trees", "git is too old");
        return;
    }
    for condition in [
        "worktree:main",
        "worktree:main/",
        "worktree:@/main",
        "worktree:@/",
        "worktree:@/link",
        "worktree:~/../main",
        "worktree:./../main",
        "worktree:./",
        "worktree:@/MAIN",
        "worktree/i:@/MAIN",
        "worktree/i:MAIN/",
        "worktree:**",
        "worktree:",
    ] {
        let text = format!("[includeIf \"{condition}\"]\npath=yes\n");
        sandbox.write("home/.gitconfig", &text);
        for folder in ["main", "main/sub", "main/.git", "bare.git"] {
            assert_same_list(&sandbox, folder, &[]);
        }
        let elsewhere = [("GIT_DIR", "@/bare.git"), ("GIT_WORK_TREE", "@/main")];
        assert_same_list(&sandbox, "", &elsewhere);
        let pwd = [("PWD", "@/link"), ("GIT_DIR", ".git")];
        assert_same_list(&sandbox, "link", &pwd);
    }
}

#[test]
fn includes_fail_as_gits_do() {
    let sandbox = sandbox();
    sandbox.write("home/loop", "[include]\npath=loop\n");
    sandbox.write("home/url", "[a]\nb=c\n[remote \"b\"]\nurl=x\n");
    for text in [
        "[include]\npath=loop\n",
        "[include]\npath\n",
        "[include]\npath=~nobody-here/x\n",
        "[include]\npath=@/main\n",
        "[include]\npath=.\n",
        "[includeIf \"gitdir:**\"]\npath\n",
        "[includeIf \"hasconfig:remote.*.url:y\"]\npath=url\n",
        "[includeIf \"hasconfig:remote.*.url:y\"]\npath=loop\n",
    ] {
        sandbox.write("home/.gitconfig", text);
        assert!(
            assert_same_as_git(&sandbox, "main", &[]).is_none(),
            "{text}"
        );
    }
    sandbox.write("home/.gitconfig", "");
    for parameters in [
        "'include.path'='x'",
        "'includeIf.gitdir:**.path'='x'",
        "'include.path'='@/home/loop'",
        "'include.path'='@/home/url'",
        "'x",
        "x",
        "'x'='y'",
    ] {
        assert_same_as_git(&sandbox, "main", &[("GIT_CONFIG_PARAMETERS", parameters)]);
    }
    for (count, name) in [
        ("x", "a.b"),
        ("1", ""),
        ("1", "a"),
        ("2", "a.b"),
        ("99999999999", "a.b"),
        ("", ""),
    ] {
        let variables = [
            ("GIT_CONFIG_COUNT", count),
            ("GIT_CONFIG_KEY_0", name),
            ("GIT_CONFIG_VALUE_0", "x"),
        ];
        assert_same_as_git(&sandbox, "main", &variables);
    }
    assert_same_as_git(&sandbox, "main", &[("GIT_CONFIG_NOSYSTEM", "maybe")]);
}

#[test]
fn the_branch_is_watched_where_it_counts() {
    let sandbox = sandbox();
    sandbox.write(
        "home/.gitconfig",
        "[includeIf \"onbranch:topic\"]\npath=yes\n",
    );
    sandbox.write("home/yes", "[a]\nyes\n");
    let config = open(&sandbox.with(&[], "main")).config;
    assert_eq!(config.boolean("a.yes"), Ok(None));
    assert!(config.is_fresh());
    sandbox.git("main", &["checkout", "-q", "-b", "topic"]);
    assert!(!config.is_fresh());
    let config = open(&sandbox.with(&[], "main")).config;
    assert_eq!(config.boolean("a.yes"), Ok(Some(true)));
    sandbox.write("main/.git/HEAD", "ref: refs/heads/topic");
    assert!(config.is_fresh());
}

#[test]
fn a_file_that_is_named_as_optional_counts_from_when_it_is_there() {
    let sandbox = sandbox();
    let settings = "[a]\nhome=:(optional)~/x\ntop=:(optional)x\n";
    sandbox.write("home/.gitconfig", settings);
    sandbox.write("main/below/y", "");
    let read = || open(&sandbox.with(&[], "main/below")).config;
    for (file, key) in [("home/x", "a.home"), ("main/x", "a.top")] {
        let config = read();
        assert_eq!(config.path(key), Ok(None));
        assert!(config.is_fresh());
        sandbox.write(file, "");
        assert!(!config.is_fresh());
        let config = read();
        assert!(config.path(key).unwrap().is_some() && config.is_fresh());
        sandbox.write(file, "changed");
        assert!(config.is_fresh());
        std::fs::remove_file(sandbox.root.join(file)).unwrap();
        assert!(!config.is_fresh());
    }
}

#[test]
fn values_have_types() {
    let text = b"[a]\nyes\nsize=1k\nword=x\npath=~/x\noptional=:(optional)/none/x\nempty=\n";
    let config = Config::from_bytes(text, "name").unwrap();
    assert_eq!(config.boolean("A.Yes"), Ok(Some(true)));
    assert_eq!(config.string("a.yes"), Some("".into()));
    let entry = |key| config.entry(key).unwrap();
    assert_eq!(entry("a.size").integer(), Ok(1024));
    assert_eq!(entry("a.size").bool_or_int(), Ok(BoolOrInt::Int(1024)));
    assert_eq!(entry("a.empty").bool_or_int(), Ok(BoolOrInt::Bool(false)));
    assert_eq!(config.path("a.optional"), Ok(None));
    assert_eq!(config.path("a.none"), Ok(None));
    let text = |error: Error| error.to_string();
    assert_eq!(
        config.boolean("a.word").map_err(text),
        Err("bad boolean config value 'x' for 'a.word'".into())
    );
    assert_eq!(
        entry("a.word").integer().map_err(text),
        Err("bad numeric config value 'x' for 'a.word' in file name: invalid unit".into())
    );
    assert_eq!(
        config.path("a.path").map_err(text),
        Err("failed to expand user dir in: '~/x'".into())
    );
    let error = config.path("a.yes").unwrap_err();
    assert_eq!(error.messages(), ["error: missing value for 'a.yes'"]);
    assert_eq!(
        text(error),
        "bad config variable 'a.yes' in file 'name' at line 2"
    );
    assert_eq!(
        Config::from_bytes(b"[a]\n=", "file name")
            .map_err(text)
            .map(drop),
        Err("bad config line 2 in file name".into())
    );
}

#[test]
fn any_bytes_can_be_parsed() {
    let mut seed = 1_u64;
    let alphabet = b"[]\"\\=.;# \t\r\na1-\0\xef\xbb\xbf";
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..24)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                alphabet[(seed >> 33) as usize % alphabet.len()]
            })
            .collect();
        if let Ok(config) = Config::from_bytes(&bytes, "x") {
            assert!(config.entries().all(|entry| entry.key.contains(&b'.')));
        }
    }
}

#[test]
fn a_file_is_too_long_only_if_what_was_read_of_it_is_valid() {
    let len = usize::try_from(FILE_LEN_MAX).unwrap();
    let valid = [b"[a]\nb=1\n#".to_vec(), vec![b'x'; len - 9]].concat();
    assert!(Config::from_beginning(&valid, "file x").is_none());
    let (_, error) = Config::from_beginning(&valid[1..], "file x").unwrap();
    assert_eq!(error.unwrap().to_string(), "bad config line 1 in file x");
    let (whole, error) = Config::from_beginning(&valid[..len - 1], "file x").unwrap();
    assert_eq!(whole.string("a.b").unwrap(), "1");
    assert_eq!(error, None);
    let invalid = vec![0; len];
    let (_, error) = Config::from_beginning(&invalid, "file x").unwrap();
    assert_eq!(error.unwrap().to_string(), "bad config line 1 in file x");
}
