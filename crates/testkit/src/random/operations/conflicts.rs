//! Conflicts: from failed merges, and written directly into the index.

use bstr::BString;

use super::operation::table;
use crate::action::GitRun;
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "merge with conflicting contents", 5, |m| conflict(m, &change, &change);
    "merge with a deleted side", 3, |m| conflict(m, &change, &delete);
    "merge with both sides new", 3, |m| conflict(m, &add_new, &add_new);
    "merge with renames to two names", 2, |m| conflict(m, &rename_left, &rename_right);
    "merge a directory with a file", 2, |m| conflict(m, &make_directory, &make_file);
    "rebase with conflicting contents", 2, rebase_conflict;
    "pick with conflicting contents", 2, pick_conflict;
    "write stages into the index", 8, write_stages;
    "resolve with one side", 3, |m| {
        let side = m.rng.pick(&["--ours", "--theirs", "--merge", "--conflict=diff3"]);
        let path = m.path();
        m.git_paths(&["checkout", "-q", side], &[path]);
    };
    "unresolve", 1, |m| { let path = m.file(); m.git_paths(&["update-index", "--unresolve"], &[path]); };
}

fn change(m: &mut Maker, path: &BString) {
    let number = m.rng.next();
    m.write(path, format!("changed {number}\n"));
}

fn delete(m: &mut Maker, path: &BString) {
    m.remove(path);
}

fn add_new(m: &mut Maker, _: &BString) {
    let number = m.rng.next();
    m.write(b"both-new", format!("new {number}\n"));
}

fn rename_left(m: &mut Maker, path: &BString) {
    m.git_paths(&["mv", "-k"], &[path.clone(), "renamed-left".into()]);
}

fn rename_right(m: &mut Maker, path: &BString) {
    m.git_paths(&["mv", "-k"], &[path.clone(), "renamed-right".into()]);
}

fn make_directory(m: &mut Maker, _: &BString) {
    m.write(b"both/inside", "a directory\n");
}

fn make_file(m: &mut Maker, _: &BString) {
    m.write(b"both", "a file\n");
}

type Side<'a> = &'a dyn Fn(&mut Maker, &BString);

/// Creates two branches that change the same thing. Ends on the second one.
fn two_sides(m: &mut Maker, ours: Side<'_>, theirs: Side<'_>) {
    let path = m.file();
    m.git(&["checkout", "-q", "-f", "-B", "theirs"]);
    theirs(m, &path);
    m.git(&["add", "-A"]);
    m.commit("their side");
    m.git(&["checkout", "-q", "-f", "-B", "ours", "HEAD~1"]);
    ours(m, &path);
    m.git(&["add", "-A"]);
    m.commit("our side");
}

fn conflict(m: &mut Maker, ours: Side<'_>, theirs: Side<'_>) {
    two_sides(m, ours, theirs);
    m.git(&["merge", "-q", "theirs"]);
}

fn rebase_conflict(m: &mut Maker) {
    two_sides(m, &change, &change);
    m.git(&["rebase", "-q", "theirs"]);
}

fn pick_conflict(m: &mut Maker) {
    two_sides(m, &change, &change);
    m.git(&["cherry-pick", "theirs"]);
}

/// The ids of the blobs with one line, `1` to `3`.
const BLOBS: &[&str] = &[
    "d00491fd7e5bb6fa28c517a0bb32b8b506539d4d",
    "0cfbf08886fcca9a91cd753ec8734c84fcbe52c9",
    "00750edc07d6415dcc07ae0351e9397b0222b7ba",
];

/// Writes any of the seven combinations of stages 1, 2 and 3, with any modes.
fn write_stages(m: &mut Maker) {
    let path = if m.rng.chance(70) {
        m.file()
    } else {
        join(&m.directory(), b"unmerged")
    };
    let stages = 1 + m.rng.below(7);
    m.git_paths(
        &["update-index", "--force-remove"],
        std::slice::from_ref(&path),
    );
    for line in ["1\n", "2\n", "3\n"] {
        let arguments = ["hash-object", "-w", "--stdin"].map(BString::from).to_vec();
        m.git_run(GitRun {
            arguments,
            input: Some(line.into()),
            ..GitRun::default()
        });
    }
    let mut input = BString::default();
    for stage in 1..=3_u64 {
        if stages & (1 << (stage - 1)) != 0 {
            let mode = m
                .rng
                .pick(&["100644", "100644", "100755", "120000", "160000"]);
            let id = m.rng.pick(BLOBS);
            input.extend_from_slice(format!("{mode} {id} {stage}\t").as_bytes());
            input.extend_from_slice(&path);
            input.push(0);
        }
    }
    let arguments = ["update-index", "-z", "--index-info"]
        .map(BString::from)
        .to_vec();
    m.git_run(GitRun {
        arguments,
        input: Some(input),
        ..GitRun::default()
    });
}
