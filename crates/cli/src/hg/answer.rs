//! Turns a parsed command line of `hg status` into the reply.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use bstr::BString;
use vigil_engine::hg_session::HgWorkingCopy;
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::config::{Config, Configuration, Layers, ProcessContext};
use vigil_hg::repository::{self, Repository};
use vigil_stamp::paths::path_of;

use super::aliases::CommandAliases;
use super::arguments::Arguments;
use super::color::Colors;
use super::configuration::{Detailed, failure, of_user, refuse_to_name};
use super::defaults_and_aliases;
use super::extensions::{self, ExtensionQuestion};
use super::paging::{Paging, paging};
use super::question::{Question, shown};
use super::refusals;
use super::session::SessionQuestion;
use super::settings::{self, Settings};
use super::show::Format;
use super::subject::{Subject, add_lines, unknown_parent};
use super::subrepositories;
use crate::reply::{Reply, bytes};

/// The answer, or why there is none.
pub(super) struct Answered {
    pub(super) result: Result<Reply, Failed>,
    /// The pager that shows what is said.
    pub(super) paging: Option<Paging>,
}

/// Why there is no answer.
pub(super) struct Failed {
    pub(super) abort: Abort,
    /// What was said on standard error before.
    pub(super) warnings: Vec<u8>,
    /// Whether Mercurial may be run instead.
    pub(super) may_fall_back: bool,
    /// The codes of the terminal effects in which errors are shown; `None` if there are none.
    pub(super) colors: Option<Vec<&'static str>>,
}

/// Answers, using what is kept of the working copy. Sets `detailed` to `ui.detailed-exit-code`.
pub(super) fn answer(
    arguments: &Arguments,
    process: &ProcessContext<'_>,
    detailed: &mut Detailed,
    working_copy: &mut HgWorkingCopy,
    is_terminal: bool,
) -> Answered {
    let mut run = Run {
        working_copy,
        is_terminal,
        arguments,
        process,
        detailed,
        warnings: Vec::new(),
        may_fall_back: false,
        traceback: arguments.traceback,
        coloring: None,
        paging: None,
        wrong_paging: None,
    };
    let answered = run.answer();
    let is_traced = |abort: &Abort| run.traceback && abort.kind != Kind::Unsupported;
    let answered = answered.map_err(|abort| match is_traced(&abort) {
        true => Abort::unsupported("the Python traceback of a failure (--traceback)"),
        false => abort,
    });
    let answered = answered.map_err(|abort| failure(abort, run.detailed));
    let colors = match answered {
        Ok(_) => None,
        Err(_) => run.effects_of_errors(),
    };
    let warnings = run.warnings;
    let may_fall_back = run.may_fall_back;
    let paging = match answered {
        Ok(_) => run.paging,
        // Without output, there is a pager only if it shows errors.
        Err(_) => run.paging.filter(|paging| paging.shows_warnings),
    };
    let result = match answered {
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
    };
    Answered { result, paging }
}

struct Run<'r> {
    /// The working copy as kept in memory, which the answer updates.
    working_copy: &'r mut HgWorkingCopy,
    is_terminal: bool,
    arguments: &'r Arguments,
    process: &'r ProcessContext<'r>,
    detailed: &'r mut Detailed,
    warnings: Vec<u8>,
    may_fall_back: bool,
    /// Whether Mercurial would print a Python traceback when it fails.
    traceback: bool,
    /// How errors are coloured, once that is decided.
    coloring: Option<Coloring>,
    paging: Option<Paging>,
    /// What is wrong with the settings of the pager, which Mercurial reads when it begins to write.
    wrong_paging: Option<Abort>,
}

/// What decides about colours besides the configuration.
struct Coloring {
    /// The value of `--color`.
    wanted: Option<BString>,
    is_paged: bool,
}

impl Run<'_> {
    fn answer(&mut self) -> Result<Vec<u8>, Abort> {
        let (root, configuration) = self.find_repository()?;
        settings::check_paths(&configuration)?;
        if let Some(unsupported) = settings::unsupported_late(&configuration.late) {
            return Err(Abort::unsupported(unsupported));
        }
        let config = &configuration.config;
        let merged = self.merged(config)?;
        let arguments = merged.as_ref().unwrap_or(self.arguments);
        let is_formatted = settings::is_formatted(config, self.process, self.is_terminal)?;
        let repository = Repository::unchecked(&root);
        if repository.is_ok() {
            // Mercurial now reads the configuration again, for the repository, and so gives each warning twice.
            add_lines(&mut self.warnings, &configuration.warnings);
        }
        let settings = Settings::new(config, arguments, self.process.is_plain(None));
        let settings = settings.inspect_err(|_| {
            // Mercurial has chosen colours before it finds that a setting is wrong, and starts its pager later.
            let _ = self.choose_pager_and_colors(config, arguments, is_formatted, arguments.debug);
            self.paging = None;
        })?;
        let has_untrusted = !configuration.warnings.is_empty();
        if has_untrusted && (arguments.debug || config.boolean("ui", "debug", false)?) {
            let message = "messages about untrusted settings (--debug)";
            return Err(Abort::unsupported(message));
        }
        self.traceback = settings.traceback;
        let colors =
            self.choose_pager_and_colors(config, arguments, is_formatted, settings.debug)?;
        let repository = refusals::checked(repository, config)?;
        refusals::refuse_unsupported(
            arguments,
            config,
            &repository,
            configuration.is_tweaked,
            self.process,
        )?;
        let untrusted = &configuration.untrusted;
        if let Some(unsupported) = settings::unsupported_untrusted(untrusted, &arguments.name) {
            return Err(Abort::unsupported(unsupported));
        }
        extensions::check_monitor(config, &repository)?;
        // The extension eol reads this as soon as the repository is opened.
        let line_endings = extensions::line_endings(&repository, config, self.process)?;
        let shown = shown(arguments, settings.quiet && arguments.own.is_none());
        let looks_for_unknown = settings.is_terse() || shown.unknown;
        if self.working_copy.is_kept() {
            let is_of_part =
                arguments.has_patterns() || repository.is_sparse() || repository.is_narrow();
            refusals::decline_in_daemon(
                arguments,
                &configuration,
                looks_for_unknown || !shown.ignored || !is_of_part,
            )?;
        }
        if arguments.names_changesets() && settings.is_terse() && arguments.change.is_none() {
            let message = "cannot use --terse with --rev";
            return Err(Abort::of(Kind::Input, message));
        }
        self.look_and_write(&Question {
            root: &root,
            repository: &repository,
            config,
            arguments,
            settings: &settings,
            process: self.process,
            line_endings: line_endings.as_ref(),
            shown,
            looks_for_unknown,
            format: Format::of(arguments, config, &self.process.cwd)?,
            colors,
        })
    }

    /// Looks at the repository, and writes what was found.
    ///
    /// # Errors
    /// Something is wrong with the repository, or only Mercurial can answer.
    fn look_and_write(&mut self, question: &Question<'_>) -> Result<Vec<u8>, Abort> {
        let Question {
            repository,
            config,
            arguments,
            settings,
            ..
        } = *question;
        let is_kept = self.working_copy.is_kept();
        let mut unkept = None;
        let session = SessionQuestion {
            repository,
            config,
            process: self.process,
            line_endings: question.line_endings,
            is_debug: settings.debug,
        };
        let session = session.session(self.working_copy, &mut unkept)?;
        let dirstate = session.dirstate(repository)?;
        let extensions = ExtensionQuestion {
            repository,
            config,
            process: self.process,
            dirstate: &dirstate,
            is_verbose: settings.verbose,
            shows_large_files: !is_kept && !arguments.subrepos,
        };
        if let Some(unsupported) = extensions.unsupported() {
            return Err(Abort::unsupported(unsupported));
        }
        let large_files = extensions.large_files();
        let parents = session.parents(repository)?;
        if let Some(parent) = parents.unknown {
            self.warnings.extend_from_slice(&unknown_parent(&parent));
        }
        let unfinished = question.unfinished(parents.nodes)?;
        let (revisions, pair) = question.compared(parents.nodes)?;
        settings.is_relative.clone()?;
        if let Some(revisions) = &revisions {
            extensions.check_pair(pair, revisions)?;
        }
        let subrepositories = question.subrepositories(&dirstate, pair, &mut self.warnings)?;
        // Aliases and defaults may ask for what is in them.
        if is_kept && arguments.subrepos && !subrepositories.is_empty() {
            return Err(Abort::unsupported("subrepositories, by a daemon"));
        }
        let matcher = question.matcher(&subrepositories, pair)?;
        let narrow = question.narrow(&mut self.warnings)?;
        let subject = Subject {
            repository,
            narrow: narrow.clone(),
            session: RefCell::new(session),
            config,
            options: &arguments.config,
            process: self.process,
            dirstate: &dirstate,
            has_parent: !parents.nodes[0].is_null(),
            revisions: revisions.as_ref(),
            subrepositories: &subrepositories,
            matcher: Arc::new(matcher.within_narrow(narrow)),
            clean: settings.is_terse() || question.shown.clean,
            unknown: question.looks_for_unknown,
            ignored: question.shown.ignored || settings.terse.contains(&b'i'),
            overlooks_manifests: false,
            line_endings: question.line_endings.map(AsRef::as_ref),
            large_files: large_files.as_ref(),
            copies_name_large_files: extensions.copies_name_large_files(),
            settings,
        };
        let says_more = settings.debug || arguments.subrepos;
        if let Some(warning) = extensions.monitor_warning(says_more)? {
            self.warnings.extend_from_slice(warning.as_bytes());
        }
        let mut lists = subject.lists(pair, &mut self.warnings)?;
        if arguments.subrepos {
            subrepositories::add(&mut lists, &subject, pair, &mut self.warnings)?;
        }
        if let Some(format) = arguments.own {
            unfinished?;
            return Ok(question.report(format, &lists, &subject, parents.nodes));
        }
        let paging = self.wrong_paging.take().map_or(Ok(()), Err);
        question.write(lists, &subject, pair, unfinished, paging)
    }

    /// Finds the repository in question, and reads its configuration. Returns its top and that.
    ///
    /// # Errors
    /// There is no repository, or the configuration is wrong.
    fn find_repository(&mut self) -> Result<(PathBuf, Configuration), Abort> {
        let arguments = self.arguments;
        // Mercurial does not use a repository's own configuration of exit codes.
        let layers = of_user(self.process, &arguments.config, self.detailed)?;
        let named = arguments
            .repository
            .last()
            .filter(|named| !named.is_empty());
        let may_fall_back = layers.config().boolean("vigil", "hg.fallback", false);
        self.may_fall_back = may_fall_back.unwrap_or(false);
        if let Some(named) = named {
            self.refuse_configured_path(named)?;
        }
        let around = match named {
            None => repository::find(&self.process.cwd),
            Some(_) => None,
        };
        let root = match around {
            Some(root) => root,
            None => return self.find_another_repository(layers, named),
        };
        let configuration = repository::configure(layers, &root);
        self.found_repository(root, configuration?)
    }

    /// Finds the repository that is `named`, or the one in which all files are.
    ///
    /// # Errors
    /// As for [`Self::find_repository`].
    fn find_another_repository(
        &mut self,
        layers: Layers<'_>,
        named: Option<&BString>,
    ) -> Result<(PathBuf, Configuration), Abort> {
        let merged = match named {
            None => self.merged(layers.config())?,
            Some(_) => None,
        };
        let arguments = merged.as_ref().unwrap_or(self.arguments);
        let inferred = match named {
            None => repository::infer_root(&self.process.cwd, &arguments.patterns),
            Some(_) => None,
        };
        let is_inferred = inferred.is_some();
        if is_inferred {
            self.refuse_to_go_twice()?;
        }
        let named = named.or(inferred.as_ref());
        let root = match repository::locate(self.process, named) {
            Ok(root) => root,
            Err(abort) => {
                let configuration = layers.finish();
                settings::check_paths(&configuration)?;
                let config = configuration.config;
                let merged = self.merged(&config)?;
                let arguments = merged.as_ref().unwrap_or(self.arguments);
                self.choose_colors_without_repository(&config, arguments);
                return Err(abort);
            }
        };
        let of_user = layers.config().clone();
        let configuration = repository::configure(layers, &root);
        let configuration = match named {
            Some(named) => refuse_to_name(named, &root, configuration)?,
            None => configuration?,
        };
        let [before, now] = [&of_user, &configuration.config].map(CommandAliases::new);
        if is_inferred && !now.are_the_same_as(&before) {
            // Mercurial then knows the aliases of both, and which come first depends on more than the configuration.
            return Err(Abort::unsupported("aliases of a repository elsewhere"));
        }
        self.found_repository(root, configuration)
    }

    /// Refuses to find a repository by its files after `--cwd`: Mercurial then begins anew, and so changes the directory once more.
    ///
    /// # Errors
    /// That leads elsewhere.
    fn refuse_to_go_twice(&self) -> Result<(), Abort> {
        let here = &self.process.cwd;
        let cwd = self.arguments.cwd.last().filter(|cwd| !cwd.is_empty());
        let again = cwd.map(|cwd| std::fs::canonicalize(here.join(path_of(cwd))));
        match again {
            None => Ok(()),
            Some(Ok(again)) if again == *here => Ok(()),
            _ => Err(Abort::unsupported(
                "files of a repository that is not around them, from --cwd",
            )),
        }
    }

    fn found_repository(
        &mut self,
        root: PathBuf,
        configuration: Configuration,
    ) -> Result<(PathBuf, Configuration), Abort> {
        add_lines(&mut self.warnings, &configuration.warnings);
        let may_fall_back = configuration.config.boolean("vigil", "hg.fallback", false);
        self.may_fall_back = may_fall_back?;
        Ok((root, configuration))
    }

    /// Decides in which pager and colours the status is shown, and errors from now on.
    ///
    /// # Errors
    /// The configuration is wrong, or has colours that only Mercurial can show.
    fn choose_pager_and_colors<'c>(
        &mut self,
        config: &'c Config,
        arguments: &Arguments,
        is_formatted: bool,
        is_debug: bool,
    ) -> Result<Colors<'c>, Abort> {
        let paging = paging(config, arguments, is_formatted, is_debug);
        let coloring = Coloring {
            wanted: arguments.color.clone(),
            is_paged: matches!(&paging, Ok(Some(paging)) if paging.needs_program()),
        };
        let colors = self.colors(config, &coloring, is_formatted);
        if let Some(unsupported) = colors.unsupported_setting() {
            return Err(Abort::unsupported(unsupported));
        }
        self.coloring = Some(coloring);
        match paging {
            Ok(paging) => self.paging = paging,
            // The extension reads them first.
            Err(wrong) if extensions::has(config, "pager") => return Err(wrong),
            Err(wrong) => self.wrong_paging = Some(wrong),
        }
        Ok(colors)
    }

    /// Does the same for an error without a repository: as the user's own configuration says.
    fn choose_colors_without_repository(&mut self, config: &Config, arguments: &Arguments) {
        // Mercurial does not come to what else may be wrong.
        if let Ok(is_formatted) = settings::is_formatted(config, self.process, self.is_terminal) {
            let _ = self.choose_pager_and_colors(config, arguments, is_formatted, arguments.debug);
        }
    }

    fn colors<'c>(&self, config: &'c Config, by: &Coloring, is_formatted: bool) -> Colors<'c> {
        let is_plain = self.process.is_plain(Some("color"));
        Colors::new(
            config,
            by.wanted.as_ref(),
            is_plain,
            is_formatted,
            by.is_paged,
        )
    }

    /// Returns the effects in which errors are shown. Mercurial shows them by the user's own configuration, whatever that of the
    /// repository says.
    fn effects_of_errors(&self) -> Option<Vec<&'static str>> {
        let coloring = self.coloring.as_ref()?;
        let layers = of_user(self.process, &self.arguments.config, &mut Ok(false)).ok()?;
        let config = layers.finish().config;
        let is_formatted = settings::is_formatted(&config, self.process, self.is_terminal).ok()?;
        self.colors(&config, coloring, is_formatted)
            .effects("ui.error")
    }

    /// Returns the command line with what `config` adds to it.
    ///
    /// # Errors
    /// The configuration has what only Mercurial knows, or as for [`defaults_and_aliases::with_configured`].
    fn merged(&mut self, config: &Config) -> Result<Option<Arguments>, Abort> {
        let unsupported = settings::unsupported_setting(config);
        let unsupported = unsupported.or_else(|| extensions::not_found(config, self.process));
        if let Some(unsupported) = unsupported {
            return Err(Abort::unsupported(unsupported));
        }
        let arguments = self.arguments;
        let merged = defaults_and_aliases::with_configured(config, arguments, self.process);
        merged.map_err(|wrong| {
            if wrong.is_colored {
                let read = of_user(self.process, &arguments.config, &mut Ok(false));
                if let Ok(layers) = read {
                    self.choose_colors_without_repository(layers.config(), arguments);
                }
                self.paging = None;
            }
            wrong.abort
        })
    }

    /// Refuses to look for a repository whose name is configured. For this, Mercurial reads the configuration of the repository
    /// around the working directory, too.
    ///
    /// # Errors
    /// The name is configured, or that configuration is wrong.
    fn refuse_configured_path(&mut self, named: &BString) -> Result<(), Abort> {
        let config = &self.arguments.config;
        let layers = Layers::checked(self.process, config, settings::check_first)?;
        let configuration = match repository::find(&self.process.cwd) {
            Some(around) => repository::configure(layers, &around)?,
            None => layers.finish(),
        };
        add_lines(&mut self.warnings, &configuration.warnings);
        let mut paths = configuration.config.section("paths");
        match paths.any(|item| item.name == *named) {
            true => Err(Abort::unsupported(bytes!("the setting paths.", named))),
            false => Ok(()),
        }
    }
}
