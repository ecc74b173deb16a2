//! Finds the nearest name of a commit by a walk through its history, latest commits first. Each name on the way
//! becomes a candidate, and counts the commits that are not in its history.

use bstr::BString;
use gix_hash::ObjectId;

use super::table::Rank;
use super::{Describer, Error};
use crate::commits::{Commits, Number, Queue};
use vigil_git::objects;
use vigil_model::raw_text::text_bytes;

/// A commit that was reached. The bits above are flags of candidates.
pub(super) const SEEN: u32 = 1;

/// A commit in the queue that is not in the history of the best candidate.
const OUTSIDE: u32 = 1 << 31;

/// A name that may be the answer.
struct Candidate {
    /// The commit that has the name.
    id: ObjectId,
    rank: Rank,
    /// The number of visited commits that are not in its history.
    depth: usize,
    /// The flag of the commits in its history.
    flag: u32,
}

/// The result of a walk.
struct WalkResult {
    /// The nearest first.
    candidates: Vec<Candidate>,
    queue: Queue,
    /// The number of visited commits.
    seen: usize,
    /// The commit at which the walk ended, because there were enough candidates.
    gave_up_on: Option<Number>,
    /// Whether a lightweight tag was met that does not count. If no other tags exist, the walk ended there.
    met_lightweight: bool,
}

impl Describer<'_> {
    /// Returns the description of the commit `id`, without a mark for a dirty working tree.
    pub(super) fn describe_commit(&mut self, id: &ObjectId) -> Result<BString, Error> {
        let options = self.options;
        if let Some(name) = self.names.find(id, &self.commits)?
            && self.counts(name)
        {
            let mut text = self.shown(name)?;
            if let Some(name) = self.names.get(name)
                && (name.is_misnamed || options.long)
            {
                let target = name.tag.as_ref().map_or(*id, |tag| tag.target);
                self.append_distance(&mut text, 0, &target)?;
            }
            return Ok(text);
        }
        if options.candidates == 0 {
            return Err(Error::NotExact { id: *id });
        }
        if options.is_debugged {
            self.messages
                .push("No exact match on refs or tags, searching to describe".into());
        }
        let start = self.commits.number_of(id);
        self.start = Some(start);
        let WalkResult {
            mut candidates,
            mut queue,
            mut seen,
            gave_up_on,
            met_lightweight,
        } = self.search(start)?;
        let Some(best) = candidates.first_mut() else {
            if options.always {
                return self.abbreviated(id);
            }
            let commits = &self.commits;
            let is_seen = |id: &ObjectId| {
                let number = commits.number_by_id(id);
                number.is_some_and(|number| {
                    commits.flags_of(number) & SEEN != 0 && commits.is_stored(number)
                })
            };
            let has_lightweight =
                met_lightweight || self.names.has_lightweight(commits, &is_seen)?;
            return Err(match has_lightweight {
                true => Error::OnlyLightweight { id: *id },
                false => Error::NoTags { id: *id },
            });
        };
        if let Some(number) = gave_up_on {
            queue.push(number, self.commits.time_of(number));
            seen = seen.saturating_sub(1);
        }
        let rest = finish_depth(&mut self.commits, &mut queue, best, &mut self.messages)?;
        let (best_id, depth) = (best.id, best.depth);
        if options.is_debugged {
            self.explain(&candidates, seen.saturating_add(rest), gave_up_on)?;
        }
        let Some(best_name) = self.names.best_of(&best_id)? else {
            return Err(Error::NoTags { id: *id });
        };
        let mut text = self.shown(best_name)?;
        let is_misnamed = self
            .names
            .get(best_name)
            .is_some_and(|name| name.is_misnamed);
        if is_misnamed || options.abbreviation != Some(0) {
            self.append_distance(&mut text, depth, id)?;
        }
        Ok(text)
    }

    /// Whether the name may be an answer.
    fn counts(&self, name: u32) -> bool {
        let name = self.names.get(name);
        name.is_some_and(|name| self.options.counts(name.rank))
    }

    /// Prepares a search from `start`, which is the only commit in the queue then. Also returns how many candidates are enough.
    fn begin_search(&mut self, start: Number) -> Result<(Queue, usize), Error> {
        let count = self.names.count(&self.commits)?;
        if !std::mem::replace(&mut self.has_looked, true) {
            self.look_up_all_names()?;
        }
        self.collect_messages();
        self.commits.read_or_report(start, &mut self.messages)?;
        if let Some(commit) = self.commits.get_mut(start) {
            commit.flags = SEEN;
        }
        let mut queue = Queue::default();
        queue.push(start, self.commits.time_of(start));
        Ok((queue, self.options.candidates.min(count)))
    }

    /// Searches the history of `start` for names.
    fn search(&mut self, start: Number) -> Result<WalkResult, Error> {
        let (mut queue, enough) = self.begin_search(start)?;
        let options = self.options;
        let commits = &mut self.commits;
        let mut result = WalkResult {
            candidates: Vec::new(),
            queue: Queue::default(),
            seen: 0,
            gave_up_on: None,
            met_lightweight: false,
        };
        // If no candidate is possible, the walk is needed only for the messages about missing commits, and a history
        // in the commit-graph causes none.
        let only_lightweight = !options.counts_lightweight()
            && !self.names.has_annotated()
            && commits.is_in_graph(start);
        if only_lightweight && options.always {
            return Ok(result);
        }
        let mut has_annotated = false;
        while let Some(number) = queue.pop() {
            result.seen = result.seen.saturating_add(1);
            if result.candidates.len() == enough {
                result.gave_up_on = Some(number);
                break;
            }
            let id = match self.names.may_be_of(commits.first_bytes_of(number)) {
                true => commits.id_of(number),
                false => None,
            };
            let rank = match &id {
                Some(id) => self.names.rank_of(id),
                None => None,
            };
            // git gives no name to a commit whose object is lost.
            if let (Some(id), Some(rank)) = (id, rank)
                && (options.counts(rank) || !result.met_lightweight)
                && commits.is_stored(number)
            {
                if options.counts(rank) {
                    let flag = 2 << result.candidates.len();
                    result.candidates.push(Candidate {
                        id,
                        rank,
                        depth: result.seen.saturating_sub(1),
                        flag,
                    });
                    commits.add_flags(number, flag);
                    has_annotated |= rank == Rank::Annotated;
                } else {
                    result.met_lightweight = true;
                    if only_lightweight {
                        break;
                    }
                }
            }
            let flags = commits.flags_of(number);
            for candidate in &mut result.candidates {
                candidate.depth += usize::from(flags & candidate.flag == 0);
            }
            // The only remaining path continues from commits that the best candidates contain.
            if has_annotated && queue.is_empty() {
                let best = best_flags(&result.candidates);
                if flags & best == best {
                    if options.is_debugged {
                        self.messages.push(finished_at(commits.id_of(number)));
                    }
                    break;
                }
            }
            let parents_max = match options.first_parent {
                true => 1,
                false => usize::MAX,
            };
            let messages = &mut self.messages;
            push_parents(commits, number, parents_max, &mut queue, messages)?;
        }
        // A stable sort: of equal depth, the one that was found first is better.
        result.candidates.sort_by_key(|candidate| candidate.depth);
        result.queue = queue;
        Ok(result)
    }

    /// Looks up the commits of all names, as git does before its first search, when it repeats its messages about them.
    fn look_up_all_names(&mut self) -> Result<(), Error> {
        for id in self.names.broken() {
            self.context.objects.peel(&id)?;
        }
        for id in self.context.objects.history().all_replaced() {
            // Of a lightweight tag, git asks only for the type.
            if self.names.rank_of(id) == Some(Rank::Annotated) {
                self.context.objects.check_replacement(id)?;
            }
        }
        Ok(())
    }

    /// Adds the messages about the search.
    fn explain(
        &mut self,
        candidates: &[Candidate],
        seen: usize,
        gave_up_on: Option<Number>,
    ) -> Result<(), Error> {
        for candidate in candidates {
            let Some(name) = self.names.best_of(&candidate.id)? else {
                continue;
            };
            let word = candidate.rank.word();
            let mut line = format!(" {word:<11} {:8} ", candidate.depth).into_bytes();
            line.extend_from_slice(self.names.path(name));
            self.messages.push(line.into());
        }
        self.messages
            .push(text_bytes(&format!("traversed {seen} commits")));
        if let Some(id) = gave_up_on.and_then(|number| self.commits.id_of(number)) {
            let count = self.options.candidates;
            let line = format!("found {count} tags; gave up search at {id}");
            self.messages.push(text_bytes(&line));
        }
        Ok(())
    }
}

/// The message that no other candidate can come after the commit `id`.
fn finished_at(id: Option<ObjectId>) -> BString {
    let id = id.map(|id| id.to_string()).unwrap_or_default();
    text_bytes(&format!("finished search at {id}"))
}

/// Puts the first `max` parents of the commit `number` into `queue`, unless they were there before, and adds its flags to them.
fn push_parents(
    commits: &mut Commits,
    number: Number,
    max: usize,
    queue: &mut Queue,
    messages: &mut Vec<BString>,
) -> Result<(), objects::Error> {
    for at in 0..commits.parent_count(number).min(max) {
        let Some(parent) = commits.parent(number, at) else {
            break;
        };
        commits.read_or_report(parent, messages)?;
        if commits.flags_of(parent) & SEEN == 0 {
            queue.push(parent, commits.time_of(parent));
        }
        commits.add_flags(parent, commits.flags_of(number));
    }
    Ok(())
}

/// Returns the flags of the candidates of the least depth.
fn best_flags(candidates: &[Candidate]) -> u32 {
    let least = candidates.iter().map(|candidate| candidate.depth).min();
    candidates
        .iter()
        .filter(|candidate| Some(candidate.depth) == least)
        .fold(0, |flags, candidate| flags | candidate.flag)
}

/// Continues the walk until only commits in the history of the best candidate are left, and counts those that are not.
/// Returns the number of visited commits.
fn finish_depth(
    commits: &mut Commits,
    queue: &mut Queue,
    best: &mut Candidate,
    messages: &mut Vec<BString>,
) -> Result<usize, objects::Error> {
    let mut seen = 0usize;
    let mut outside = 0usize;
    for number in queue.iter() {
        if commits.flags_of(number) & best.flag == 0 {
            commits.add_flags(number, OUTSIDE);
            outside = outside.saturating_add(1);
        }
    }
    while let Some(number) = queue.pop() {
        seen = seen.saturating_add(1);
        let flags = commits.clear_flag(number, OUTSIDE);
        if flags & best.flag == 0 {
            outside = outside.saturating_sub(1);
            best.depth = best.depth.saturating_add(1);
        } else if outside == 0 {
            break;
        }
        for at in 0..commits.parent_count(number) {
            let Some(parent) = commits.parent(number, at) else {
                break;
            };
            commits.read_or_report(parent, messages)?;
            let before = commits.flags_of(parent);
            commits.add_flags(parent, flags);
            let is_inside = (before | flags) & best.flag != 0;
            if before & SEEN == 0 {
                queue.push(parent, commits.time_of(parent));
                if !is_inside {
                    commits.add_flags(parent, OUTSIDE);
                    outside = outside.saturating_add(1);
                }
            } else if is_inside && before & OUTSIDE != 0 {
                commits.clear_flag(parent, OUTSIDE);
                outside = outside.saturating_sub(1);
            }
        }
    }
    Ok(seen)
}
