//! `:/text` and `^{/text}`: the youngest commit whose message matches.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;

use super::names::{Resolver, Stop};
use super::regex::Regex;
use crate::objects;

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

/// Commits that wait, the youngest first, and of one time that which came first.
#[derive(Default)]
struct Queue {
    heap: BinaryHeap<(i64, Reverse<u64>, ObjectId)>,
    count: u64,
    seen: HashSet<ObjectId>,
}

impl Queue {
    fn push(&mut self, time_s: i64, id: ObjectId) {
        self.count = self.count.saturating_add(1);
        self.heap.push((time_s, Reverse(self.count), id));
    }
}

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
        let mut commits = Vec::new();
        for (name, id) in tips.iter().rev() {
            match self.objects.peel(id)? {
                Some((id, Kind::Commit)) => commits.push(id),
                Some(_) => {}
                None if self.objects.kind(id)?.is_some() => {
                    self.say(&[b"error: missing object referenced by '", name, b"'"]);
                }
                None if name != "HEAD" => {
                    self.say(&[b"error: ", name, b" does not point to a valid object!"]);
                }
                None => {}
            }
        }
        self.message_from(pattern, &commits)
    }

    /// The youngest commit that matches among `tips` and all that they lead to.
    pub(super) fn message_from(
        &mut self,
        pattern: &BStr,
        tips: &[ObjectId],
    ) -> Result<ObjectId, Stop> {
        let search = Search::parse(pattern).ok_or(Stop::Missing)?;
        let (mut buf, mut parents) = (Vec::new(), Vec::new());
        let mut queue = Queue::default();
        for tip in tips {
            parents.clear();
            let time_s = self.objects.links(tip, &mut buf, &mut parents)?;
            if queue.seen.insert(*tip) {
                queue.push(time_s, *tip);
            }
        }
        let mut ancestor = Vec::new();
        while let Some((_, _, id)) = queue.heap.pop() {
            parents.clear();
            self.objects.links(&id, &mut buf, &mut parents)?;
            if search.matches(&buf) {
                return Ok(id);
            }
            for parent in &parents {
                if !queue.seen.insert(*parent) {
                    continue;
                }
                let mut grandparents = Vec::new();
                match self.objects.links(parent, &mut ancestor, &mut grandparents) {
                    Ok(time_s) => queue.push(time_s, *parent),
                    Err(objects::Error::Missing { id }) => {
                        self.said.push(format!("error: Could not read {id}").into());
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Err(Stop::Missing)
    }
}
