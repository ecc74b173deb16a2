//! Names of references, as found by git's rules for short ones, and forms that stand for a reference: `@`, `@{-1}`,
//! `@{upstream}`, `@{push}`.

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use super::Unresolved;
use super::names::{Flags, Resolver};
use crate::branch::refspec::{self, Refspec};
use crate::branch::{self, remote_for_pushing, remote_with_same_push_url};
use vigil_git::advice::Advice;
use vigil_git::config::Config;
use vigil_git::refs::Head;
use vigil_git::refs::{Followed, SHORT_NAME_RULES};
use vigil_git::repository::Repository;
use vigil_model::raw_text::{message_bytes, text_bytes};

/// git's advice about a reference whose name looks like an id.
const REFERENCE_LIKE_AN_ID: Advice = Advice {
    name: "objectNameWarning",
    lines: &[
        "Git normally never creates a ref that ends with 40 hex characters",
        "because it will be ignored when you just specify 40-hex. These refs",
        "may be created by mistake. For example,",
        "",
        "  git switch -c $br $(git rev-parse ...)",
        "",
        "where \"$br\" is somehow empty and a 40-hex ref is created. Please",
        "examine these refs and maybe delete them. Turn this message off by",
        "running \"git config set advice.objectNameWarning false\"",
    ],
    is_explained: false,
};

/// How often the result of a form may itself be interpreted.
const INTERPRETED_MAX: usize = 8;

/// The result of expanding a short name.
pub(super) struct Expanded {
    /// The number of rules that match it.
    pub(super) count: usize,
    pub(super) name: BString,
    pub(super) id: ObjectId,
}

/// A form `@{...}` that stands for another reference.
enum UpstreamOrPush {
    Upstream,
    Push,
}

impl UpstreamOrPush {
    /// Parses the mark at the start of `text`; also returns its length.
    fn parse(text: &[u8]) -> Option<(Self, usize)> {
        let starts = |mark: &[u8]| {
            let head = text.get(..mark.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(mark))
        };
        for mark in [b"@{upstream}".as_slice(), b"@{u}"] {
            if starts(mark) {
                return Some((Self::Upstream, mark.len()));
            }
        }
        let push = b"@{push}";
        starts(push).then_some((Self::Push, push.len()))
    }
}

impl Resolver<'_> {
    /// Resolves a full id or a reference, at present or by its log.
    pub(super) fn basic(&mut self, name: &BStr, flags: Flags) -> Result<ObjectId, Unresolved> {
        if name.len() == self.objects.hash_kind().len_in_hex()
            && let Ok(id) = ObjectId::from_hex(name)
        {
            if !flags.skips_check_of_ids && self.warns_of_ambiguity()? {
                self.check_id(name)?;
            }
            return Ok(id);
        }
        let (base, entry) = match split_log_suffix(name) {
            LogSuffix::Misplaced => return Err(Unresolved::Missing),
            LogSuffix::None { is_prior } => {
                if is_prior
                    && let Prior::Found { target, .. } = self.prior(name)?
                    && target.len() == self.objects.hash_kind().len_in_hex()
                    && let Ok(id) = ObjectId::from_hex(&target)
                {
                    return Ok(id);
                }
                (name, None)
            }
            LogSuffix::At(base, entry) => (base, Some(entry)),
        };
        if !base.is_empty() && is_only_dots(base) {
            return Err(Unresolved::Missing);
        }
        let found = match entry {
            Some(_) if base.is_empty() => self.expand(BStr::new("HEAD"), flags.quietly)?,
            Some(_) => self.expand_logged(base)?,
            None => self.expand(base, flags.quietly)?,
        };
        let found = found.ok_or(Unresolved::Missing)?;
        if !flags.quietly
            && self.warns_of_ambiguity()?
            && (found.count > 1 || self.is_abbreviated_id(base)?)
        {
            self.add_message(&[b"warning: refname '", base, b"' is ambiguous."]);
        }
        match entry {
            Some(entry) => self.logged(base, entry, found, flags),
            None => Ok(found.id),
        }
    }

    fn warns_of_ambiguity(&self) -> Result<bool, Unresolved> {
        self.is_on("core.warnAmbiguousRefs")
    }

    /// Warns if a reference's name looks like the id `name`.
    fn check_id(&mut self, name: &BStr) -> Result<(), Unresolved> {
        if self.expand(name, false)?.is_none() {
            return Ok(());
        }
        self.add_message(&[b"warning: refname '", name, b"' is ambiguous."]);
        if let Some(repository) = self.repository
            && !REFERENCE_LIKE_AN_ID.messages(repository)?.is_empty()
        {
            let lines = REFERENCE_LIKE_AN_ID.lines.iter();
            self.messages.extend(lines.map(|line| BString::from(*line)));
        }
        Ok(())
    }

    /// Expands the short name `name`, which may be a mark. With `tolerates_marks`, a mark that stands for nothing
    /// counts as no reference, and is not fatal.
    pub(super) fn expand(
        &mut self,
        name: &BStr,
        tolerates_marks: bool,
    ) -> Result<Option<Expanded>, Unresolved> {
        let substituted = self.substituted(name, tolerates_marks)?;
        let name = substituted.as_ref().map_or(name, |name| name.as_bstr());
        self.expand_plain(name)
    }

    fn expand_plain(&mut self, name: &BStr) -> Result<Option<Expanded>, Unresolved> {
        let mut expanded: Option<Expanded> = None;
        for (before, after) in SHORT_NAME_RULES {
            let candidate = BString::from([before, name, after].concat());
            match self.refs.follow(candidate.as_bstr())? {
                Followed::Found(name, id) => {
                    match &mut expanded {
                        Some(expanded) => expanded.count = expanded.count.saturating_add(1),
                        None => expanded = Some(Expanded { count: 1, name, id }),
                    }
                    if !self.warns_of_ambiguity()? {
                        break;
                    }
                }
                followed => {
                    self.collect_messages();
                    self.messages.extend(followed.warning(candidate.as_bstr()));
                }
            }
        }
        Ok(expanded)
    }

    /// Expands the short name `name` to a reference that has a log. The resulting name is that of the log.
    fn expand_logged(&mut self, name: &BStr) -> Result<Option<Expanded>, Unresolved> {
        if self.repository.is_none() {
            return Ok(None);
        }
        let substituted = self.substituted(name, false)?;
        let name = substituted.as_ref().map_or(name, |name| name.as_bstr());
        let mut expanded: Option<Expanded> = None;
        for (before, after) in SHORT_NAME_RULES {
            let candidate = BString::from([before, name, after].concat());
            let Followed::Found(end, id) = self.refs.follow(candidate.as_bstr())? else {
                continue;
            };
            let log = if self.refs.has_log(candidate.as_bstr())? {
                candidate
            } else if end != candidate && self.refs.has_log(end.as_bstr())? {
                end
            } else {
                continue;
            };
            match &mut expanded {
                Some(expanded) => expanded.count = expanded.count.saturating_add(1),
                None => {
                    expanded = Some(Expanded {
                        count: 1,
                        name: log,
                        id,
                    });
                }
            }
            if !self.warns_of_ambiguity()? {
                break;
            }
        }
        Ok(expanded)
    }

    /// Returns the name that all of `name` stands for.
    fn substituted(
        &mut self,
        name: &BStr,
        tolerates_marks: bool,
    ) -> Result<Option<BString>, Unresolved> {
        let Some(interpreted) = self.interpreted(name, tolerates_marks, 0)? else {
            return Ok(None);
        };
        Ok((interpreted.used == name.len()).then_some(interpreted.name))
    }

    /// Interprets the start of `name` that stands for another name.
    fn interpreted(
        &mut self,
        name: &BStr,
        tolerates_marks: bool,
        depth: usize,
    ) -> Result<Option<Interpreted>, Unresolved> {
        match self.prior(name)? {
            Prior::Found { target, length } => {
                return self.reinterpreted(name, target, length, tolerates_marks, depth);
            }
            Prior::TooFew => return Ok(None),
            Prior::NoSuchForm => {}
        }
        for at in name.find_iter(b"@") {
            if at == 0 && is_lone_at(name) {
                return self.reinterpreted(name, "HEAD".into(), 1, tolerates_marks, depth);
            }
            let (before, after) = name.split_at_checked(at).ok_or(Unresolved::Missing)?;
            let Some((mark, length)) = UpstreamOrPush::parse(after) else {
                continue;
            };
            if before.contains(&b':') {
                continue;
            }
            let Some(repository) = self.repository else {
                continue;
            };
            let target = match self.marked(repository, &mark, before.as_bstr())? {
                Ok(target) => target,
                Err(_) if tolerates_marks => continue,
                Err(text) => return Err(Unresolved::Fatal(text)),
            };
            return Ok(Some(Interpreted {
                name: self.refs.shorten(target.as_bstr())?,
                used: at.saturating_add(length),
            }));
        }
        Ok(None)
    }

    /// Interprets the rest of `name`, whose first `length` bytes stand for `target`.
    fn reinterpreted(
        &mut self,
        name: &BStr,
        target: BString,
        length: usize,
        tolerates_marks: bool,
        depth: usize,
    ) -> Result<Option<Interpreted>, Unresolved> {
        let rest = name.get(length..).unwrap_or_default();
        if !rest.is_empty() {
            let joined = BString::from([target.as_slice(), rest].concat());
            // A name from the log of HEAD may itself be such a form.
            let depth = depth.saturating_add(1);
            if depth < INTERPRETED_MAX
                && let Some(inner) = self.interpreted(joined.as_bstr(), tolerates_marks, depth)?
            {
                return Ok(Some(Interpreted {
                    name: inner.name,
                    used: inner
                        .used
                        .saturating_add(length)
                        .saturating_sub(target.len()),
                }));
            }
        }
        Ok(Some(Interpreted {
            name: target,
            used: length,
        }))
    }

    /// Returns what was checked out before, if `name` starts with `@{-N}`.
    fn prior(&self, name: &BStr) -> Result<Prior, Unresolved> {
        let Some(number) = name.strip_prefix(b"@{-") else {
            return Ok(Prior::NoSuchForm);
        };
        let Some(end) = number.find_byte(b'}') else {
            return Ok(Prior::NoSuchForm);
        };
        let number = number.get(..end).and_then(|number| number.to_str().ok());
        let number = number.and_then(|number| number.trim_start().parse::<i64>().ok());
        let Some(mut left) = number.filter(|number| *number > 0) else {
            return Ok(Prior::NoSuchForm);
        };
        let mut target = None;
        self.refs.log("HEAD".into(), |_, message| {
            let rest = message.strip_prefix(b"checkout: moving from ");
            let Some((from, _)) = rest.and_then(|rest| rest.split_once_str(" to ")) else {
                return true;
            };
            left = left.saturating_sub(1);
            if left == 0 {
                target = Some(BString::from(from));
            }
            left > 0
        })?;
        Ok(match target {
            Some(target) => Prior::Found {
                target,
                length: end.saturating_add(4),
            },
            None => Prior::TooFew,
        })
    }

    /// Returns the full name that `mark` stands for at `branch`; an empty `branch` is the current one. The error is
    /// git's text.
    fn marked(
        &mut self,
        repository: &Repository,
        mark: &UpstreamOrPush,
        branch: &BStr,
    ) -> Result<Result<BString, BString>, Unresolved> {
        let branch = if branch.is_empty() || branch == "HEAD" {
            match self.refs.head()? {
                Head::Branch { name, .. } => name.strip_prefix(b"refs/heads/").map(BString::from),
                Head::Detached(_) => None,
            }
        } else {
            Some(branch.to_owned())
        };
        let config = &repository.config;
        let name = branch.as_ref().map(|branch| branch.as_bstr());
        let name = name.unwrap_or_default();
        let checked = self.memory.check_settings(config, name, &mut self.messages);
        self.refuse_settings(checked)?;
        let Some(branch) = branch else {
            return Ok(Err("HEAD does not point to a branch".into()));
        };
        match mark {
            UpstreamOrPush::Upstream => self.upstream(config, branch.as_bstr()),
            UpstreamOrPush::Push => {
                let target = self.push_target(config, branch.as_bstr())?;
                if target.is_ok() {
                    self.memory.note_push_target(branch.as_bstr());
                }
                Ok(target)
            }
        }
    }

    /// Makes an error in a setting fatal, as it is however a name is looked up.
    fn refuse_settings(&mut self, checked: Result<(), branch::Error>) -> Result<(), Unresolved> {
        checked.map_err(|error| {
            let messages = error.messages().into_iter();
            self.messages.extend(messages.map(|line| text_bytes(&line)));
            Unresolved::Fatal(message_bytes(&error))
        })
    }

    fn upstream(
        &mut self,
        config: &Config,
        branch: &BStr,
    ) -> Result<Result<BString, BString>, Unresolved> {
        let remote = config.subsection_string("branch", branch, "remote");
        let merges = config.subsection_strings("branch", branch, "merge");
        let merge = merges.into_iter().next();
        let (Some(remote), Some(merge)) = (remote, merge) else {
            let full = BString::from([b"refs/heads/", branch.as_bytes()].concat());
            return Ok(Err(match self.refs.resolve(full.as_bstr())? {
                None => message(&[b"no such branch: '", branch, b"'"]),
                Some(_) => message(&[b"no upstream configured for branch '", branch, b"'"]),
            }));
        };
        let fetch = refspecs(config, remote.as_bstr(), "fetch");
        if let Some(tracked) = refspec::track(&fetch, merge.as_bstr()) {
            return Ok(Ok(tracked));
        }
        if remote != "." {
            return Ok(Err(message(&[
                b"upstream branch '",
                &merge,
                b"' not stored as a remote-tracking branch",
            ])));
        }
        let mut warnings = Vec::new();
        let is_unique = self.warns_of_ambiguity()?;
        let expanded = self
            .refs
            .expand(merge.as_bstr(), is_unique, &mut warnings)?;
        self.messages.extend(warnings);
        Ok(Ok(expanded.unwrap_or(merge)))
    }

    fn push_target(
        &mut self,
        config: &Config,
        branch: &BStr,
    ) -> Result<Result<BString, BString>, Unresolved> {
        let checked = self
            .memory
            .check_push_settings(config, branch, &mut self.messages);
        self.refuse_settings(checked)?;
        let remote = remote_for_pushing(config, branch);
        let full = BString::from([b"refs/heads/", branch.as_bytes()].concat());
        let tracked_as = remote_with_same_push_url(config, remote.as_bstr());
        let tracked_as = tracked_as.unwrap_or_else(|| remote.clone());
        let fetch = refspecs(config, tracked_as.as_bstr(), "fetch");
        let push = refspecs(config, remote.as_bstr(), "push");
        let tracking = |name: &BStr| {
            refspec::track(&fetch, name).ok_or_else(|| {
                message(&[
                    b"push destination '",
                    name,
                    b"' on remote '",
                    &tracked_as,
                    b"' has no local tracking branch",
                ])
            })
        };
        if !push.is_empty() {
            return Ok(match refspec::track(&push, full.as_bstr()) {
                Some(destination) => tracking(destination.as_bstr()),
                None => Err(message(&[
                    b"push refspecs for '",
                    &remote,
                    b"' do not include '",
                    branch,
                    b"'",
                ])),
            });
        }
        let mirror = config.subsection_entry("remote", remote.as_bstr(), "mirror");
        if mirror.map(|entry| entry.boolean()).transpose()? == Some(true) {
            return Ok(tracking(full.as_bstr()));
        }
        let default = config.string("push.default").unwrap_or_default();
        Ok(match default.as_slice() {
            b"nothing" => Err("push has no destination (push.default is 'nothing')".into()),
            b"matching" | b"current" => tracking(full.as_bstr()),
            b"upstream" | b"tracking" => self.upstream(config, branch)?,
            _ => match (self.upstream(config, branch)?, tracking(full.as_bstr())) {
                (Err(text), _) | (_, Err(text)) => Err(text),
                (Ok(upstream), Ok(current)) if upstream == current => Ok(current),
                _ => Err("cannot resolve 'simple' push to a single destination".into()),
            },
        })
    }
}

/// The name that a form stands for, and the length of that form.
struct Interpreted {
    name: BString,
    used: usize,
}

/// The result of `@{-N}`.
enum Prior {
    Found {
        target: BString,
        /// The length of the form.
        length: usize,
    },
    /// HEAD was moved less often.
    TooFew,
    NoSuchForm,
}

/// The braces at the end of a name that refer to a log entry.
enum LogSuffix<'a> {
    At(&'a BStr, &'a [u8]),
    /// There is none; the braces may be those of `@{-N}`.
    None {
        is_prior: bool,
    },
    /// `@{-N}` that is not at the start.
    Misplaced,
}

fn split_log_suffix(name: &BStr) -> LogSuffix<'_> {
    let mut is_prior = false;
    if name.ends_with(b"}") {
        // The braces are not empty.
        let starts = name.get(..name.len().saturating_sub(2)).unwrap_or_default();
        for at in starts.rfind_iter(b"@{") {
            let (base, mark) = name.split_at_checked(at).unwrap_or((name, b""));
            if mark.starts_with(b"@{-") {
                if at != 0 {
                    return LogSuffix::Misplaced;
                }
                is_prior = true;
                continue;
            }
            if UpstreamOrPush::parse(mark).is_none()
                && let Some(entry) = mark.get(2..mark.len().saturating_sub(1))
            {
                return LogSuffix::At(base.as_bstr(), entry);
            }
            break;
        }
    }
    LogSuffix::None { is_prior }
}

/// Whether the name starts with an `@` that stands for HEAD: it is alone or before another mark.
fn is_lone_at(name: &BStr) -> bool {
    let rest = name.get(1..).unwrap_or_default();
    rest.is_empty() || rest.starts_with(b"@{")
}

/// Whether a component consists only of dots, which no reference's name can.
fn is_only_dots(name: &BStr) -> bool {
    let mut after_slash = true;
    for byte in name.iter() {
        match byte {
            b'/' if after_slash => return true,
            b'/' => after_slash = true,
            b'.' => {}
            _ => after_slash = false,
        }
    }
    after_slash
}

fn message(parts: &[&[u8]]) -> BString {
    parts.concat().into()
}

/// Returns the refspecs of a remote whose settings were checked before.
fn refspecs(config: &Config, remote: &BStr, key: &str) -> Vec<Refspec> {
    let texts = config.subsection_strings("remote", remote, key);
    let refspecs = texts
        .iter()
        .filter_map(|text| Refspec::parse(text.as_bstr()));
    refspecs.collect()
}
