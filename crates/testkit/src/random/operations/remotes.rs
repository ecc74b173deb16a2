//! Remotes and upstream branches.

use super::operation::table;
use crate::random::maker::Maker;

table! {
    "add a remote and push", 5, add_remote;
    "push", 4, |m| { let name = m.branch(); m.git(&["push", "-q", "-f", "-u", "origin", name]); };
    "fetch", 1, |m| m.git(&["fetch", "-q", "--all"]);
    "set the upstream", 4, |m| {
        let to = m.rng.pick(&["origin/main", "origin/topic", "main", "topic", "origin/feature/x"]);
        m.git(&["branch", "-q", "-u", to]);
    };
    "unset the upstream", 1, |m| m.git(&["branch", "--unset-upstream"]);
    "configure an upstream", 2, |m| {
        let name = m.branch();
        m.git(&["config", &format!("branch.{name}.remote"), "origin"]);
        let to = m.branch();
        m.git(&["config", &format!("branch.{name}.merge"), &format!("refs/heads/{to}")]);
    };
    "delete a remote branch", 2, |m| {
        let name = m.branch();
        m.git(&["update-ref", "-d", &format!("refs/remotes/origin/{name}")]);
    };
    "fall behind the upstream", 3, |m| {
        m.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        m.git(&["reset", "-q", "--hard", "HEAD~1"]);
        m.git(&["branch", "-q", "-u", "origin/main"]);
    };
    "diverge from the upstream", 3, |m| {
        m.git(&["update-ref", "refs/remotes/origin/topic", "HEAD"]);
        m.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "diverged"]);
        m.git(&["commit", "-q", "--allow-empty", "-m", "further"]);
        m.git(&["branch", "-q", "-u", "origin/topic"]);
    };
    "add a second remote", 1, |m| {
        m.git(&["remote", "add", "fork", "{ROOT}/fork.git"]);
        m.git(&["update-ref", "refs/remotes/fork/main", "HEAD"]);
    };
    "set the push remote", 2, |m| {
        let to = m.rng.pick(&["origin", "fork", "missing"]);
        if m.rng.chance(50) {
            m.git(&["config", "remote.pushDefault", to]);
        } else {
            let name = m.branch();
            m.git(&["config", &format!("branch.{name}.pushRemote"), to]);
        }
    };
    "remove the remote", 1, |m| m.git(&["remote", "remove", "origin"]);
}

fn add_remote(m: &mut Maker) {
    m.git_in(".", &["init", "-q", "--bare", "remote.git"]);
    m.git(&["remote", "add", "origin", "{ROOT}/remote.git"]);
    m.git(&["push", "-q", "-f", "-u", "origin", "HEAD"]);
    m.git(&["commit", "-q", "--allow-empty", "-m", "ahead"]);
}
