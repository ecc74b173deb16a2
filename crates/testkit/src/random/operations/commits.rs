//! Commits.

use super::operation::table;
use crate::random::maker::Maker;

table! {
    "commit the index", 14, |m| { let text = random_message(m); m.commit(text); };
    "commit all", 12, commit_all;
    "commit tracked files", 4, |m| { let text = random_message(m); m.git(&["commit", "-q", "-a", "-m", text]); };
    "amend", 4, |m| m.git(&["commit", "-q", "--amend", "--allow-empty", "-C", "HEAD"]);
    "amend with all", 2, |m| m.git(&["commit", "-q", "--amend", "--allow-empty", "-a", "--no-edit"]);
    "commit nothing", 4, |m| { let text = random_message(m); m.git(&["commit", "-q", "--allow-empty", "-m", text]); };
    "commit a path only", 3, |m| { let path = m.path(); m.git_paths(&["commit", "-q", "-m", "only"], &[path]); };
    "commit in another encoding", 1, |m| {
        m.git(&["-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-m", "encoded"]);
    };
}

fn random_message(m: &mut Maker) -> &'static str {
    m.rng.pick(&[
        "simple",
        "two words",
        "subject\n\nbody of the message\n",
        "subject on\ntwo lines\n\nbody",
        "caf\u{e9}",
        "a summary that is much longer than it should be, since some say that fifty characters are enough, but others \
         need more, and this one needs more than two hundred and fifty-six of them to show what happens to a reader \
         that keeps no more of it than that: the rest is cut.",
    ])
}

fn commit_all(m: &mut Maker) {
    m.git(&["add", "-A"]);
    let text = random_message(m);
    m.commit(text);
}
