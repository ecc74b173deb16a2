//! Merges, rebases, picks, reverts, patches and bisections, finished or left in progress.

use super::operation::table;
use crate::action::GitRun;
use crate::random::maker::Maker;

table! {
    "merge a branch", 6, |m| { let name = m.branch(); m.git(&["merge", "-q", "--no-edit", name]); };
    "merge without a commit", 3, |m| { let name = m.branch(); m.git(&["merge", "-q", "--no-commit", "--no-ff", name]); };
    "merge squashed", 1, |m| { let name = m.branch(); m.git(&["merge", "-q", "--squash", name]); };
    "merge unrelated", 1, |m| { let name = m.branch(); m.git(&["merge", "-q", "--allow-unrelated-histories", name]); };
    "rebase", 4, |m| { let name = m.branch(); m.git(&["rebase", "-q", name]); };
    "rebase by patches", 2, |m| { let name = m.branch(); m.git(&["rebase", "-q", "--apply", name]); };
    "rebase and stop to edit", 3, |m| edit_todo(m, "sed -i -e s/^pick/edit/");
    "rebase and stop after a command", 2, |m| edit_todo(m, "sed -i -e 1aexec\\ false");
    "rebase with a break", 1, |m| edit_todo(m, "sed -i -e 1ibreak");
    "rebase and keep merges", 2, |m| {
        m.git(&["merge", "-q", "--no-ff", "--no-edit", "topic"]);
        let at = m.rng.pick(&["3ibreak", "2iexec false", "$!s/^pick/edit/"]);
        m.git_run(GitRun {
            arguments: ["rebase", "-q", "-i", "--rebase-merges", "HEAD~2"].map(Into::into).to_vec(),
            variables: vec![("GIT_SEQUENCE_EDITOR".into(), format!("sed -i -e '{at}'").into())],
            ..GitRun::default()
        });
    };
    "rebase and squash", 1, |m| edit_todo(m, "sed -i -e 2s/^pick/squash/ -e 3s/^pick/fixup/ -e 4ibreak");
    "rebase and reword", 1, |m| edit_todo(m, "sed -i -e s/^pick/reword/ -e 2ibreak");
    "rebase with comments and empty lines", 1, |m| edit_todo(m, "sed -i -e '1i# a comment\\n\\n  break\\nnoop' -e 's/^pick/p/'");
    "rebase from the root", 1, |m| {
        m.git_run(GitRun {
            arguments: ["rebase", "-q", "-i", "--root"].map(Into::into).to_vec(),
            variables: vec![("GIT_SEQUENCE_EDITOR".into(), "sed -i -e 1s/^pick/edit/".into())],
            ..GitRun::default()
        });
    };
    "amend while something is under way", 2, |m| m.git(&["commit", "-q", "--amend", "--no-edit", "--allow-empty"]);
    "split the commit that is edited", 1, |m| m.git(&["reset", "-q", "HEAD^"]);
    "pick a commit", 4, |m| { let name = m.branch(); m.git(&["cherry-pick", name]); };
    "pick several commits", 3, |m| { let name = m.branch(); m.git(&["cherry-pick", &format!("{name}~2..{name}")]); };
    "pick without a commit", 1, |m| { let name = m.branch(); m.git(&["cherry-pick", "-n", name]); };
    "revert", 4, |m| { let at = m.rng.pick(&["HEAD", "HEAD~1"]); m.git(&["revert", "--no-edit", at]); };
    "revert several commits", 2, |m| m.git(&["revert", "--no-edit", "HEAD~2..HEAD"]);
    "apply a patch that does not fit", 2, bad_patch;
    "bisect", 2, |m| { m.git(&["bisect", "start"]); m.git(&["bisect", "bad"]); m.git(&["bisect", "good", "HEAD~2"]); };
    "bisect with other words", 1, |m| {
        m.git(&["bisect", "start", "--term-old=fine", "--term-new=broken"]);
        m.git(&["bisect", "broken"]);
    };
    "apply patches from a mailbox", 1, |m| {
        m.git(&["-c", "alias.x=!git format-patch -q -2 --stdout > ../box; git reset -q --hard HEAD~2; git am -q ../box", "x"]);
    };
    "end the bisection", 1, |m| m.git(&["bisect", "reset"]);
    "continue", 5, |m| each(m, "--continue");
    "skip", 2, |m| { m.git(&["rebase", "--skip"]); m.git(&["cherry-pick", "--skip"]); m.git(&["am", "--skip"]); };
    "abort", 8, |m| { each(m, "--abort"); m.git(&["am", "--abort"]); };
    "quit", 1, |m| { m.git(&["rebase", "--quit"]); m.git(&["cherry-pick", "--quit"]); m.git(&["merge", "--quit"]); };
    "start over", 5, |m| { each(m, "--abort"); m.git(&["reset", "-q", "--hard"]); m.git(&["checkout", "-q", "-f", "-B", "main"]); };
}

fn each(m: &mut Maker, what: &str) {
    for command in ["merge", "rebase", "cherry-pick", "revert"] {
        m.git(&[command, what]);
    }
}

/// Starts an interactive rebase with a command as the editor of its todo list.
fn edit_todo(m: &mut Maker, editor: &str) {
    let onto = m.rng.pick(&["HEAD~1", "HEAD~2", "HEAD~3", "main", "topic"]);
    m.git_run(GitRun {
        arguments: ["rebase", "-q", "-i", onto].map(Into::into).to_vec(),
        variables: vec![("GIT_SEQUENCE_EDITOR".into(), editor.into())],
        ..GitRun::default()
    });
}

fn bad_patch(m: &mut Maker) {
    let patch = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\n\
        Date: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] unfit\n\n---\n no-such-file | 2 +-\n\n\
        diff --git a/no-such-file b/no-such-file\nindex 1234567..89abcde 100644\n--- a/no-such-file\n\
        +++ b/no-such-file\n@@ -1 +1 @@\n-old\n+new\n--\n2.0\n";
    m.git_run(GitRun {
        arguments: vec!["am".into(), "-q".into()],
        input: Some(patch.into()),
        ..GitRun::default()
    });
}
