//! What is asked of a repository: the command line and the configuration together.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bstr::{BString, ByteSlice};
use vigil_engine::hg_status::kinds::{ByKind, FileKind, Lists};
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::checkout;
use vigil_hg::config::{Config, ProcessContext};
use vigil_hg::dirstate::Dirstate;
use vigil_hg::line_endings::LineEndings;
use vigil_hg::narrow;
use vigil_hg::node::Node;
use vigil_hg::patterns::{Matcher, MatcherQuestion, Portion};
use vigil_hg::repository::Repository;
use vigil_hg::revision::Revisions;
use vigil_hg::subrepositories::Subrepositories;
use vigil_linux::Errno;
use vigil_linux::stat::lstat_path;
use vigil_model::path::directories_above;
use vigil_stamp::paths::path_of;

use super::arguments::Arguments;
use super::clocks::UserClocks;
use super::color::Colors;
use super::extensions;
use super::own_commands::OwnFormat;
use super::own_format::Report;
use super::pair::Pair;
use super::paths::PathDisplay;
use super::settings::{self, Settings};
use super::show::{Format, Output};
use super::subject::{Subject, add_lines};
use super::subrepositories;
use super::terse::terse;
use super::unfinished::Unfinished;
use crate::reply::bytes;

/// The letters of `--terse`, in the order of the kinds.
const TERSE_LETTERS: &[u8; 7] = b"marduic";

/// A question about one repository.
pub(super) struct Question<'q> {
    /// The top of the working copy.
    pub(super) root: &'q Path,
    pub(super) repository: &'q Repository,
    /// The configuration that applies there.
    pub(super) config: &'q Config,
    /// The command line, with what the configuration adds to it.
    pub(super) arguments: &'q Arguments,
    pub(super) settings: &'q Settings,
    pub(super) process: &'q ProcessContext<'q>,
    /// How files are converted before they are compared.
    pub(super) line_endings: Option<&'q Arc<LineEndings>>,
    /// Which kinds are shown.
    pub(super) shown: ByKind<bool>,
    /// Whether unknown files are looked for, even if they are not shown by themselves.
    pub(super) looks_for_unknown: bool,
    pub(super) format: Format,
    pub(super) colors: Colors<'q>,
}

impl<'q> Question<'q> {
    /// Returns what is unfinished, if that is shown. The inner error is one for when Mercurial reads it, after the files.
    ///
    /// # Errors
    /// Something is unfinished, and the format cannot show it.
    pub(super) fn unfinished(
        &self,
        parents: [Node; 2],
    ) -> Result<Result<Unfinished, Abort>, Abort> {
        let unfinished = match &self.settings.shows_unfinished {
            Err(wrong) => Err(wrong.clone()),
            Ok(true) if self.arguments.own.is_none() => {
                Unfinished::of(self.repository, parents, self.config)
            }
            Ok(_) => Ok(Unfinished::default()),
        };
        let shows_some = unfinished.as_ref().is_ok_and(|found| !found.is_nothing());
        if shows_some && !matches!(self.format, Format::Lines) {
            let message = "an unfinished operation by a template";
            return Err(Abort::unsupported(message));
        }
        Ok(unfinished)
    }

    /// Returns what is compared, and the changesets, if the answer needs any.
    ///
    /// # Errors
    /// The changesets cannot be read, or one that is named cannot be found.
    pub(super) fn compared(
        &self,
        parents: [Node; 2],
    ) -> Result<(Option<Revisions<'q>>, Pair), Abort> {
        if !self.arguments.names_changesets() && !self.arguments.subrepos {
            return Ok((None, Pair::WorkingCopy));
        }
        let mut revisions = Revisions::new(self.repository, parents)?;
        revisions.work_in(&self.process.cwd);
        revisions.know_aliases(settings::revision_aliases(self.config).unwrap_or_default());
        revisions.go_by(Box::new(UserClocks::new(self.process.get("TZ"))));
        revisions.share_bookmarks(extensions::bookmark_sharing(self.config));
        if extensions::has(self.config, "topic") {
            revisions.know_topics();
        }
        let pair = self.pair(&mut revisions)?;
        Ok((Some(revisions), pair))
    }

    /// Reads which part of the files a narrow clone has. `None` for all.
    ///
    /// # Errors
    /// That cannot be read.
    pub(super) fn narrow(&self, warnings: &mut Vec<u8>) -> Result<Option<Arc<Portion>>, Abort> {
        let mut message = Vec::new();
        let narrow = narrow::read(self.repository, &mut message);
        add_lines(warnings, &message);
        narrow
    }

    fn pair(&self, revisions: &mut Revisions<'_>) -> Result<Pair, Abort> {
        let arguments = self.arguments;
        if arguments.hidden {
            revisions.show_hidden();
        }
        let targets = match &arguments.change {
            _ if !arguments.names_changesets() => return Ok(Pair::WorkingCopy),
            Some(change) => revisions.change(change.as_bstr())?,
            None => revisions.pair(&arguments.revisions)?,
        };
        Ok(Pair::new(targets, revisions))
    }

    /// Reads the subrepositories of the working copy, and checks what else Mercurial checks if the comparison is with the
    /// working copy.
    ///
    /// # Errors
    /// They, or the branch, are not understood.
    pub(super) fn subrepositories(
        &self,
        dirstate: &Dirstate,
        pair: Pair,
        warnings: &mut Vec<u8>,
    ) -> Result<Subrepositories, Abort> {
        let (repository, arguments) = (self.repository, self.arguments);
        let mut message = Vec::new();
        let (config, cwd) = (self.config, &self.process.cwd);
        let read = subrepositories::read_from_working_copy(
            repository,
            dirstate,
            config,
            cwd,
            &mut message,
        );
        if pair.has_working_copy() {
            warnings.append(&mut message);
            let is_ascii = checkout::check_branch(repository)?;
            if !is_ascii && !settings::is_known_encoding(self.process, arguments) {
                let message = "the name of the branch in an encoding that Python may not know";
                return Err(Abort::unsupported(message));
            }
        }
        match read {
            // A comparison of changesets does not depend on the working copy.
            Err(_) if !pair.has_working_copy() => Ok(Subrepositories::default()),
            read => read,
        }
    }

    /// Returns which paths are asked for.
    ///
    /// # Errors
    /// A pattern is wrong, or a path may not be looked at.
    pub(super) fn matcher(
        &self,
        subrepositories: &Subrepositories,
        pair: Pair,
    ) -> Result<Matcher, Abort> {
        let arguments = self.arguments;
        let matcher = Matcher::new(&MatcherQuestion {
            root: self.root,
            cwd: &self.process.cwd,
            patterns: &arguments.patterns,
            include: &arguments.include,
            exclude: &arguments.exclude,
            subrepositories: pair.ends_in_working_copy().then_some(subrepositories),
        })?;
        if pair.ends_in_working_copy() {
            check_ways(self.root, &matcher)?;
        }
        if let Some(name) = matcher.named_in_subrepositories().first()
            && arguments.subrepos
        {
            let message = bytes!("the path '", name, "' in a subrepository");
            return Err(Abort::unsupported(message));
        }
        Ok(matcher)
    }

    /// Writes `lists`, which were found for `subject`, in one of Vigil's own formats.
    pub(super) fn report(
        &self,
        format: OwnFormat,
        lists: &Lists,
        subject: &Subject<'_>,
        parents: [Node; 2],
    ) -> Vec<u8> {
        let checkout = subject.session.borrow_mut().checkout(
            self.repository,
            parents,
            extensions::bookmark_sharing(self.config),
        );
        let report = Report {
            checkout: &checkout,
            lists,
            shown: &self.shown,
            dirstate: subject.dirstate,
            ends_with_nul: self.arguments.print0,
        };
        report.write(format)
    }

    /// Writes `lists`, which were found for `subject`, as Mercurial does.
    ///
    /// # Errors
    /// A letter of `--terse` stands for no kind, copies cannot be found, or a path cannot be shown by the template.
    pub(super) fn write(
        &self,
        mut lists: Lists,
        subject: &Subject<'_>,
        pair: Pair,
        unfinished: Result<Unfinished, Abort>,
        paging: Result<(), Abort>,
    ) -> Result<Vec<u8>, Abort> {
        let (arguments, settings, cwd) = (self.arguments, self.settings, &self.process.cwd);
        if settings.is_terse() {
            lists = terse(&lists, &terse_kinds(&settings.terse)?)?;
        }
        let copies = match settings.copies.clone()? {
            true => subject.copies(pair)?,
            false => BTreeMap::new(),
        };
        // Mercurial reads these only now.
        let unfinished = unfinished?;
        paging?;
        let output = Output {
            lists: &lists,
            shown: &self.shown,
            copies: &copies,
            paths: &PathDisplay::new(self.root, cwd, settings.is_relative.clone()?),
            colors: &self.colors,
            has_letters: !arguments.no_status,
            ends_with_nul: arguments.print0,
            is_strict_utf8: settings::is_utf8(self.process, arguments)
                && settings::is_strict(self.process, arguments),
        };
        output.write(&self.format, &unfinished)
    }
}

/// Checks that the directories above the paths that are asked for by name can be looked at, as Mercurial does.
fn check_ways(root: &Path, matcher: &Matcher) -> Result<(), Abort> {
    for name in matcher.named() {
        if lstat_path(&root.join(path_of(name))) != Err(Errno::ACCESS) {
            continue;
        }
        for above in directories_above(name) {
            let above = root.join(path_of(above));
            if let Err(reason @ Errno::ACCESS) = lstat_path(&above) {
                return Err(Abort::io(&above, &reason.into()));
            }
        }
    }
    Ok(())
}

/// Returns which kinds are shown. If `quiet`, the unknown and ignored ones are not, unless they are asked for.
pub(super) fn shown(arguments: &Arguments, quiet: bool) -> ByKind<bool> {
    let all = arguments.all;
    let shown = ByKind {
        modified: arguments.modified || all,
        added: arguments.added || all,
        removed: arguments.removed || all,
        deleted: arguments.deleted || all,
        unknown: arguments.unknown || all && !quiet,
        ignored: arguments.ignored || all && !quiet,
        clean: arguments.clean || all,
    };
    match shown.iter().any(|(_, is_shown)| *is_shown) {
        true => shown,
        false => ByKind {
            modified: true,
            added: true,
            removed: true,
            deleted: true,
            unknown: !quiet,
            ignored: false,
            clean: false,
        },
    }
}

/// Returns the kinds that the letters of `--terse` stand for.
fn terse_kinds(letters: &BString) -> Result<Vec<FileKind>, Abort> {
    letters
        .iter()
        .map(|letter| {
            let mut kinds = TERSE_LETTERS.iter().zip(FileKind::ALL);
            let kind = kinds.find(|(known, _)| *known == letter);
            kind.map(|(_, kind)| kind).ok_or_else(|| {
                let message = bytes!("'", [*letter], "' not recognized");
                Abort::of(Kind::Input, message)
            })
        })
        .collect()
}
