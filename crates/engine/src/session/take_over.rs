//! What a session takes over from an earlier one, after the configuration changed. A new branch that follows another is
//! recorded in the configuration, and must not cause a look at everything.

use std::path::Path;

use bstr::BStr;
use vigil_git::config::{ConfigEntry, Scope};
use vigil_git::repository::Repository;

use super::Session;

/// The sections of the configuration that affect nothing that is kept of the index and the working tree.
const OTHER_SECTIONS: [&str; 21] = [
    "alias",
    "author",
    "branch",
    "commit",
    "committer",
    "credential",
    "fetch",
    "gc",
    "gui",
    "http",
    "init",
    "maintenance",
    "merge",
    "pull",
    "push",
    "rebase",
    "remote",
    "safe",
    "tag",
    "url",
    "user",
];

impl Session {
    /// Takes over what `earlier`, a session with the same variables and the same watcher, knows of the index and the working
    /// tree. Does nothing unless all of that holds for this session, too.
    pub fn take_over_from(&mut self, mut earlier: Self) {
        // Of these, each finds out by itself what still holds.
        if let (Some(nested), Some(known)) = (&mut self.nested, earlier.nested.take()) {
            nested.take_over_from(known);
        }
        if self.rests_on_the_same_as(&earlier) {
            self.session_started_at = earlier.session_started_at;
            self.mark = earlier.mark;
            self.state = earlier.state;
            self.index = earlier.index;
            // An id may stand for another object by now.
            if let Some(index) = &mut self.index
                && self.objects.history() != earlier.objects.history()
            {
                index.staged = None;
            }
            self.watched = earlier.watched;
            self.has_dropped_messages |= earlier.has_dropped_messages;
        }
    }

    fn rests_on_the_same_as(&self, earlier: &Self) -> bool {
        let (now, before) = (&self.repository, &earlier.repository);
        places(now) == places(before) && kept_entries(now).eq(kept_entries(before))
    }
}

/// Where the repository, its index and its working tree are.
fn places(repository: &Repository) -> [Option<&Path>; 5] {
    [
        Some(&repository.git_dir),
        Some(&repository.common_dir),
        Some(&repository.index_path),
        Some(&repository.object_dir),
        repository.work_tree.as_deref(),
    ]
}

/// The entries of the configuration that may affect what is kept of the index and the working tree.
fn kept_entries(repository: &Repository) -> impl Iterator<Item = (&BStr, Option<&BStr>, Scope)> {
    let counts = |entry: &ConfigEntry<'_>| {
        let section = entry.parts().map(|(section, ..)| section);
        section.is_none_or(|section| OTHER_SECTIONS.iter().all(|other| section != *other))
    };
    let entries = repository.config.entries().filter(counts);
    entries.map(|entry| (entry.key, entry.value, entry.scope))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vigil_testkit::clock::wait_for_tick;
    use vigil_testkit::sandbox::Sandbox;
    use vigil_watch::Watcher;

    use crate::session::Session;
    use crate::status::StatusRequest;
    use crate::testing::session_at;

    #[test]
    fn only_settings_that_count_cause_a_look_at_everything() {
        let sandbox = Sandbox::new();
        sandbox.write("file", "text\n");
        sandbox.git(["add", "-A"]);
        sandbox.git(["commit", "-qm", "first"]);
        let watcher = Arc::new(Watcher::new().unwrap());
        let open = || {
            let mut session = session_at(&sandbox.top(), true);
            session.watch_by(watcher.clone());
            session
        };
        let mut session = open();
        session.status(&StatusRequest::default()).unwrap();
        let looked_at_all = |session: &Session| session.basis("file".into()).unwrap().looked_at_all;
        let settings = [
            ("branch.other.remote", "origin", true),
            ("user.name", "Somebody", true),
            ("core.autocrlf", "input", false),
            ("status.relativePaths", "false", false),
        ];
        for (number, (key, value, is_kept)) in settings.into_iter().enumerate() {
            let before = looked_at_all(&session);
            wait_for_tick();
            sandbox.git(["config", key, value]);
            assert!(!session.is_fresh(None));
            session.has_dropped_messages = true;
            let earlier = std::mem::replace(&mut session, open());
            session.take_over_from(earlier);
            sandbox.write("file", "text\n".repeat(number + 2));
            let status = session.status(&StatusRequest::default()).unwrap();
            assert_eq!(status.changes.len(), 1);
            assert_eq!(looked_at_all(&session) == before, is_kept, "{key}");
            assert_eq!(session.has_dropped_messages(), is_kept, "{key}");
        }
    }

    #[test]
    fn a_tree_that_was_replaced_along_with_a_setting_is_compared_anew() {
        let sandbox = Sandbox::new();
        sandbox.write("file", "text\n");
        sandbox.git(["add", "-A"]);
        sandbox.git(["commit", "-qm", "first"]);
        let tree = sandbox.git(["rev-parse", "HEAD^{tree}"]);
        let other = sandbox.git(["mktree"]);
        let mut session = session_at(&sandbox.top(), true);
        session.status(&StatusRequest::default()).unwrap();
        sandbox.git(["config", "user.name", "Somebody"]);
        sandbox.git(["replace", tree.trim(), other.trim()]);
        let mut next = session_at(&sandbox.top(), true);
        next.take_over_from(session);
        let status = next.status(&StatusRequest::default()).unwrap();
        assert_eq!(status.changes.len(), 1);
    }
}
