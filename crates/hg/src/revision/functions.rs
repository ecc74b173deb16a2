//! Functions of Mercurial's language of revisions that look at what changesets say of themselves.

use std::cmp::Ordering;
use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice};
use regex::bytes::Regex;

use super::date::Interval;
use super::description::{description, lower};
use super::evaluate::{Evaluation, Set, order, sorted, targets};
use super::expression::{Expression, number};
use super::target::Meaning;
use super::{Revisions, Target};
use crate::abort::{Abort, Kind};
use crate::ancestry;
use crate::bytes::is_space;
use crate::node::Node;
use crate::patterns::{Kind as PatternKind, Matcher, MatcherQuestion, refers_to_files, searched};
use crate::stored::Store;

/// How a text is compared with another one.
pub(super) enum Sought {
    /// It is equal, or contained.
    Literal(BString),
    Regular(Regex),
}

/// A key by which changesets are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Number,
    Branch,
    Description,
    User,
    Date,
    Node,
}

/// What changesets are sorted by.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
enum Value {
    Number(f64),
    Text(BString),
}

impl Sought {
    /// Reads a pattern. Returns `None` if only Mercurial can search for it.
    pub(super) fn read(word: &BStr, ignores_case: bool) -> Option<Self> {
        match word.strip_prefix(b"re:") {
            Some(pattern) => searched(pattern, ignores_case).map(Self::Regular),
            None => {
                let text = word.strip_prefix(b"literal:").unwrap_or(word);
                Some(Self::Literal(text.into()))
            }
        }
    }
}

/// Tells whether something is in a text.
type IsFound = Box<dyn Fn(&[u8]) -> bool>;

/// Text of changesets in which something is sought, whatever the case of letters.
enum ChangesetText {
    Description,
    User,
    /// The description, the user, and the names of files.
    Anything,
}

impl Evaluation<'_, '_> {
    /// Evaluates a function of this file; returns `None` if it is none of these.
    pub(super) fn of_contents(
        &mut self,
        name: &BStr,
        arguments: &[Expression],
    ) -> Option<Result<Set, Abort>> {
        Some(match (name.as_bytes(), arguments) {
            (b"desc", [text]) => self.with_text(text, &ChangesetText::Description),
            (b"user" | b"author", [text]) => self.with_text(text, &ChangesetText::User),
            (b"keyword", [text]) => self.with_text(text, &ChangesetText::Anything),
            (b"date", [text]) => self.dated(text),
            (b"head", []) => self.heads_of_branches(),
            (b"closed", []) => self.closing(),
            (b"branchpoint", []) => Ok(self.with_several_children()),
            (b"follow", []) => self.followed(),
            (b"file", [pattern]) => self.touching(pattern),
            (b"id", [digits]) => self.with_node(digits),
            (b"rev", [of]) => self.numbered(of),
            (b"present", [of]) => self.present(of),
            (b"sort", [of]) => self.sorted_by(of, None),
            (b"sort", [of, keys]) => self.sorted_by(of, Some(keys)),
            _ => return None,
        })
    }

    /// Returns the visible changesets in which `is_found` holds for their texts.
    fn texts(&mut self, mut is_found: impl FnMut(&[u8]) -> bool) -> Result<Set, Abort> {
        let mut found = Vec::new();
        for number in self.revisions.visible() {
            if is_found(&self.revisions.changelog.text(number)?) {
                found.push(number);
            }
        }
        Ok(targets(found))
    }

    fn with_text(&mut self, of: &Expression, part: &ChangesetText) -> Result<Set, Abort> {
        let word = of.word().ok_or_else(|| self.refused())?;
        let sought = match part {
            ChangesetText::Anything => Some(Sought::Literal(word.clone())),
            _ => Sought::read(word.as_bstr(), true),
        };
        let sought = sought
            .filter(|_| word.is_ascii())
            .ok_or_else(|| self.refused())?;
        if matches!(part, ChangesetText::Anything)
            && self.revisions.repository.store().copies_by_changeset()
        {
            // The names of files are elsewhere then.
            return Err(self.refused());
        }
        let is_found: IsFound = match sought {
            Sought::Literal(text) => {
                let text = lower(&text);
                Box::new(move |within| lower(within).contains_str(&text))
            }
            Sought::Regular(regex) => Box::new(move |within| regex.is_match(within)),
        };
        self.texts(|text| match part {
            ChangesetText::Description => is_found(description(text)),
            ChangesetText::User => is_found(user(text)),
            ChangesetText::Anything => {
                let mut files = files(text);
                is_found(user(text)) || is_found(description(text)) || files.any(&is_found)
            }
        })
    }

    /// The changesets of a time.
    fn dated(&mut self, text: &Expression) -> Result<Set, Abort> {
        let now = vigil_stamp::now();
        let now_s = now.s as f64 + f64::from(now.ns) / 1e9;
        let text = text.word().filter(|text| text.is_ascii());
        let clocks = self.revisions.clocks.as_deref();
        let interval = text
            .zip(clocks)
            .and_then(|(text, clocks)| Interval::read(text.as_bstr(), now_s, clocks));
        let interval = interval.ok_or_else(|| self.refused())?;
        let mut found = Vec::new();
        for number in self.revisions.visible() {
            let time_s = time_s(&self.revisions.changelog.text(number)?);
            if interval.contains(time_s.ok_or_else(|| self.refused())?) {
                found.push(number);
            }
        }
        Ok(targets(found))
    }

    /// The heads of all branches: changesets that are no ancestors of others of their branch.
    fn heads_of_branches(&mut self) -> Result<Set, Abort> {
        self.revisions.refuse_unknown_heads()?;
        if !self.revisions.topics()?.is_empty() {
            return Err(self.refused());
        }
        let all = self.revisions.visible();
        if all.iter().any(|number| self.revisions.is_obsolete(*number)) {
            return Err(self.refused());
        }
        let mut heads = Vec::new();
        let mut by_branch = std::collections::BTreeMap::<BString, Vec<u32>>::new();
        for number in all {
            let branch = Store::changeset(&mut self.revisions.changelog, number)?.branch;
            by_branch.entry(branch).or_default().push(number);
        }
        for of_branch in by_branch.into_values() {
            let mut covered = HashSet::new();
            let lowest = of_branch.first().copied().unwrap_or_default();
            for number in of_branch.into_iter().rev() {
                if !covered.contains(&number) {
                    heads.push(number);
                }
                let mut next = vec![number];
                while let Some(number) = next.pop() {
                    let parents = ancestry::parents(&self.revisions.changelog, number);
                    let parents = parents.into_iter().flatten();
                    next.extend(
                        parents.filter(|parent| *parent >= lowest && covered.insert(*parent)),
                    );
                }
            }
        }
        Ok(sorted(targets(heads)))
    }

    fn closing(&mut self) -> Result<Set, Abort> {
        let mut all = self.revisions.visible();
        let mut failed = Ok(());
        all.retain(|number| {
            let read = Store::changeset(&mut self.revisions.changelog, *number);
            match read {
                Ok(changeset) => changeset.is_closing,
                Err(abort) => {
                    failed = Err(abort);
                    false
                }
            }
        });
        failed.map(|()| targets(all))
    }

    fn with_several_children(&mut self) -> Set {
        let mut seen = HashSet::new();
        let mut several = HashSet::new();
        for number in self.revisions.visible() {
            for parent in self.parents(number) {
                if !seen.insert(parent) {
                    several.insert(parent);
                }
            }
        }
        sorted(targets(several))
    }

    fn followed(&mut self) -> Result<Set, Abort> {
        match self.revisions.parent() {
            Target::Changeset(number) => Ok(targets(self.ancestors(&[number]))),
            _ => Err(self.refused()),
        }
    }

    /// The changesets that touch files which match a pattern.
    fn touching(&mut self, pattern: &Expression) -> Result<Set, Abort> {
        let pattern = pattern.word().ok_or_else(|| self.refused())?;
        let (kind, text) = PatternKind::split(&pattern, PatternKind::Glob);
        let cwd = self.revisions.cwd.clone().ok_or_else(|| self.refused())?;
        let is_by_changeset = self.revisions.repository.store().copies_by_changeset();
        if refers_to_files(pattern.as_bstr()) || text.is_empty() || is_by_changeset {
            return Err(self.refused());
        }
        let pattern = [kind.name().as_bytes(), b":", text].concat();
        let matcher = Matcher::new(&MatcherQuestion {
            root: &self.revisions.repository.root,
            cwd: &cwd,
            patterns: &[pattern.into()],
            include: &[],
            exclude: &[],
            subrepositories: None,
        });
        let matcher = matcher.map_err(|_| self.refused())?;
        self.texts(|text| files(text).any(|file| matcher.is_match(file.as_bstr())))
    }

    fn with_node(&mut self, digits: &Expression) -> Result<Set, Abort> {
        let digits = digits.word().ok_or_else(|| self.refused())?;
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        if digits.is_empty() || !is_hex || digits.len() > 2 * Node::LEN {
            return match digits.starts_with(b"x") || digits.is_empty() {
                true => Err(self.refused()),
                false => Ok(Set::new()),
            };
        }
        match self.revisions.by_node_prefix(digits.as_bstr()) {
            Meaning::One(Target::Changeset(number)) if !self.revisions.is_hidden(number) => {
                Ok(vec![Target::Changeset(number)])
            }
            Meaning::One(_) => Err(self.refused()),
            Meaning::Nothing | Meaning::Ambiguous => Ok(Set::new()),
        }
    }

    fn numbered(&mut self, of: &Expression) -> Result<Set, Abort> {
        let word = of.word();
        let read = number(
            word.as_ref().map(|word| word.as_bstr()),
            "rev expects a number",
        )?;
        let read = read.ok_or_else(|| self.refused())?;
        Ok(match u32::try_from(read) {
            Ok(number) if i64::from(number) == i64::from(i32::MAX) => vec![Target::WorkingCopy],
            Ok(number) if number < self.len() && !self.revisions.is_hidden(number) => {
                vec![Target::Changeset(number)]
            }
            Err(_) if read == -1 => vec![Target::Null],
            _ => Set::new(),
        })
    }

    /// Evaluates a set, which is empty if a name in it is unknown.
    fn present(&mut self, of: &Expression) -> Result<Set, Abort> {
        self.set(of).or_else(|abort| {
            let message = &abort.message;
            let is_lookup = abort.kind == Kind::Input
                && (message.starts_with(b"unknown revision '")
                    || message.ends_with(b"' does not exist")
                    || message == "revision in set has more than one child");
            match is_lookup {
                true => Ok(Set::new()),
                false => Err(abort),
            }
        })
    }

    /// Sorts a set by keys, the first of which counts most.
    fn sorted_by(&mut self, of: &Expression, keys: Option<&Expression>) -> Result<Set, Abort> {
        let keys = match keys {
            None => BString::from("rev"),
            Some(keys) => keys.word().ok_or_else(|| self.refused())?,
        };
        let words = keys
            .split(|byte| is_space(*byte))
            .filter(|word| !word.is_empty());
        let keys: Option<Vec<(Key, bool)>> = words.map(key).collect();
        let keys = keys.ok_or_else(|| self.refused())?;
        let mut found = self.set(of)?;
        if let [(Key::Number, is_reversed)] = keys[..] {
            found.sort_by_key(|target| order(*target));
            if is_reversed {
                found.reverse();
            }
            return Ok(found);
        }
        if keys.is_empty() {
            return Ok(found);
        }
        let mut valued = Vec::with_capacity(found.len());
        for number in self.numbers(&found)? {
            let values = keys.iter().map(|(key, _)| self.value(*key, number));
            valued.push((number, values.collect::<Result<Vec<_>, _>>()?));
        }
        valued.sort_by(|(_, one), (_, other)| {
            let pairs = one.iter().zip(other).zip(&keys);
            let mut compared = pairs.map(|((one, other), (_, is_reversed))| {
                let compared = one.partial_cmp(other).unwrap_or(Ordering::Equal);
                match is_reversed {
                    true => compared.reverse(),
                    false => compared,
                }
            });
            compared
                .find(|compared| compared.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        Ok(targets(valued.into_iter().map(|(number, _)| number)))
    }

    fn value(&mut self, key: Key, number: u32) -> Result<Value, Abort> {
        let text = self.revisions.changelog.text(number)?;
        Ok(match key {
            Key::Number => Value::Number(f64::from(number)),
            Key::Branch => {
                Value::Text(Store::changeset(&mut self.revisions.changelog, number)?.branch)
            }
            Key::Description => Value::Text(description(&text).into()),
            Key::User => Value::Text(user(&text).into()),
            Key::Node => {
                let node = self.revisions.changelog.node(number).unwrap_or_default();
                Value::Text(node.0.as_slice().into())
            }
            Key::Date => Value::Number(time_s(&text).ok_or_else(|| self.refused())?),
        })
    }
}

fn key(word: &[u8]) -> Option<(Key, bool)> {
    let (word, is_reversed) = match word.strip_prefix(b"-") {
        Some(word) => (word, true),
        None => (word, false),
    };
    let key = match word {
        b"rev" => Key::Number,
        b"branch" => Key::Branch,
        b"desc" => Key::Description,
        b"user" | b"author" => Key::User,
        b"date" => Key::Date,
        b"node" => Key::Node,
        _ => return None,
    };
    Some((key, is_reversed))
}

/// Returns the user in the text of a changeset.
fn user(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == b'\n').nth(1).unwrap_or_default()
}

/// Returns the time in the text of a changeset, in seconds since 1970. `None` if only Mercurial can read it.
fn time_s(text: &[u8]) -> Option<f64> {
    let line = text.split(|byte| *byte == b'\n').nth(2).unwrap_or_default();
    let time = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let is_plain = time
        .iter()
        .all(|byte| byte.is_ascii_digit() || b"-.".contains(byte));
    let time = time.to_str().ok().filter(|_| is_plain);
    time.and_then(|time| time.parse().ok())
}

/// Returns the names of files in the text of a changeset.
fn files(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = text.find("\n\n").unwrap_or(text.len());
    let lines = text.get(..end).unwrap_or_default();
    lines.split(|byte| *byte == b'\n').skip(3)
}

impl Revisions<'_> {
    /// Lets patterns of files be relative to this directory.
    pub fn work_in(&mut self, cwd: &std::path::Path) {
        self.cwd = Some(cwd.to_path_buf());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_changeset_has_its_user_and_files() {
        let text = b"0\nme <m@x>\n0 0 branch:x\na\nb c\n\nfirst\n\nd";
        assert_eq!(user(text), b"me <m@x>");
        assert!(files(text).eq([b"a".as_slice(), b"b c"]));
        assert_eq!(files(b"0\nme\n0 0\n\nnone").count(), 0);
        assert_eq!(files(b"0\nme").count(), 0);
    }
}
