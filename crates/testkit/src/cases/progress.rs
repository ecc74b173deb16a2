//! Operations in progress.

use super::case::cases;

cases! {
    "merge with conflicts", |b| { b.fork().git_stops(&["merge", "-q", "topic"]); };
    "merge, resolved", |b| { b.fork().git_stops(&["merge", "-q", "topic"]).write("a", "both\n").git(&["add", "-A"]); };
    "merge without commit", |b| {
        b.base().git(&["checkout", "-q", "-b", "topic"]).write("n", "n\n").commit("n").git(&["checkout", "-q", "main"]);
        b.git(&["merge", "-q", "--no-ff", "--no-commit", "topic"]);
    };
    "squash", |b| { b.fork().git_stops(&["merge", "-q", "--squash", "topic"]); };
    "rebase with conflicts", |b| { b.fork().git_stops(&["rebase", "-q", "topic"]); };
    "rebase by patches with conflicts", |b| { b.fork().git_stops(&["rebase", "-q", "--apply", "topic"]); };
    "rebase stopped to edit", |b| {
        b.fork().git_with("GIT_SEQUENCE_EDITOR", "sed -i -e s/^pick/edit/", &["rebase", "-q", "-i", "HEAD~2"]);
    };
    "rebase stopped to edit, commit split", |b| {
        b.fork().git_with("GIT_SEQUENCE_EDITOR", "sed -i -e s/^pick/edit/", &["rebase", "-q", "-i", "HEAD~2"]);
        b.git(&["reset", "-q", "HEAD~1"]);
    };
    "rebase stopped by a command", |b| { b.fork().git_stops(&["rebase", "-q", "--exec", "false", "HEAD~2"]); };
    "rebase at a break", |b| {
        b.fork().git_with("GIT_SEQUENCE_EDITOR", "sed -i -e 1ibreak", &["rebase", "-q", "-i", "HEAD~2"]);
    };
    "rebase of a detached HEAD", |b| { b.fork().git(&["checkout", "-q", "--detach"]).git_stops(&["rebase", "-q", "topic"]); };
    "patches", |b| {
        b.fork().git_input(&["hash-object", "--stdin"], "x");
        b.act(crate::action::Action::write("patch", "From: A <a@b.c>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] p\n\n---\ndiff --git a/a b/a\nindex 1234567..89abcde 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n--\n2.0\n"));
        b.git_stops(&["am", "-q", "../patch"]);
    };
    "patches with an empty one", |b| {
        b.fork().act(crate::action::Action::write("patch", "From: A <a@b.c>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] p\n\nno patch here\n"));
        b.git_stops(&["am", "-q", "../patch"]);
    };
    "pick with conflicts", |b| { b.fork().git_stops(&["cherry-pick", "topic"]); };
    "several picks with conflicts", |b| { b.fork().git_stops(&["cherry-pick", "topic~2..topic"]); };
    "several picks, after a commit", |b| {
        b.fork().git_stops(&["cherry-pick", "topic~2..topic"]).write("a", "both\n").commit("by hand");
    };
    "revert with conflicts", |b| { b.fork().write("b", "later\n").commit("later").git_stops(&["revert", "--no-edit", "HEAD~1"]); };
    "several reverts with conflicts", |b| {
        b.fork().write("a", "later\n").commit("later").git_stops(&["revert", "--no-edit", "HEAD~2", "HEAD~1"]);
    };
    "bisect", |b| { b.fork().git(&["bisect", "start"]).git(&["bisect", "bad"]).git(&["bisect", "good", "HEAD~2"]); };
    "bisect, rebase in it", |b| {
        b.fork().git(&["bisect", "start"]).git(&["bisect", "bad"]).git(&["bisect", "good", "HEAD~2"]);
        b.git_stops(&["rebase", "-q", "topic"]);
    };
    "conflict after popping a stash", |b| {
        b.base().write("a", "stashed\n").git(&["stash", "-q"]).write("a", "committed\n").commit("a").git_stops(&["stash", "pop", "-q"]);
    };
}
