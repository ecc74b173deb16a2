//! `:/text` and `^{/text}`: the youngest commit whose message matches.

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;

use super::names::{Resolver, Stop};
use super::regex::Regex;
use crate::commits::{Commits, Number, Queue};
use vigil_git::objects::Parsed;
use vigil_git::refs;
use vigil_model::raw_text::bytes_of;

/// What a message is searched for.
struct Search {
    regex: Regex,
    /// `!-`: a message without it is wanted.
    is_negative: bool,
}

impl Search {
    /// `None` for what git reserves, and for no regular expression.
    fn parse(pattern: &BStr) -> Option<Self> {
        let (is_negative, pattern) = match pattern.as_bytes() {
            [b'!', b'-', rest @ ..] => (true, rest),
            [b'!', rest @ ..] if rest.starts_with(b"!") => (false, rest),
            [b'!', ..] => return None,
            pattern => (false, pattern),
        };
        let regex = Regex::parse(pattern)?;
        Some(Self { regex, is_negative })
    }

    fn matches(&self, commit: &[u8]) -> bool {
        // git reads it as a C string.
        let commit = commit.split(|byte| *byte == 0).next().unwrap_or_default();
        let message = commit.split_once_str("\n\n").map(|(_, message)| message);
        message.is_some_and(|message| self.regex.is_match(message)) != self.is_negative
    }
}

/// A commit that was reached.
const SEEN: u32 = 1;

/// A commit whose message was looked at when it was read.
const JUDGED: u32 = 2;

/// Such a commit whose message matches.
const MATCHES: u32 = 4;

impl Resolver<'_> {
    /// The youngest commit that matches among all that references lead to.
    pub(super) fn message_anywhere(&mut self, pattern: &BStr) -> Result<ObjectId, Stop> {
        let mut tips: Vec<(BString, ObjectId)> = Vec::new();
        self.refs.for_each(BStr::new(""), |name, id, _| {
            tips.push((name.to_owned(), id.to_owned()));
        })?;
        if let Some(id) = self.refs.resolve(BStr::new("HEAD"))? {
            tips.push(("HEAD".into(), id));
        }
        let said = self.said.len();
        let mut commits = self.commits_of(&tips, false)?;
        if self.objects.has_doubts() {
            // What a tag says counts, unless the object was met before: by all that commits name, too.
            self.said.truncate(said);
            self.objects.forget_known();
            commits = self.commits_of(&tips, true)?;
        }
        commits.reverse();
        self.message_from(pattern, &commits)
    }

    /// The commits to which `tips` lead. Those that need no tag for it are taken apart only with `takes_all_apart`.
    fn commits_of(
        &mut self,
        tips: &[(BString, ObjectId)],
        takes_all_apart: bool,
    ) -> Result<Vec<ObjectId>, Stop> {
        let includes_broken = match self.repository {
            Some(repository) => refs::includes_broken(&repository.environment)?,
            None => true,
        };
        let (mut commits, mut buf) = (Vec::new(), Vec::new());
        // What is said once is not to be lost.
        self.objects.store();
        let said = self.objects.take_alternates_said();
        self.said
            .extend(said.into_iter().map(|line| bytes_of(&line)));
        for (name, id) in tips {
            self.hear();
            let kind = self.objects.kind(id)?;
            // What is wrong is said when it is taken apart.
            self.objects.take_said();
            if kind == Some(Kind::Commit) && !takes_all_apart {
                commits.push(*id);
                continue;
            }
            // git parses whatever a reference leads to, and ends where that is damaged.
            match self.objects.parse(id, &mut buf)? {
                Some(Parsed::Other(Kind::Commit)) => commits.push(*id),
                Some(Parsed::Tag(_)) => match self.objects.untagged(id)? {
                    Some((id, Kind::Commit)) => commits.push(id),
                    Some(_) => {}
                    None => self.say(&[b"error: missing object referenced by '", name, b"'"]),
                },
                None if kind.is_none() && name != "HEAD" && !includes_broken => {
                    self.say(&[b"error: ", name, b" does not point to a valid object!"]);
                }
                _ => {}
            }
        }
        self.hear();
        Ok(commits)
    }

    /// The youngest commit that matches among `tips` and all that they lead to.
    pub(super) fn message_from(
        &mut self,
        pattern: &BStr,
        tips: &[ObjectId],
    ) -> Result<ObjectId, Stop> {
        let search = Search::parse(pattern).ok_or(Stop::Missing)?;
        let mut commits = Commits::new(self.objects);
        let mut queue = Queue::default();
        for tip in tips {
            let tip = commits.number_of(tip);
            if commits.flags_of(tip) & SEEN != 0 {
                // What is wrong with its parents is said each time that it comes.
                queue.push(tip, commits.time_of(tip));
            }
            self.reach(tip, &search, &mut commits, &mut queue)?;
        }
        let mut buf = Vec::new();
        while let Some(number) = queue.pop() {
            // Before the message is looked at, as in git, which tells which parents are not there.
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
                0 => {
                    let kind = self.objects.read(&id, &mut buf)?;
                    kind == Some(Kind::Commit) && search.matches(&buf)
                }
                _ => flags & MATCHES != 0,
            };
            if matches {
                return Ok(id);
            }
        }
        Err(Stop::Missing)
    }

    /// Puts a commit into the queue, unless it was before.
    fn reach(
        &mut self,
        number: Number,
        search: &Search,
        commits: &mut Commits<'_>,
        queue: &mut Queue,
    ) -> Result<(), Stop> {
        if commits.flags_of(number) & SEEN != 0 || !commits.read_or_say(number, &mut self.said)? {
            return Ok(());
        }
        // Now that its contents are at hand, they need not be read again in its turn.
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
