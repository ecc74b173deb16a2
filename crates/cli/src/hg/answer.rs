//! From a command line to what is said.

use std::collections::BTreeMap;
use std::sync::Arc;

use bstr::{BString, ByteSlice};
use vigil_engine::hg_session::{self, HgRequest, HgSession, HgWorkingCopy};
use vigil_engine::hg_status::{Bad, HgStatus, IgnoreUse};
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::checkout::Checkout;
use vigil_hg::config::{Config, Layers, Surroundings};
use vigil_hg::dirstate::Dirstate;
use vigil_hg::patterns::{Matcher, MatcherQuestion};
use vigil_hg::repository::{self, Repository};
use vigil_linux::stat::stat_path;

use super::arguments::Arguments;
use super::color::Colors;
use super::own_format::Told;
use super::paths::Shown;
use super::settings::{self, Settings};
use super::show::Output;
use super::terse::terse;
use crate::reply::{Reply, bytes};

const UNKNOWN: usize = 4;
const IGNORED: usize = 5;
const CLEAN: usize = 6;
/// The letters of `--terse`, in the same order.
const TERSE_LETTERS: &[u8; 7] = b"marduic";

/// Why there is no answer.
pub(super) struct Failed {
    pub(super) abort: Abort,
    /// What was said before, on standard error.
    pub(super) warnings: Vec<u8>,
    /// Whether Mercurial may be asked instead.
    pub(super) may_fall_back: bool,
    /// In which colours errors are said, as what tells a terminal of them.
    pub(super) colors: Option<Vec<&'static str>>,
}

/// Answers by what is `known` of the working copy, for a terminal or not.
pub(super) fn answer(
    arguments: &Arguments,
    surroundings: &Surroundings<'_>,
    detailed: &mut bool,
    known: &mut HgWorkingCopy,
    is_terminal: bool,
) -> Result<Reply, Failed> {
    let mut run = Run {
        known,
        is_terminal,
        arguments,
        surroundings,
        detailed,
        warnings: Vec::new(),
        may_fall_back: false,
        colors: None,
    };
    let answered = run.answer();
    let warnings = run.warnings;
    let may_fall_back = run.may_fall_back;
    let colors = run.colors;
    match answered {
        Ok(stdout) => {
            let mut reply = Reply::printed(stdout, 0);
            reply.stderr = warnings;
            Ok(reply)
        }
        Err(abort) => Err(Failed {
            abort,
            warnings,
            may_fall_back,
            colors,
        }),
    }
}

struct Run<'r> {
    /// What is known of the working copy, and is from now on.
    known: &'r mut HgWorkingCopy,
    is_terminal: bool,
    arguments: &'r Arguments,
    surroundings: &'r Surroundings<'r>,
    detailed: &'r mut bool,
    warnings: Vec<u8>,
    may_fall_back: bool,
    colors: Option<Vec<&'static str>>,
}

impl Run<'_> {
    fn warn(&mut self, lines: impl IntoIterator<Item = BString>) {
        for line in lines {
            self.warnings.extend_from_slice(&line);
            self.warnings.push(b'\n');
        }
    }

    fn answer(&mut self) -> Result<Vec<u8>, Abort> {
        let arguments = self.arguments;
        let layers = Layers::of_user(self.surroundings, &arguments.config)?;
        let named = arguments
            .repository
            .last()
            .filter(|named| !named.is_empty());
        let root = repository::locate(self.surroundings, named)?;
        let configuration = repository::configure(layers, &root)?;
        self.warn(configuration.warnings);
        let config = configuration.config;
        self.may_fall_back = config.boolean("vigil", "hg.fallback", false)?;
        let is_plain = self.surroundings.is_plain(None);
        let has_plain_colors = self.surroundings.is_plain(Some("color"));
        let settings = Settings::new(&config, arguments, is_plain)?;
        *self.detailed = settings.detailed_exit_code;
        let is_dumb = self
            .surroundings
            .get("TERM")
            .is_none_or(|term| term == "dumb");
        let wanted = arguments.color.as_ref();
        let colors = Colors::new(&config, wanted, has_plain_colors, self.is_terminal, is_dumb);
        self.colors = colors.effects("ui.error");
        let repository = Repository::open(&root)?;
        self.refuse_what_is_beyond(&config, &repository)?;
        if settings.tells_state && arguments.own.is_none() && unfinished(&repository) {
            return Err(Abort::unsupported(
                "a verbose status of an unfinished operation",
            ));
        }
        let shown = shown(arguments, settings.quiet && arguments.own.is_none());
        let (status, dirstate) = self.look(&config, &repository, &shown, &settings)?;
        let paths = Shown::new(&root, &self.surroundings.cwd, settings.is_relative);
        let mut lists = [
            status.modified,
            status.added,
            status.removed,
            status.deleted,
            status.unknown,
            status.ignored,
            status.clean,
        ];
        if let Some(format) = arguments.own {
            let told = Told {
                checkout: &Checkout::read(&repository, dirstate.parents()),
                lists: &lists,
                shown: &shown,
                dirstate: &dirstate,
                ends_with_nul: arguments.print0,
            };
            return Ok(told.write(format));
        }
        if !settings.terse.is_empty() {
            lists = terse(&lists, &terse_kinds(&settings.terse)?);
        }
        let copies = match settings.copies {
            true => copies(&dirstate),
            false => BTreeMap::new(),
        };
        let output = Output {
            lists: &lists,
            shown: &shown,
            copies: &copies,
            paths: &paths,
            colors: &colors,
            has_letters: !arguments.no_status,
            ends_with_nul: arguments.print0,
        };
        match arguments
            .template
            .as_ref()
            .map(|template| template.as_slice())
        {
            None | Some(b"") => Ok(output.lines()),
            Some(b"json") => Ok(output.json()),
            Some(other) => {
                let what = bytes!("the template '", other, "'");
                Err(Abort::unsupported(what))
            }
        }
    }

    fn refuse_what_is_beyond(&self, config: &Config, repository: &Repository) -> Result<(), Abort> {
        let arguments = self.arguments;
        if let Some(option) = arguments.only_mercurial {
            return Err(Abort::unsupported(bytes!("the option --", option)));
        }
        if let Some(beyond) = settings::beyond(config) {
            return Err(Abort::unsupported(beyond));
        }
        if !arguments.revisions.is_empty() && arguments.change.is_some() {
            let said = "cannot specify both --rev and --change";
            return Err(Abort::of(Kind::Input, said));
        }
        if !arguments.revisions.is_empty() || arguments.change.is_some() {
            return Err(Abort::unsupported("the options --rev and --change"));
        }
        let is_there = |name: &str| stat_path(&repository.root.join(name)).is_ok();
        if is_there(".hgsub") || is_there(".hgsubstate") {
            return Err(Abort::unsupported("a repository with subrepositories"));
        }
        if self.surroundings.get("HG_PENDING").is_some() {
            return Err(Abort::unsupported("a pending transaction (HG_PENDING)"));
        }
        Ok(())
    }

    /// What is known of the working copy.
    fn session(
        &mut self,
        config: &Config,
        repository: &Repository,
    ) -> Result<&mut HgSession, Abort> {
        let is_kept = config.boolean("vigil", "stateFile", true)?;
        let variable = self.surroundings.variable;
        Ok(self.known.session_of(repository, || match is_kept {
            true => hg_session::places(repository, variable),
            false => Vec::new(),
        }))
    }

    fn look(
        &mut self,
        config: &Config,
        repository: &Repository,
        shown: &[bool; 7],
        settings: &Settings,
    ) -> Result<(HgStatus, Arc<Dirstate>), Abort> {
        let matcher = Matcher::new(&MatcherQuestion {
            root: &repository.root,
            cwd: &self.surroundings.cwd,
            patterns: &self.arguments.patterns,
            include: &self.arguments.include,
            exclude: &self.arguments.exclude,
        })?;
        let is_shown = |kind: usize| shown.get(kind).copied().unwrap_or_default();
        let is_terse = !settings.terse.is_empty();
        let unknown = is_terse || is_shown(UNKNOWN);
        let ignored = is_shown(IGNORED) || settings.terse.contains(&b'i');
        let files = match unknown || ignored {
            true => repository.ignore_files(config, self.surroundings),
            false => Vec::new(),
        };
        if self.known.is_watched() {
            if !config.boolean("vigil", "daemon", true)? {
                let what = "a daemon that the configuration does not want";
                return Err(Abort::unsupported(what));
            }
            if !unknown {
                return Err(Abort::unsupported(
                    "a status without unknown files, by a daemon",
                ));
            }
        }
        let session = self.session(config, repository)?;
        let dirstate = session.dirstate(repository)?;
        let read = session.ignore(&files);
        let (ignore, failure) = match &read.ignore {
            Ok(ignore) => (ignore.clone(), None),
            Err(abort) => (Arc::default(), Some(abort.clone())),
        };
        let mut status = session.status(&HgRequest {
            repository,
            ignore,
            matcher: Arc::new(matcher),
            clean: is_terse || is_shown(CLEAN),
            unknown,
            ignored,
        })?;
        let (met, named): (Vec<&Bad>, Vec<&Bad>) = status.bad.iter().partition(|bad| bad.was_met);
        let all: Vec<&Bad> = named.into_iter().chain(met).collect();
        if status.ignore_use == Some(IgnoreUse::AfterTheWalk) {
            self.say_bad(config, &all, &repository.root)?;
        }
        if status.ignore_use.is_some() {
            self.warn(read.warnings.iter().cloned());
            if let Some(abort) = failure {
                return Err(abort);
            }
        }
        if status.ignore_use != Some(IgnoreUse::AfterTheWalk) {
            self.say_bad(config, &all, &repository.root)?;
        }
        if let Some(abort) = status.ignore_failure.take() {
            return Err(abort);
        }
        Ok((status, dirstate))
    }

    /// Says what could not be looked at.
    fn say_bad(
        &mut self,
        config: &Config,
        bad: &[&Bad],
        root: &std::path::Path,
    ) -> Result<(), Abort> {
        let is_relative = match config.get("ui", "relative-paths") {
            None => true,
            Some(value) if value == "legacy" => true,
            Some(_) => config.boolean("ui", "relative-paths", true)?,
        };
        let paths = Shown::new(root, &self.surroundings.cwd, is_relative);
        let lines: Vec<BString> = bad
            .iter()
            .map(|bad| {
                // What was met is already named from the working directory, and then once more.
                let path = match bad.was_met {
                    true => paths.relative(bad.path.as_bstr()),
                    false => bad.path.clone(),
                };
                let shown = paths.path(path.as_bstr());
                BString::from(bytes!(shown, ": ", bad.reason))
            })
            .collect();
        self.warn(lines);
        Ok(())
    }
}

/// Whether an operation waits to be finished.
fn unfinished(repository: &Repository) -> bool {
    const FILES: [&str; 9] = [
        "bisect.state",
        "graftstate",
        "histedit-state",
        "merge/state",
        "merge/state2",
        "rebasestate",
        "shelvedstate",
        "transplant/journal",
        "updatestate",
    ];
    let is_there = |name: &&str| stat_path(&repository.dot_hg.join(name)).is_ok();
    FILES.iter().any(is_there)
}

/// Which kinds are shown.
fn shown(arguments: &Arguments, quiet: bool) -> [bool; 7] {
    let mut shown = [
        arguments.modified,
        arguments.added,
        arguments.removed,
        arguments.deleted,
        arguments.unknown,
        arguments.ignored,
        arguments.clean,
    ];
    if arguments.all {
        let all = [true, true, true, true, !quiet, !quiet, true];
        for (shown, all) in shown.iter_mut().zip(all) {
            *shown |= all;
        }
    }
    match shown.contains(&true) {
        true => shown,
        false => [true, true, true, true, !quiet, false, false],
    }
}

/// The kinds that the letters of `--terse` stand for, by number.
fn terse_kinds(letters: &BString) -> Result<Vec<usize>, Abort> {
    letters
        .iter()
        .map(|letter| {
            let kind = TERSE_LETTERS.iter().position(|known| known == letter);
            kind.ok_or_else(|| {
                let said = bytes!("'", [*letter], "' not recognized");
                Abort::of(Kind::Input, said)
            })
        })
        .collect()
}

/// What tracked files are recorded as copies of.
fn copies(dirstate: &Dirstate) -> BTreeMap<BString, BString> {
    let [p1, _] = dirstate.parents();
    if p1.is_null() {
        return BTreeMap::new();
    }
    let files = dirstate.iter().enumerate();
    let tracked = files.filter(|(_, (_, entry))| entry.is_tracked());
    tracked
        .filter_map(|(at, (path, _))| {
            let source = dirstate.copy_source(at)?;
            Some((path.to_owned(), source.to_owned()))
        })
        .collect()
}
