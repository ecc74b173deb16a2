//! The reverse of describe: the reference from which a commit can be reached, and the path from there (`git name-rev`,
//! as `git describe --contains` calls it).

use std::collections::HashSet;
use std::iter::Peekable;
use std::vec;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;

use super::context::{Context, abbreviated};
use super::error::Error;
use super::options::{DescribeOptions, prefix_of};
use super::tag_object;
use crate::commits::{Commits, GENERATION_UNKNOWN, Number};
use crate::revision::Memory;
use vigil_git::objects::Parsed;
use vigil_git::objects::{self, MANY, Objects, Tag};
use vigil_git::refs;
use vigil_model::raw_text::{raw, text_bytes};
use vigil_model::wildmatch::{Flags, wildmatch};

/// The cost of a step to a parent other than the first, where a step to a first parent costs 1.
const SIDE_STEP: i32 = 65535;

/// How many seconds earlier than the earliest commit in question a commit must be to be left out, since clocks differ.
const CUTOFF_SLOP_S: u64 = 86400;

/// The result of `--contains`.
#[derive(Debug, Default)]
pub struct NameRevResult {
    /// One name for each commit, in order. If there are fewer, `failure` says why.
    pub names: Vec<BString>,
    /// git's messages for stderr, as whole lines.
    pub messages: Vec<BString>,
    /// The error that ended the search.
    pub failure: Option<Error>,
}

/// Names each of `revisions` by a reference whose history contains it.
pub fn contains(
    options: &DescribeOptions,
    context: Context<'_>,
    revisions: &[BString],
) -> NameRevResult {
    let mut contained = NameRevResult::default();
    let result = NameRev::run(options, context, revisions, &mut contained);
    contained.messages.extend(messages_of(context.objects));
    contained.failure = result.err();
    contained
}

/// A reference whose name is passed on to its history.
struct Tip {
    reference: BString,
    /// Whether a pattern matched it only in part, or only tags are considered: then its name is shortened.
    is_shortened: bool,
    commit: Number,
    time_s: u64,
    is_tag: bool,
    is_peeled: bool,
}

/// The start of a commit's name.
#[derive(Clone, Copy)]
enum Start {
    /// The tip with this number.
    Tip(usize),
    /// The start with this number, some first parents from there, and then another parent.
    Side(usize, i32, usize),
}

/// The best name of a commit so far.
#[derive(Clone, Copy)]
struct BestName {
    /// The index of its [`Start`].
    start: usize,
    time_s: u64,
    /// The number of steps to first parents after the start.
    generation: i32,
    distance: i32,
    is_tag: bool,
}

/// A reference, the id in it, the peeled id if that is known, and whether the name is to be shortened.
type MatchingRef = (BString, ObjectId, Option<ObjectId>, bool);

/// Tag objects that were read ahead, in the order in which they are needed.
struct TagsAhead(Peekable<vec::IntoIter<(ObjectId, Option<Tag>)>>);

impl TagsAhead {
    /// Reads the targets in `found` that are not peeled, unless they are `commits` that were read.
    fn of(found: &[MatchingRef], commits: &Commits, objects: &Objects) -> Self {
        let asked = found.iter().filter_map(|(_, id, peeled, _)| {
            (peeled.is_none() && !commits.was_read(id)).then_some(*id)
        });
        let ids: Vec<ObjectId> = asked.collect();
        let tags = match ids.len() < MANY {
            true => Vec::new(),
            false => tag_object::read_each(&ids, objects),
        };
        let tags: Vec<_> = ids.into_iter().zip(tags).collect();
        Self(tags.into_iter().peekable())
    }

    /// Returns the tag object `id`, if it is the next one and could be read.
    fn take(&mut self, id: &ObjectId) -> Option<Tag> {
        self.0.next_if(|(next, _)| next == id)?.1
    }
}

/// Fails if an object that any reference leads to is replaced, and its replacement is missing: git reads all of them,
/// whether or not they count.
fn check_replacements(context: Context<'_>) -> Result<(), Error> {
    if !context.objects.history().has_replacements() {
        return Ok(());
    }
    let mut ids = Vec::new();
    let all = BStr::new("");
    context
        .refs
        .for_each(all, |_, id, _| ids.push(id.to_owned()))?;
    for id in ids {
        context.objects.check_replacement(&id)?;
    }
    Ok(())
}

/// Returns the references that `options` ask for.
fn matching_references(
    options: &DescribeOptions,
    context: Context<'_>,
) -> Result<Vec<MatchingRef>, Error> {
    let patterns = Patterns::new(options);
    let listing = context
        .objects
        .list_peeled(context.refs, prefix_of(options).into())?;
    let mut found = Vec::new();
    context
        .refs
        .for_each_listed(&listing, None, |name, id, peeled| {
            if !id.is_null()
                && let Some(is_partial) = patterns.judge(name)
            {
                let is_shortened = is_partial || !options.all;
                found.push((BString::from(name), id.to_owned(), peeled, is_shortened));
            }
        })?;
    Ok(found)
}

/// What is needed to follow references to commits.
struct Following {
    tags_ahead: TagsAhead,
    buf: Vec<u8>,
    /// Whether the user wants references that lead nowhere, so that there is nothing to say of them.
    includes_broken: bool,
}

/// Returns git's messages from reading objects.
fn messages_of(objects: &Objects) -> impl Iterator<Item = BString> {
    objects
        .take_messages()
        .into_iter()
        .map(|line| text_bytes(&line))
}

struct NameRev {
    memory: Memory,
    commits: Commits,
    tips: Vec<Tip>,
    starts: Vec<Start>,
    known: Vec<Option<BestName>>,
    /// Commits of an earlier generation cannot have the commits in question in their history; [`GENERATION_UNKNOWN`] if
    /// this is not known.
    generation_min: u32,
    time_min_s: u64,
}

impl NameRev {
    fn run(
        options: &DescribeOptions,
        context: Context<'_>,
        revisions: &[BString],
        contained: &mut NameRevResult,
    ) -> Result<(), Error> {
        let mut naming = NameRev {
            memory: Memory::new(),
            commits: Commits::new(context.objects),
            tips: Vec::new(),
            starts: Vec::new(),
            known: Vec::new(),
            generation_min: GENERATION_UNKNOWN,
            time_min_s: u64::MAX,
        };
        let messages = &mut contained.messages;
        let mut asked = Vec::new();
        for revision in revisions {
            if let Some(number) = naming.ask(revision.as_bstr(), context, messages)? {
                asked.push(number);
            }
        }
        naming.time_min_s = naming.time_min_s.saturating_sub(CUTOFF_SLOP_S);
        naming.find_tips(options, context, messages)?;
        // Tags first, and older ones before later ones: better names then spread less.
        let mut order: Vec<usize> = (0..naming.tips.len()).collect();
        order.sort_by_key(|at| naming.tips.get(*at).map(|tip| (!tip.is_tag, tip.time_s)));
        for at in order {
            naming.spread(at, messages)?;
        }
        for number in asked {
            let name = match naming.name(number, context)? {
                Some(name) => name,
                None => {
                    let Some(id) = naming.commits.id_of(number) else {
                        continue;
                    };
                    if !options.always {
                        return Err(Error::Undescribed { id });
                    }
                    abbreviated(&id, None, context)?
                }
            };
            contained.names.push(name);
        }
        Ok(())
    }

    /// Returns the commit that `revision` leads to. If there is none, adds a message and returns `None`.
    fn ask(
        &mut self,
        revision: &BStr,
        context: Context<'_>,
        messages: &mut Vec<BString>,
    ) -> Result<Option<Number>, Error> {
        let id = context.find(revision, &self.memory, messages)?;
        let skip = |messages: &mut Vec<BString>, what: &[u8]| {
            let parts = [
                b"Could not get ",
                what,
                b" for ",
                revision.as_bytes(),
                b". Skipping.",
            ];
            messages.push(parts.concat().into());
            Ok(None)
        };
        let Some(id) = id else {
            return skip(messages, b"sha1");
        };
        let parsed = context.objects.parse(&id, &mut Vec::new())?;
        messages.extend(messages_of(context.objects));
        let Some(parsed) = parsed else {
            return skip(messages, b"object");
        };
        let target = match parsed {
            Parsed::Tag(_) => context.objects.untagged(&id)?,
            other => Some((id, other.kind())),
        };
        messages.extend(messages_of(context.objects));
        if target.is_none() {
            let parts = [
                b"error: missing object referenced by '",
                revision.as_bytes(),
                b"'",
            ];
            messages.push(parts.concat().into());
        }
        let Some((id, Kind::Commit)) = target else {
            return skip(messages, b"commit");
        };
        let number = self.commits.number_of(&id);
        self.commits.read_or_report(number, messages)?;
        if let Some(commit) = self.commits.get(number) {
            self.time_min_s = self.time_min_s.min(commit.time_s);
            self.generation_min = self.generation_min.min(commit.generation);
        }
        Ok(Some(number))
    }

    /// Whether a commit, which was read, is too old to have any commit in question in its history.
    fn is_too_old(&self, number: Number) -> bool {
        let Some(commit) = self.commits.get(number) else {
            return true;
        };
        match self.generation_min {
            GENERATION_UNKNOWN => commit.time_s < self.time_min_s,
            least => commit.generation < least,
        }
    }

    /// Collects the references that `options` ask for.
    fn find_tips(
        &mut self,
        options: &DescribeOptions,
        context: Context<'_>,
        messages: &mut Vec<BString>,
    ) -> Result<(), Error> {
        let includes_broken =
            refs::includes_broken(&context.repository.environment).map_err(objects::Error::from)?;
        check_replacements(context)?;
        let found = matching_references(options, context)?;
        // Most are commits or lead to one.
        let commits = found.iter().map(|(_, id, peeled, _)| peeled.unwrap_or(*id));
        self.commits.read_ahead(commits);
        let mut following = Following {
            tags_ahead: TagsAhead::of(&found, &self.commits, context.objects),
            buf: Vec::new(),
            includes_broken,
        };
        let mut noted = HashSet::new();
        for found in found {
            let target = self.target_of(&found, context, &mut following, messages)?;
            let Some((target, time_s, is_peeled)) = target else {
                continue;
            };
            let (reference, _, _, is_shortened) = found;
            if !self.may_lead(&target, messages)? {
                continue;
            }
            let commit = self.commits.number_of(&target);
            // Many references may lead to the same commit.
            if noted.insert(commit) {
                self.commits.note_links(commit);
            }
            self.tips.push(Tip {
                is_tag: reference.starts_with(b"refs/tags/"),
                reference,
                is_shortened,
                commit,
                time_s: time_s.unwrap_or_else(|| self.commits.time_of(commit)),
                is_peeled,
            });
        }
        Ok(())
    }

    /// Returns the commit that a reference leads to, the time of the last tag on the way, and whether there is one. `None` if it
    /// leads to none that may count; messages about that are appended to `messages`.
    fn target_of(
        &mut self,
        (reference, id, peeled, _): &MatchingRef,
        context: Context<'_>,
        following: &mut Following,
        messages: &mut Vec<BString>,
    ) -> Result<Option<(ObjectId, Option<u64>, bool)>, Error> {
        let annotated = peeled.filter(|peeled| peeled != id);
        let has_no_tag_object = *peeled == Some(*id);
        let mut peel = || match following.tags_ahead.take(id) {
            Some(tag) => {
                let peeled = tag_object::follow(id, tag, context.objects, &mut following.buf)?;
                Ok((Some(Kind::Tag), peeled))
            }
            None => tag_object::peel(id, context.objects, &mut following.buf),
        };
        messages.extend(messages_of(context.objects));
        let (kind, peeled) = match annotated {
            Some(target) if !self.may_lead_from_tag(&target, messages)? => return Ok(None),
            Some(_) => (Some(Kind::Tag), peel()?.1),
            None if self.commits.has_in_graph(id) || self.commits.was_read(id) => {
                (Some(Kind::Commit), None)
            }
            None if has_no_tag_object && self.commits.is_commit(id)? => (Some(Kind::Commit), None),
            None => peel()?,
        };
        let (target, time_s) = match (kind, peeled) {
            (Some(Kind::Commit), _) => (*id, None),
            (Some(_), Some(peeled)) if peeled.kind == Kind::Commit => {
                (peeled.target, Some(peeled.time_s))
            }
            (Some(Kind::Tree | Kind::Blob), _) => return Ok(None),
            (kind, _) => {
                // git parses it and everything that it leads to, and reports errors there.
                context.objects.drop_messages();
                context.objects.untagged(id)?;
                messages.extend(messages_of(context.objects));
                if kind.is_none() && !following.includes_broken {
                    let line = format!(
                        "error: {reference} does not point to a valid object!",
                        reference = raw(reference)
                    );
                    messages.push(text_bytes(&line));
                }
                return Ok(None);
            }
        };
        Ok(Some((target, time_s, kind == Some(Kind::Tag))))
    }

    /// Whether `id` is a commit that may have one in question in its history. Messages about it are appended to `messages`.
    fn may_lead(&mut self, id: &ObjectId, messages: &mut Vec<BString>) -> Result<bool, Error> {
        let number = self.commits.number_of(id);
        let is_read = self.commits.read_or_report_damage(number, messages)?;
        Ok(is_read && !self.is_too_old(number))
    }

    /// Does the same for what a tag is recorded to lead to. If that is no commit, only the tag itself tells whether
    /// that is right, so this returns true without a message.
    fn may_lead_from_tag(
        &mut self,
        id: &ObjectId,
        messages: &mut Vec<BString>,
    ) -> Result<bool, Error> {
        let start = messages.len();
        let number = self.commits.number_of(id);
        if self.commits.read_or_report_damage(number, messages)? {
            return Ok(!self.is_too_old(number));
        }
        let is_other = self.commits.is_of_other_kind(id);
        if is_other {
            messages.truncate(start);
        }
        Ok(is_other)
    }

    /// Passes names on from the tip with this number to its history, as far as they are better than the known ones.
    fn spread(&mut self, tip: usize, messages: &mut Vec<BString>) -> Result<(), Error> {
        let Some(&Tip {
            commit,
            time_s,
            is_tag,
            ..
        }) = self.tips.get(tip)
        else {
            return Ok(());
        };
        let first = BestName {
            start: self.starts.len(),
            time_s,
            generation: 0,
            distance: 0,
            is_tag,
        };
        if !self.note(commit, first) {
            return Ok(());
        }
        self.starts.push(Start::Tip(tip));
        let mut pending = vec![commit];
        let mut better = Vec::new();
        while let Some(number) = pending.pop() {
            let Some(known) = self.known_of(number) else {
                continue;
            };
            for at in 0..self.commits.parent_count(number) {
                let Some(parent) = self.commits.parent(number, at) else {
                    break;
                };
                self.commits.read_or_report(parent, messages)?;
                if self.is_too_old(parent) {
                    continue;
                }
                let next = match at {
                    0 => BestName {
                        generation: known.generation.wrapping_add(1),
                        distance: known.distance.wrapping_add(1),
                        ..known
                    },
                    _ => BestName {
                        start: self.starts.len(),
                        generation: 0,
                        distance: known.distance.wrapping_add(SIDE_STEP),
                        ..known
                    },
                };
                if self.note(parent, next) {
                    if at > 0 {
                        let context = at.saturating_add(1);
                        let side = Start::Side(known.start, known.generation, context);
                        self.starts.push(side);
                    }
                    better.push(parent);
                }
            }
            // The first parent comes next.
            pending.extend(better.drain(..).rev());
        }
        Ok(())
    }

    fn known_of(&self, number: Number) -> Option<BestName> {
        let at = usize::try_from(number).ok()?;
        self.known.get(at).copied().flatten()
    }

    /// Sets the name of a commit to `new`, if that is better. Returns whether it was.
    fn note(&mut self, number: Number, new: BestName) -> bool {
        let Ok(at) = usize::try_from(number) else {
            return false;
        };
        if self.known.len() <= at {
            self.known.resize(at.saturating_add(1), None);
        }
        let Some(slot) = self.known.get_mut(at) else {
            return false;
        };
        let is_better = slot.is_none_or(|old| new.is_better_than(&old));
        if is_better {
            *slot = Some(new);
        }
        is_better
    }

    /// Returns the name of a commit.
    fn name(&self, number: Number, context: Context<'_>) -> Result<Option<BString>, Error> {
        let Some(known) = self.known_of(number) else {
            return Ok(None);
        };
        // From the commit back to the tip.
        let mut steps = Vec::new();
        if known.generation > 0 {
            steps.push(format!("~{}", known.generation));
        }
        let mut start = known.start;
        let tip = loop {
            match self.starts.get(start) {
                Some(Start::Tip(tip)) => break self.tips.get(*tip),
                Some(Start::Side(from, generation, parent)) => {
                    steps.push(match generation {
                        1.. => format!("~{generation}^{parent}"),
                        _ => format!("^{parent}"),
                    });
                    start = *from;
                }
                None => break None,
            }
        };
        let Some(tip) = tip else {
            return Ok(None);
        };
        let mut name = tip.shown(context)?;
        if steps.is_empty() && tip.is_peeled {
            name.extend_from_slice(b"^0");
        }
        for step in steps.iter().rev() {
            name.extend_from_slice(step.as_bytes());
        }
        Ok(Some(name))
    }
}

impl BestName {
    fn is_better_than(&self, old: &Self) -> bool {
        let (new_distance, old_distance) = (self.whole_distance(), old.whole_distance());
        match (self.is_tag, old.is_tag) {
            (true, true) => new_distance < old_distance,
            (true, false) => true,
            (false, true) => false,
            (false, false) => (new_distance, self.time_s) < (old_distance, old.time_s),
        }
    }

    /// Returns the distance, where a name that ends in first parents has the cost of one more side step.
    fn whole_distance(&self) -> i32 {
        match self.generation {
            1.. => self.distance.wrapping_add(SIDE_STEP),
            _ => self.distance,
        }
    }
}

impl Tip {
    fn shown(&self, context: Context<'_>) -> Result<BString, Error> {
        if self.is_shortened {
            return Ok(context.refs.shorten(self.reference.as_bstr())?);
        }
        let short = [b"refs/heads/".as_slice(), b"refs/"]
            .iter()
            .find_map(|folder| self.reference.strip_prefix(*folder));
        Ok(short.unwrap_or(&self.reference).into())
    }
}

/// The patterns of `--match` and `--exclude`, as patterns of full reference names.
struct Patterns {
    wanted: Vec<BString>,
    excluded: Vec<BString>,
}

impl Patterns {
    fn new(options: &DescribeOptions) -> Self {
        let folders: &[&str] = match options.all {
            true => &["refs/tags/", "refs/heads/", "refs/remotes/"],
            false => &["refs/tags/"],
        };
        let all = |patterns: &[BString]| {
            let below = |folder: &&str| {
                let folder = folder.as_bytes().to_vec();
                patterns
                    .iter()
                    .map(move |pattern| BString::from([&folder, pattern.as_slice()].concat()))
                    .collect::<Vec<_>>()
            };
            folders.iter().flat_map(below).collect()
        };
        Self {
            wanted: all(&options.patterns),
            excluded: all(&options.excluded),
        }
    }

    /// Returns `None` if the reference is not wanted, otherwise whether a pattern matches only a later part of its
    /// name.
    fn judge(&self, name: &BStr) -> Option<bool> {
        if self
            .excluded
            .iter()
            .any(|pattern| match_start(pattern, name).is_some())
        {
            return None;
        }
        if self.wanted.is_empty() {
            return Some(false);
        }
        let mut verdict = None;
        for pattern in &self.wanted {
            if let Some(start) = match_start(pattern, name) {
                verdict = Some(verdict.unwrap_or(false) || start > 0);
            }
        }
        verdict
    }
}

/// Returns the start of the first suffix of `name` that `pattern` matches: at the beginning or after a slash.
fn match_start(pattern: &[u8], name: &BStr) -> Option<usize> {
    let behind = name.find_iter("/").map(|at| at.saturating_add(1));
    std::iter::once(0).chain(behind).find(|start| {
        name.get(*start..)
            .is_some_and(|part| wildmatch(pattern, part, Flags::default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_from_any_slash() {
        for (pattern, start) in [
            ("refs/tags/v*", Some(0)),
            ("tags/v1", Some(5)),
            ("v1", Some(10)),
            ("*1", Some(0)),
            ("ags/v1", None),
        ] {
            assert_eq!(
                match_start(pattern.as_bytes(), "refs/tags/v1".into()),
                start,
                "{pattern}"
            );
        }
    }
}
