//! Finds the youngest commit whose message matches: `:/text` and `^{/text}`.

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;

use super::Unresolved;
use super::names::Resolver;
use super::regex::{Letters, Regex};
use crate::commits::{Commits, Number, Queue};
use vigil_git::locale;
use vigil_git::objects::Parsed;
use vigil_git::refs;
use vigil_model::c_string::until_nul;
use vigil_model::raw_text::text_bytes;

/// A search for a message.
struct Search {
    regex: Regex,
    /// `!-`: the message must not match.
    is_negative: bool,
}

impl Search {
    /// Parses a pattern. `None` if it is reserved by git, or not a regular expression.
    fn parse(pattern: &BStr, letters: Letters) -> Option<Self> {
        let (is_negative, pattern) = match pattern.as_bytes() {
            [b'!', b'-', rest @ ..] => (true, rest),
            [b'!', rest @ ..] if rest.starts_with(b"!") => (false, rest),
            [b'!', ..] => return None,
            pattern => (false, pattern),
        };
        let regex = Regex::parse(pattern, letters)?;
        Some(Self { regex, is_negative })
    }

    fn matches(&self, commit: &[u8]) -> bool {
        // git treats it as a C string.
        let commit = until_nul(commit);
        let message = commit.split_once_str("\n\n").map(|(_, message)| message);
        message.is_some_and(|message| self.regex.is_match(message)) != self.is_negative
    }
}

/// A commit that was reached.
const SEEN: u32 = 1;

/// A flag of commits whose message was matched when they were read.
const JUDGED: u32 = 2;

/// A flag of those whose message matches.
const MATCHES: u32 = 4;

impl Resolver<'_> {
    /// Returns the youngest matching commit in the history of all references.
    pub(super) fn message_anywhere(&mut self, pattern: &BStr) -> Result<ObjectId, Unresolved> {
        let mut tips: Vec<(BString, ObjectId)> = Vec::new();
        self.refs.for_each(BStr::new(""), |name, id, _| {
            tips.push((name.to_owned(), id.to_owned()));
        })?;
        if let Some(id) = self.refs.resolve(BStr::new("HEAD"))? {
            tips.push(("HEAD".into(), id));
        }
        let message_count = self.messages.len();
        let reported_once = self.objects.reported_once();
        let mut commits = self.commits_of(&tips, false)?;
        if self.objects.has_non_commit_claims() {
            // A tag's claim about an object counts unless the object was met before, and that includes all objects
            // named by commits.
            self.objects.drop_messages();
            self.objects.set_reported_once(reported_once);
            self.messages.truncate(message_count);
            self.objects.forget_known();
            self.memory.forget_commits();
            commits = self.commits_of(&tips, true)?;
        }
        commits.reverse();
        self.message_from(pattern, &commits)
    }

    /// Returns the commits that `tips` lead to. Commits that no tag leads to are parsed only with
    /// `takes_all_apart`; without it, this ends at the first tag that claims that its target is not a commit.
    fn commits_of(
        &mut self,
        tips: &[(BString, ObjectId)],
        takes_all_apart: bool,
    ) -> Result<Vec<ObjectId>, Unresolved> {
        let includes_broken = match self.repository {
            Some(repository) => refs::includes_broken(&repository.environment)?,
            None => true,
        };
        let (mut commits, mut buf) = (Vec::new(), Vec::new());
        // Messages that are given only once must not be lost.
        self.objects.store();
        let messages = self.objects.take_opening_messages();
        self.messages
            .extend(messages.into_iter().map(|line| text_bytes(&line)));
        for (name, id) in tips {
            if !takes_all_apart && self.objects.has_non_commit_claims() {
                // All of them will be parsed.
                return Ok(commits);
            }
            self.collect_messages();
            let kind = self.objects.kind(id)?;
            // Errors are reported when it is parsed.
            self.objects.drop_messages();
            if kind == Some(Kind::Commit) && !takes_all_apart {
                commits.push(*id);
                continue;
            }
            // git parses any object that a reference leads to, and exits if it is damaged.
            match self.objects.parse(id, &mut buf)? {
                Some(Parsed::Commit(_)) => commits.push(*id),
                Some(Parsed::Tag(tag)) => match self.objects.untagged(&tag.target)? {
                    Some((id, Kind::Commit)) => commits.push(id),
                    Some(_) => {}
                    None => {
                        self.add_message(&[b"error: missing object referenced by '", name, b"'"])
                    }
                },
                None if kind.is_none() && name != "HEAD" && !includes_broken => {
                    self.add_message(&[b"error: ", name, b" does not point to a valid object!"]);
                }
                _ => {}
            }
        }
        self.collect_messages();
        Ok(commits)
    }

    /// Returns the youngest matching commit in the history of `tips`.
    pub(super) fn message_from(
        &mut self,
        pattern: &BStr,
        tips: &[ObjectId],
    ) -> Result<ObjectId, Unresolved> {
        let locale = self
            .repository
            .and_then(|repository| locale::with_utf8(&repository.environment));
        let letters = match locale {
            Some(name) => Letters::Utf8 {
                has_order: name != "C",
            },
            None => Letters::Bytes,
        };
        let search = Search::parse(pattern, letters).ok_or(Unresolved::Missing)?;
        let mut commits = Commits::new(self.objects);
        let mut queue = Queue::default();
        for tip in tips {
            let tip = commits.number_of(tip);
            if commits.flags_of(tip) & SEEN != 0 {
                // The messages about its parents are repeated each time it comes.
                queue.push(tip, commits.time_of(tip));
            }
            self.reach(tip, &search, &mut commits, &mut queue)?;
        }
        let mut buf = Vec::new();
        while let Some(number) = queue.pop() {
            // Like git, before the message is matched: this reports missing parents.
            for at in 0..commits.parent_count(number) {
                if let Some(parent) = commits.parent(number, at) {
                    self.reach(parent, &search, &mut commits, &mut queue)?;
                }
            }
            let Some(id) = commits.id_of(number) else {
                continue;
            };
            let flags = commits.flags_of(number);
            let matches = match flags & JUDGED {
                // It was found in the commit-graph, so git takes it for a commit until it reads the message.
                0 => match self.objects.read(&id, &mut buf)? {
                    Some(Kind::Commit) => search.matches(&buf),
                    Some(kind) => {
                        let text = format!("expected commit for {id}, got {kind}");
                        return Err(Unresolved::Fatal(text.into()));
                    }
                    None => {
                        let text = format!("cannot read commit object {id}");
                        return Err(Unresolved::Fatal(text.into()));
                    }
                },
                _ => flags & MATCHES != 0,
            };
            if matches {
                return Ok(id);
            }
        }
        Err(Unresolved::Missing)
    }

    /// Adds a commit to the queue, unless it was there before.
    fn reach(
        &mut self,
        number: Number,
        search: &Search,
        commits: &mut Commits,
        queue: &mut Queue,
    ) -> Result<(), Unresolved> {
        if commits.flags_of(number) & SEEN != 0
            || !commits.read_or_report(number, &mut self.messages)?
        {
            return Ok(());
        }
        // Matched now, while the contents are at hand, so that they need not be read again later.
        let found = match commits.content_of(number) {
            Some(content) if search.matches(content) => JUDGED | MATCHES,
            Some(_) => JUDGED,
            None => 0,
        };
        commits.add_flags(number, SEEN | found);
        queue.push(number, commits.time_of(number));
        Ok(())
    }
}
