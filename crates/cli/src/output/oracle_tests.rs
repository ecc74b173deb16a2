//! Compares every format with git: git's porcelain v2 with `-z` is parsed into a [`Status`], from which the writers must produce
//! git's output in all other formats.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use bstr::{BString, ByteSlice};
use vigil_engine::status::{
    Change, Status, SubmoduleState, TrackedChange, UnmergedChange, UnmergedSide,
};
use vigil_git::refs::Head;
use vigil_history::branch::{BranchStatus, Distance, Upstream};
use vigil_model::ObjectId;
use vigil_model::change::{ChangeKind, RenameSource};
use vigil_model::mode::FileMode;

use super::color::Palette;
use super::{Format, Presentation, write};

struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    fn new(init_options: &[&str]) -> Self {
        let mut sandbox = vigil_testkit::sandbox::Sandbox::initialised(init_options);
        sandbox.set_variable("TERM", "xterm");
        Self(sandbox)
    }

    fn write(&self, name: impl AsRef<[u8]>, contents: &str) {
        self.0.write(OsStr::from_bytes(name.as_ref()), contents);
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap();
    }

    /// Everything that git prints when run in a folder.
    fn git(&self, directory: &str, arguments: &[&str]) -> BString {
        let output = self.output(directory, arguments, "");
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            output.stderr.as_bstr()
        );
        output.stdout.into()
    }

    fn commit_all(&self) {
        self.git("", &["add", "-A"]);
        self.git("", &["commit", "-q", "-m", "all"]);
    }

    /// git's status as a value.
    fn status(&self, options: &[&str]) -> Status {
        let all = ["status", "--porcelain=v2", "-z", "-b", "--show-stash"];
        parse(&self.git("", &[&all, options].concat()))
    }

    /// Checks one format as seen from `directory`. `options` are for git, `how` is for the writer.
    fn check(&self, directory: &str, options: &[&str], format: Format, how: Presentation) {
        let mut status = self.status(STATUS_OPTIONS);
        if !options.contains(&"-b") {
            status.branch = None;
        }
        if !options.contains(&"--show-stash") {
            status.stash_count = None;
        }
        // It depends on git's version whether `-z` output is coloured.
        let color = if how.nul_terminated {
            "color.status=never"
        } else {
            "color.status=always"
        };
        let configuration = ["-c", color, "status"];
        let arguments = [&configuration, STATUS_OPTIONS, options].concat();
        let expected = self.git(directory, &arguments);
        assert_eq!(
            write(format, &status, &how).as_bstr(),
            expected,
            "{options:?} in {directory:?}"
        );
    }

    /// Checks every format and presentation.
    fn check_all(&self, directory: &str) {
        let with_prefix = || Presentation {
            prefix: if directory.is_empty() {
                BString::default()
            } else {
                format!("{directory}/").into()
            },
            quote_high_bytes: true,
            ..Presentation::default()
        };
        let plain = || Presentation {
            palette: Palette::plain(),
            ..with_prefix()
        };
        let nul = |how: Presentation| Presentation {
            nul_terminated: true,
            palette: Palette::plain(),
            ..how
        };
        let v1 = Format::PorcelainV1;
        let v2 = Format::PorcelainV2;
        self.check(directory, &["--porcelain"], v1, with_prefix());
        self.check(directory, &["--porcelain", "-b"], v1, with_prefix());
        self.check(directory, &["-z", "-b"], v1, nul(with_prefix()));
        self.check(directory, &["-s"], Format::Short, with_prefix());
        self.check(directory, &["-s", "-b"], Format::Short, with_prefix());
        self.check(
            directory,
            &["-s", "-b", "-z"],
            Format::Short,
            nul(with_prefix()),
        );
        self.check(directory, &["--porcelain=2", "-b"], v2, plain());
        let with_stash = ["--porcelain=2", "--show-stash"];
        self.check(directory, &with_stash, v2, plain());
        let with_all = ["--porcelain=2", "--show-stash", "-b", "-z"];
        self.check(directory, &with_all, v2, nul(with_prefix()));
    }
}

const STATUS_OPTIONS: &[&str] = &["--ignored", "--no-ahead-behind"];

fn parse(output: &[u8]) -> Status {
    let mut status = Status::default();
    let mut oid = None;
    let mut head = None;
    let mut upstream = None;
    let mut distance = Distance::Gone;
    let mut records = output.split_str("\0");
    while let Some(record) = records.next() {
        let Some((sign, rest)) = record.split_once_str(" ") else {
            assert!(record.is_empty());
            continue;
        };
        match sign {
            b"#" => {
                let (name, value) = rest.split_once_str(" ").unwrap();
                let value = value.to_str().unwrap();
                match name {
                    b"branch.oid" => oid = id(value),
                    b"branch.head" => head = Some(value),
                    b"branch.upstream" => upstream = Some(value),
                    b"branch.ab" if value == "+0 -0" => distance = Distance::Equal,
                    b"branch.ab" if value == "+? -?" => distance = Distance::Different,
                    b"branch.ab" => {
                        let (ahead, behind) = value.split_once(' ').unwrap();
                        distance = Distance::Counted {
                            ahead: ahead.parse().unwrap(),
                            behind: behind.trim_start_matches('-').parse().unwrap(),
                        };
                    }
                    b"stash" => status.stash_count = value.parse().ok(),
                    _ => panic!("{}", record.as_bstr()),
                }
            }
            b"1" => status.changes.push(tracked(rest, None)),
            b"2" => status.changes.push(tracked(rest, records.next())),
            b"u" => status.changes.push(unmerged(rest)),
            b"?" => status.untracked.push(rest.into()),
            b"!" => status.ignored.push(rest.into()),
            _ => panic!("{}", record.as_bstr()),
        }
    }
    status.changes.sort_by(|one, other| one.0.cmp(&other.0));
    status.branch = Some(BranchStatus {
        head: match head.unwrap() {
            "(detached)" => Head::Detached(oid.unwrap()),
            "(null)" => Head::Branch {
                name: "refs/elsewhere/main".into(),
                id: oid,
            },
            name => Head::Branch {
                name: format!("refs/heads/{name}").into(),
                id: oid,
            },
        },
        upstream: upstream.map(|name| Upstream {
            reference: format!("refs/remotes/{name}").into(),
            short_name: name.into(),
            distance,
        }),
    });
    status
}

fn id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}

fn mode(octal: &str) -> FileMode {
    FileMode(u32::from_str_radix(octal, 8).unwrap())
}

fn kind(letter: char) -> Option<ChangeKind> {
    use ChangeKind::{Added, Copied, Deleted, Modified, Renamed, TypeChanged};
    let kinds = [Added, Modified, Deleted, TypeChanged, Renamed, Copied];
    kinds
        .into_iter()
        .find(|kind| char::from(kind.letter()) == letter)
}

fn submodule(field: &str) -> Option<SubmoduleState> {
    field.starts_with('S').then(|| SubmoduleState {
        new_commits: field.contains('C'),
        modified: field.contains('M'),
        untracked: field.contains('U'),
    })
}

fn fields(record: &[u8], count: usize) -> (Vec<&str>, BString) {
    let mut parts: Vec<&[u8]> = record.splitn_str(count + 1, " ").collect();
    let path = parts.pop().unwrap().into();
    (
        parts.iter().map(|part| part.to_str().unwrap()).collect(),
        path,
    )
}

fn tracked(record: &[u8], source: Option<&[u8]>) -> (BString, Change) {
    let (parts, path) = fields(record, if source.is_some() { 8 } else { 7 });
    let letters: Vec<char> = parts[0].chars().collect();
    let source = source.map(|path| RenameSource {
        path: path.into(),
        score_percent: parts[7][1..].parse().unwrap(),
    });
    let staged = kind(letters[0]);
    let is_staged_move = matches!(staged, Some(ChangeKind::Renamed | ChangeKind::Copied));
    let change = TrackedChange {
        staged,
        unstaged: kind(letters[1]),
        head_mode: mode(parts[2]),
        index_mode: mode(parts[3]),
        worktree_mode: mode(parts[4]),
        head_id: id(parts[5]).unwrap(),
        index_id: id(parts[6]).unwrap(),
        staged_source: source.clone().filter(|_| is_staged_move),
        unstaged_source: source.filter(|_| !is_staged_move),
        submodule: submodule(parts[1]),
    };
    (path, Change::Tracked(change))
}

fn unmerged(record: &[u8]) -> (BString, Change) {
    let (parts, path) = fields(record, 9);
    let stage = |at: usize| {
        (parts[at] != "000000").then(|| UnmergedSide {
            mode: mode(parts[at]),
            id: id(parts[at + 4]).unwrap(),
        })
    };
    let change = UnmergedChange {
        merged: None,
        stages: [stage(2), stage(3), stage(4)],
        worktree_mode: mode(parts[5]),
        submodule: submodule(parts[1]),
        is_observed: true,
    };
    (path, Change::Unmerged(change))
}

#[test]
fn all_kinds_of_changes_and_names() {
    let sandbox = Sandbox::new(&[]);
    let long_text: String = (0..40).map(|line| format!("line {line}\n")).collect();
    sandbox.write("moved from", &long_text);
    sandbox.write("deep/er/old", &long_text.replace("line", "row"));
    for name in [
        "modified",
        "both",
        "gone",
        "ungone",
        "typed",
        "mode",
        "deep/file",
    ] {
        sandbox.write(name, name);
    }
    sandbox.write(".gitignore", "*.ignored\nignored folder/\n");
    sandbox.commit_all();
    sandbox.git("", &["mv", "moved from", "moved to"]);
    sandbox.git("", &["mv", "deep/er/old", "deep/new\tname"]);
    sandbox.write(
        "deep/new\tname",
        &format!("{}end", long_text.replace("line", "row")),
    );
    sandbox.git("", &["add", "deep"]);
    sandbox.write("deep/new\tname", "changed again");
    sandbox.write("both", "staged");
    sandbox.write("added", "new");
    sandbox.git("", &["add", "both", "added"]);
    sandbox.write("both", "unstaged");
    sandbox.write("modified", "other");
    sandbox.git("", &["rm", "-q", "gone"]);
    sandbox.remove("ungone");
    sandbox.remove("typed");
    std::os::unix::fs::symlink("x", sandbox.path("typed")).unwrap();
    sandbox.git("", &["update-index", "--chmod=+x", "mode"]);
    sandbox.write("intended", "to add");
    sandbox.git("", &["add", "-N", "intended"]);
    for name in [
        &b"untracked"[..],
        b"a space",
        b"a\ttab",
        b"a\nline",
        b"a \"quote\" and \\",
        b"high \xc3\xa9",
        b"not utf-8 \xff",
        b"bell\x07\x7f",
        b"deep/er/x",
        b"deep/sub/y",
        b"some.ignored",
        b"deep/a b.ignored",
        b"ignored folder/z",
    ] {
        sandbox.write(name, "");
    }
    sandbox.check_all("");
    sandbox.check_all("deep");
    sandbox.check_all("deep/er");
    sandbox.check_all("ignored folder");

    let how = Presentation {
        palette: Palette::default(),
        ..Presentation::default()
    };
    sandbox.git("", &["config", "core.quotePath", "false"]);
    sandbox.git("", &["config", "status.relativePaths", "false"]);
    sandbox.check("deep", &["-s"], Format::Short, how.clone());
    sandbox.check("deep", &["--porcelain=2"], Format::PorcelainV2, how);
}

#[test]
fn all_kinds_of_conflicts() {
    let sandbox = Sandbox::new(&["--object-format=sha256"]);
    for contents in ["1", "2", "3"] {
        sandbox.write("file", contents);
        sandbox.git("", &["hash-object", "-w", "file"]);
    }
    sandbox.commit_all();
    let mut entries = String::new();
    for mask in 1..8 {
        for stage in 1..=3 {
            if mask & (1 << (stage - 1)) != 0 {
                let name = stage.to_string();
                sandbox.write("file", &name);
                let id = sandbox.git("", &["hash-object", "file"]);
                let id = id.trim().to_str().unwrap();
                entries.push_str(&format!("100644 {id} {stage}\tdir/conflict {mask}\n"));
            }
        }
        if mask % 2 == 0 {
            sandbox.write(format!("dir/conflict {mask}"), "here");
        }
    }
    sandbox.write("entries", &entries);
    sandbox.git_with_input(["update-index", "--index-info"], &entries);
    sandbox.check_all("");
    sandbox.check_all("dir");
}

#[test]
fn submodules() {
    let sandbox = Sandbox::new(&[]);
    for name in ["clean", "commits", "modified", "untracked", "all of it"] {
        sandbox.git("", &["init", "-q", name]);
        sandbox.write(format!("{name}/file"), "x");
        sandbox.git(name, &["add", "file"]);
        sandbox.git(name, &["commit", "-q", "-m", "one"]);
    }
    sandbox.git("", &["-c", "advice.addEmbeddedRepo=false", "add", "-A"]);
    sandbox.git("", &["commit", "-q", "-m", "all"]);
    for name in ["commits", "all of it"] {
        sandbox.git(name, &["commit", "-q", "--allow-empty", "-m", "two"]);
    }
    sandbox.write("modified/file", "y");
    sandbox.write("untracked/new", "");
    conflict_in_submodule(&sandbox);
    sandbox.write("all of it/file", "y");
    sandbox.write("all of it/new", "");
    sandbox.check_all("");
}

#[test]
fn all_kinds_of_branches() {
    let sandbox = Sandbox::new(&[]);
    sandbox.check_all("");
    for key_value in [
        ["remote.origin.url", "nowhere"],
        ["remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"],
        ["branch.main.remote", "origin"],
        ["branch.main.merge", "refs/heads/main"],
    ] {
        sandbox.git("", &["config", key_value[0], key_value[1]]);
    }
    sandbox.check_all("");
    sandbox.write("file", "1");
    sandbox.commit_all();
    sandbox.check_all("");

    sandbox.git("", &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.check_all("");
    sandbox.write("file", "stashed");
    sandbox.git("", &["stash", "-q"]);
    sandbox.git("", &["commit", "-q", "--allow-empty", "-m", "ours"]);
    sandbox.check_all("");
    check_distances(&sandbox);

    sandbox.git("", &["checkout", "-q", "--detach", "main"]);
    sandbox.check_all("");
    sandbox.git("", &["symbolic-ref", "HEAD", "refs/elsewhere/main"]);
    sandbox.check_all("");
    sandbox.git("", &["update-ref", "refs/elsewhere/main", "main"]);
    sandbox.check_all("");
}

/// Checks branches that are ahead, behind, or both, with counts.
fn check_distances(sandbox: &Sandbox) {
    let theirs = |options: &[&str]| {
        let base = ["commit-tree", "HEAD^{tree}", "-m", "theirs"];
        let commit = sandbox.git("", &[&base, options].concat());
        let commit = commit.trim().to_str().unwrap();
        sandbox.git("", &["update-ref", "refs/remotes/origin/main", commit]);
    };
    let mut seen = Vec::new();
    for options in [&["-p", "HEAD~1"][..], &["-p", "HEAD"]] {
        theirs(options);
        seen.push(check_distance(sandbox));
    }
    sandbox.git("", &["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    seen.push(check_distance(sandbox));
    let counted = |ahead, behind| Distance::Counted { ahead, behind };
    assert_eq!(seen, [counted(1, 1), counted(0, 1), counted(1, 0)]);
}

fn check_distance(sandbox: &Sandbox) -> Distance {
    let status = sandbox.status(&["--ahead-behind"]);
    let how = Presentation::default();
    for (format, options) in [
        (
            Format::Short,
            &["-c", "color.status=always", "status", "-sb"][..],
        ),
        (Format::PorcelainV1, &["status", "--porcelain", "-b"]),
        (
            Format::PorcelainV2,
            &["status", "--porcelain=2", "-b", "--show-stash"],
        ),
    ] {
        let expected = sandbox.git("", options);
        assert_eq!(write(format, &status, &how).as_bstr(), expected);
    }
    status.branch.unwrap().upstream.unwrap().distance
}

/// Makes a submodule that is on our side only, one that is in the index only, and one that became a file.
fn conflict_in_submodule(sandbox: &Sandbox) {
    let commit = sandbox.git("clean", &["rev-parse", "HEAD"]);
    let commit = commit.trim().to_str().unwrap();
    let blob = sandbox.git("", &["hash-object", "-w", "clean/file"]);
    let blob = blob.trim().to_str().unwrap();
    let mut entries = String::new();
    for (name, mode, id, stage) in [
        ("ours", "160000", commit, 2),
        ("ours", "100644", blob, 3),
        ("theirs", "100644", blob, 2),
        ("theirs", "160000", commit, 3),
        ("clean", "0", commit, 0),
        ("clean", "160000", commit, 1),
        ("clean", "160000", commit, 2),
        ("index", "160000", commit, 0),
        ("file", "160000", commit, 0),
    ] {
        entries.push_str(&format!("{mode} {id} {stage}\t{name}\n"));
    }
    sandbox.write("entries", &entries);
    sandbox.write("file", "");
    sandbox.git_with_input(["update-index", "--index-info"], &entries);
}
