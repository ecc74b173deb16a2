//! Branches, HEAD and tags.

use super::operation::table;
use crate::random::maker::{BRANCHES, Maker};

table! {
    "make a branch", 5, |m| { let name = m.branch(); m.git(&["branch", name]); };
    "make and check out a branch", 6, |m| { let name = m.branch(); m.git(&["checkout", "-q", "-B", name]); };
    "check out a branch", 8, |m| { let name = m.branch(); m.git(&["checkout", "-q", name]); };
    "check out a branch by force", 3, |m| { let name = m.branch(); m.git(&["checkout", "-q", "-f", name]); };
    "check out and merge changes", 2, |m| { let name = m.branch(); m.git(&["checkout", "-q", "-m", name]); };
    "detach HEAD", 3, |m| { let at = m.rng.pick(&["HEAD", "HEAD~1", "main"]); m.git(&["checkout", "-q", "--detach", at]); };
    "detach HEAD at a tag", 2, |m| { let at = random_tag_name(m); m.git(&["checkout", "-q", at]); };
    "start an unborn branch", 2, |m| m.git(&["checkout", "-q", "--orphan", "orphan"]);
    "start an unborn and empty branch", 1, |m| m.git(&["switch", "-q", "--orphan", "empty/orphan"]);
    "point HEAD to a missing branch", 1, |m| m.git(&["symbolic-ref", "HEAD", "refs/heads/no-such"]);
    "reset softly", 4, |m| { let to = older_commit(m); m.git(&["reset", "-q", "--soft", to]); };
    "reset the index", 4, |m| { let to = older_commit(m); m.git(&["reset", "-q", "--mixed", to]); };
    "reset the index with intent", 1, |m| { let to = older_commit(m); m.git(&["reset", "-q", "-N", to]); };
    "reset all", 8, |m| { let to = older_commit(m); m.git(&["reset", "-q", "--hard", to]); };
    "reset and keep", 1, |m| { let to = older_commit(m); m.git(&["reset", "-q", "--keep", to]); };
    "delete a branch", 2, |m| { let name = m.branch(); m.git(&["branch", "-q", "-D", name]); };
    "rename the branch", 2, |m| { let name = m.branch(); m.git(&["branch", "-M", name]); };
    "tag", 3, |m| { let name = random_tag_name(m); m.git(&["tag", "-f", name]); };
    "tag with a message", 2, |m| { let name = random_tag_name(m); m.git(&["tag", "-f", "-a", "-m", "tagged", name]); };
    "delete a tag", 1, |m| { let name = random_tag_name(m); m.git(&["tag", "-d", name]); };
    "name a tag as a branch", 1, |m| { let name = m.branch(); m.git(&["tag", "-f", name]); };
    "make all branches", 1, |m| BRANCHES.iter().for_each(|name| m.git(&["branch", name]));
}

fn older_commit(m: &mut Maker) -> &'static str {
    m.rng
        .pick(&["HEAD", "HEAD", "HEAD~1", "HEAD~2", "main", "topic"])
}

fn random_tag_name(m: &mut Maker) -> &'static str {
    m.rng.pick(&["v1", "v1.0", "v10", "V2", "rel/1", "z"])
}
