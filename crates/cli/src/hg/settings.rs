//! What the configuration says about a status: how it is shown, and what only Mercurial can do.

use bstr::{BStr, BString, ByteSlice};
use vigil_git::locale;
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::bytes::bytes;
use vigil_hg::config::{Config, Configuration, ProcessContext, boolean};
use vigil_hg::repository::{Repository, Requirements};
use vigil_hg::revision::RevisionAliases;
use vigil_linux::stat::stat_path;

use super::arguments::Arguments;
use super::early_options::EarlyOptions;
use super::extensions;
use super::options::HelpStyle;

/// How a status is shown.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) quiet: bool,
    pub(super) verbose: bool,
    pub(super) debug: bool,
    /// Whether sources of copies are shown. It is wrong only when it comes to that: after all files were looked at.
    pub(super) copies: Result<bool, Abort>,
    /// Whether paths are shown relative to the current directory. It is wrong only when the changesets in question are known.
    pub(super) is_relative: Result<bool, Abort>,
    pub(super) terse: BString,
    /// Whether an unfinished operation is reported. It is wrong only after all files were looked at.
    pub(super) shows_unfinished: Result<bool, Abort>,
    /// Whether Mercurial would print a Python traceback when it fails.
    pub(super) traceback: bool,
}

/// Settings without effect here, which Mercurial nevertheless rejects if they are not booleans.
const CHECKED: [(&str, &str); 3] = [
    ("devel", "all-warnings"),
    ("ui", "slash"),
    ("ui", "tweakdefaults"),
];

/// Checks the settings that Mercurial checks as soon as it has read a configuration.
///
/// # Errors
/// One of them is wrong.
pub(super) fn check_first(config: &Config) -> Result<(), Abort> {
    let output = config.get("ui", "message-output").unwrap_or_default();
    match output.as_bytes() {
        b"" if !config.has("ui", "message-output") => {}
        b"stdio" | b"stderr" => {}
        b"channel" => return Err(Abort::unsupported("the setting ui.message-output")),
        other => {
            let said = bytes!("invalid ui.message-output destination: ", other);
            return Err(Abort::plain(said));
        }
    }
    let flag = |name| config.boolean("ui", name, false);
    if !flag("debug")? {
        for name in ["verbose", "quiet", "report_untrusted"] {
            flag(name)?;
        }
    }
    for name in ["timestamp-output", "traceback", "logblockedtimes"] {
        flag(name)?;
    }
    Ok(())
}

/// Whether exit codes tell kinds of errors apart.
///
/// # Errors
/// Only Mercurial knows what a failure looks like: messages have times, or the setting of exit codes is no boolean,
/// which Mercurial finds out when something fails.
pub(super) fn is_detailed(config: &Config) -> Result<bool, Abort> {
    if config.boolean("ui", "timestamp-output", false)? {
        return Err(Abort::unsupported("the setting ui.timestamp-output"));
    }
    let is_detailed = config.boolean("ui", "detailed-exit-code", false);
    is_detailed
        .map_err(|_| Abort::unsupported("a failure where ui.detailed-exit-code is not a boolean"))
}

/// Whether output is formatted for people: as configured (`ui.formatted`), or because it goes to a terminal. Never with `HGPLAIN` or
/// `HGPLAINEXCEPT`, or on a terminal that is dumb.
///
/// # Errors
/// The configuration is wrong.
pub(super) fn is_formatted(
    config: &Config,
    process: &ProcessContext<'_>,
    is_terminal: bool,
) -> Result<bool, Abort> {
    let is_terminal = !is_no_terminal(config)? && is_terminal;
    let is_dumb = process.get("TERM").is_some_and(|term| term == "dumb");
    match is_dumb || process.is_plain(None) {
        true => Ok(false),
        false => config.boolean("ui", "formatted", is_terminal),
    }
}

/// Whether a terminal is none for Mercurial.
///
/// # Errors
/// The setting is wrong: Mercurial fails while it says so.
fn is_no_terminal(config: &Config) -> Result<bool, Abort> {
    let is_none = config.boolean("ui", "nontty", false);
    is_none.map_err(|_| Abort::unsupported("the setting ui.nontty, which is no boolean"))
}

/// How much is said.
struct Loudness {
    debug: bool,
    verbose: bool,
    quiet: bool,
}

impl Loudness {
    /// Decides by the configuration, and by whether the command line asks for each of them, in this order.
    ///
    /// # Errors
    /// The configuration is wrong.
    fn new(config: &Config, said: [bool; 3]) -> Result<Self, Abort> {
        // One of these options on the command line overrides all three settings.
        let is_said = said.contains(&true);
        let either = |said: bool, name| match is_said {
            true => Ok(said),
            false => config.boolean("ui", name, false),
        };
        let [debug, verbose, quiet] = said;
        let debug = either(debug, "debug")?;
        let verbose = debug || either(verbose, "verbose")?;
        let quiet = !debug && either(quiet, "quiet")?;
        // If both are set, neither counts.
        let is_both = verbose && quiet;
        Ok(Self {
            debug,
            verbose: verbose && !is_both,
            quiet: quiet && !is_both,
        })
    }
}

/// The number of cells in a line of the narrowest terminal for which Mercurial does not break the lines of its help.
const HELP_WIDTH: usize = 80;

/// Returns how the help is printed when the options are wrong, in a terminal with lines of this `width`.
pub(super) fn help_style(config: &Config, early: &EarlyOptions, width: Option<usize>) -> HelpStyle {
    let said = [early.debug, early.verbose, early.quiet];
    let loudness = Loudness::new(config, said);
    let (is_verbose, is_quiet) = loudness.map_or((false, false), |loudness| {
        (loudness.verbose, loudness.quiet)
    });
    let only_mercurial = if is_verbose {
        Some("the verbose help about wrong options")
    } else if width.is_some_and(|width| width < HELP_WIDTH) || config.has("ui", "textwidth") {
        Some("the help about wrong options in another width")
    } else {
        None
    };
    HelpStyle {
        is_quiet,
        shows_copies: config.boolean("ui", "statuscopies", false) == Ok(true),
        has_mq: false,
        only_mercurial,
    }
}

/// Whether Mercurial prints a Python traceback when the options are wrong.
pub(super) fn is_traced(config: &Config, early: &EarlyOptions) -> bool {
    early.traceback || config.boolean("ui", "traceback", false) == Ok(true)
}

impl Settings {
    /// Whether directories are shown in place of files of some kinds.
    pub(super) fn is_terse(&self) -> bool {
        !self.terse.is_empty()
    }

    pub(super) fn new(
        config: &Config,
        arguments: &Arguments,
        is_plain: bool,
    ) -> Result<Self, Abort> {
        let flag = |section, name| config.boolean(section, name, false);
        for (section, name) in CHECKED {
            flag(section, name)?;
        }
        let said = [arguments.debug, arguments.verbose, arguments.quiet];
        let Loudness {
            debug,
            verbose,
            quiet,
        } = Loudness::new(config, said)?;
        let copies = flag("ui", "statuscopies").map(|configured| {
            let copies = arguments.copies.unwrap_or(configured) || arguments.all;
            copies && !arguments.no_status
        });
        let terse = match &arguments.terse {
            // Vigil's own formats list each file, whatever is configured.
            _ if arguments.own.is_some() => BString::default(),
            Some(terse) => terse.clone(),
            None if arguments.revisions.is_empty() => config
                .get("commands", "status.terse")
                .unwrap_or_default()
                .into(),
            None => BString::default(),
        };
        let shows_unfinished = match verbose {
            true => Ok(true),
            false => flag("commands", "status.verbose"),
        };
        Ok(Self {
            quiet,
            verbose,
            debug,
            copies,
            is_relative: is_relative(config, !arguments.patterns.is_empty()),
            terse,
            shows_unfinished: shows_unfinished.map(|shows| shows && !is_plain && !arguments.print0),
            traceback: arguments.traceback || flag("ui", "traceback")?,
        })
    }
}

/// Whether the encoding is UTF-8. Another one affects the case of letters, and the names of changesets.
pub(super) fn is_utf8(process: &ProcessContext<'_>, arguments: &Arguments) -> bool {
    let of_locale = || {
        let locale = locale::of_variables(|name| process.get(name))?;
        // Python takes a locale without an encoding for UTF-8.
        let (_, encoding) = locale.split_once_str(".")?;
        Some(BString::from(encoding))
    };
    let said = named_encoding(process, arguments);
    said.or_else(of_locale).is_none_or(|name| {
        let name = name.to_ascii_lowercase();
        matches!(name.as_slice(), b"utf-8" | b"utf8")
    })
}

/// Whether bytes that are not of the encoding are an error, and not replaced or left out.
pub(super) fn is_strict(process: &ProcessContext<'_>, arguments: &Arguments) -> bool {
    let mode = arguments.encoding_mode.clone();
    let mode = mode.or_else(|| process.get("HGENCODINGMODE"));
    mode.is_none_or(|mode| mode == "strict")
}

/// Returns the encoding that is asked for by name, if any.
fn named_encoding(process: &ProcessContext<'_>, arguments: &Arguments) -> Option<BString> {
    let said = arguments.encoding.clone();
    let said = said.or_else(|| process.get("HGENCODING"));
    said.filter(|said| !said.is_empty())
}

/// Whether the encoding that is asked for by name, if any, is one that Python knows for certain, in one of the usual spellings.
pub(super) fn is_known_encoding(process: &ProcessContext<'_>, arguments: &Arguments) -> bool {
    const KNOWN: [&[u8]; 18] = [
        b"ascii",
        b"big5",
        b"cp1251",
        b"cp1252",
        b"cp437",
        b"cp850",
        b"cp932",
        b"euc_jp",
        b"euc_kr",
        b"gb18030",
        b"gbk",
        b"iso_8859_1",
        b"iso_8859_15",
        b"koi8_r",
        b"latin1",
        b"shift_jis",
        b"utf_8",
        b"utf8",
    ];
    named_encoding(process, arguments).is_none_or(|name| {
        let name = name.to_ascii_lowercase().replace("-", "_");
        KNOWN.contains(&name.as_slice())
    })
}

fn is_relative(config: &Config, has_patterns: bool) -> Result<bool, Abort> {
    if config.has("commands", "status.relative") {
        return config.boolean("commands", "status.relative", false);
    }
    match config.get("ui", "relative-paths") {
        None => Ok(has_patterns),
        Some(value) if value == "legacy" => Ok(has_patterns),
        Some(value) => boolean(value).ok_or_else(|| {
            let said = bytes!("ui.relative-paths is not a boolean ('", value, "')");
            Abort::of(Kind::Config, said)
        }),
    }
}

/// Returns what may change the meaning of `names` of changesets in ways that only Mercurial knows.
pub(super) fn unsupported_names<'n>(
    config: &Config,
    repository: &Repository,
    names: impl Iterator<Item = &'n BString>,
    shows_hidden: bool,
) -> Option<BString> {
    let mut names = names.peekable();
    names.peek()?;
    // Applied patches of mq are names of changesets, too.
    let has_patches = |name: &str| {
        let stat = stat_path(&repository.dot_hg.join(name));
        stat.is_ok_and(|stat| stat.size > 0)
    };
    if extensions::has(config, "mq")
        && ["patches/status", "patches.queues"]
            .into_iter()
            .any(has_patches)
    {
        return Some("names of changesets where patches of mq may be applied".into());
    }
    for name in ["revisions.disambiguatewithin", "directaccess"] {
        if config.has("experimental", name) {
            return Some(bytes!("the setting experimental.", name));
        }
    }
    // Not each name has Mercurial read these.
    if config.integer("format", "obsstore-version").is_err() {
        return Some("the setting format.obsstore-version".into());
    }
    if config
        .boolean("experimental", "branch-cache-v3", false)
        .is_err()
    {
        return Some("the setting experimental.branch-cache-v3".into());
    }
    let names: Vec<&BString> = names.collect();
    let is_plain = |name: &&BString| matches!(name.as_slice(), b"." | b"null");
    if let Some(name) = extensions::naming(config)
        && !names.iter().all(is_plain)
    {
        let said = bytes!("names of changesets with the extension '", name, "'");
        return Some(said);
    }
    let markers = stat_path(&repository.store().folder().join("obsstore"));
    if !shows_hidden
        && markers.is_ok_and(|seen| seen.size > 0)
        && !names.iter().all(is_plain)
        && !may_make_markers(config)
    {
        // Mercurial warns about them, with a different text in each release.
        let said = "names of changesets where there are obsolete markers, and experimental.evolution allows none";
        return Some(said.into());
    }
    // These are found without the language in which aliases are.
    let is_alone = matches!(&names[..], [name] if is_plain(name));
    let unsound = revision_aliases(config).err().filter(|_| !is_alone);
    unsound.map(|declaration| bytes!("revsetalias.", declaration))
}

/// Reads the aliases of changesets.
///
/// # Errors
/// The declaration of one that Mercurial may not understand.
pub(super) fn revision_aliases(config: &Config) -> Result<RevisionAliases, &BStr> {
    let items = config.section("revsetalias");
    RevisionAliases::read(items.map(|item| (item.name.as_bstr(), item.value.as_bstr())))
}

/// Whether the configuration allows Mercurial to create obsolete markers.
fn may_make_markers(config: &Config) -> bool {
    let said = config.get("experimental", "evolution.createmarkers");
    if let Some(said) = said.and_then(|said| boolean(said)) {
        return said;
    }
    match config.get("experimental", "evolution") {
        Some(said) => boolean(said).unwrap_or_else(|| {
            let words = config.list("experimental", "evolution");
            words
                .iter()
                .any(|word| word == "all" || word == "createmarkers")
        }),
        // Without a setting, the extension allows them.
        None => extensions::has(config, "evolve"),
    }
}

/// Returns what in the configuration changes how a status is shown, in ways that only Mercurial knows.
pub(super) fn unsupported_output(
    config: &Config,
    is_tweaked: bool,
    arguments: &Arguments,
    process: &ProcessContext<'_>,
) -> Option<BString> {
    let is_on = |section: &str, name: &str| {
        let value = config.get(section, name);
        value.is_some_and(|value| boolean(value) != Some(false))
    };
    let is_plain = process.is_plain(Some("tweakdefaults"));
    if is_on("ui", "tweakdefaults") && !is_tweaked && !is_plain {
        return Some("the setting ui.tweakdefaults of a repository".into());
    }
    let is_strict = |plain: BString| plain.split_str(",").any(|word| word == b"+strictflags");
    let early = [&arguments.config, &arguments.cwd, &arguments.repository];
    if process.get("HGPLAIN").is_some_and(is_strict)
        && early.iter().any(|values| !values.is_empty())
    {
        return Some("HGPLAIN=+strictflags".into());
    }
    for name in ["formatdebug", "formatjson"] {
        if is_on("ui", name) {
            return Some(bytes!("the setting ui.", name));
        }
    }
    if arguments.debug || is_on("ui", "debug") {
        // Mercurial then prints more about what it does.
        let mut of_debug = config.section("devel");
        let told = of_debug.find(|item| {
            item.name.starts_with(b"debug.") && is_on("devel", &item.name.to_str_lossy())
        });
        if let Some(item) = told {
            return Some(bytes!("the setting devel.", item.name));
        }
    }
    let said = arguments.color.as_ref().map(|color| color.as_bstr());
    let color = said.or_else(|| config.get("ui", "color"));
    if color.is_some_and(|color| color == "debug") && !process.is_plain(Some("color")) {
        return Some("colours as labels ('debug')".into());
    }
    None
}

/// Features of repositories that Mercurial can change by itself: the setting, its default, and the requirement.
const AUTOMATIC: [(&str, bool, &str); 3] = [
    ("use-dirstate-v2", false, "dirstate-v2"),
    ("use-share-safe", true, "share-safe"),
    (
        "use-dirstate-tracked-hint",
        false,
        "dirstate-tracked-key-v1",
    ),
];

/// Returns the setting by which Mercurial would upgrade or downgrade the repository first.
///
/// # Errors
/// The configuration is wrong.
pub(super) fn unsupported_upgrade(
    config: &Config,
    requirements: &Requirements,
) -> Result<Option<BString>, Abort> {
    for (name, default, required) in AUTOMATIC {
        let automatic = format!("{name}.automatic-upgrade-of-mismatching-repositories");
        let is_automatic = config.boolean("format", &automatic, false)?;
        config.boolean("format", format!("{automatic}:quiet"), false)?;
        if !is_automatic {
            continue;
        }
        let is_wanted = config.boolean("format", name, default)?;
        let is_of_another = name == "use-share-safe" && requirements.has("shared");
        // It has a former name.
        if name == "use-dirstate-v2" && config.has("format", "exp-rc-dirstate-v2") {
            return Ok(Some("the setting format.exp-rc-dirstate-v2".into()));
        }
        if is_wanted != requirements.has(required) && !is_of_another {
            return Ok(Some(bytes!("the setting format.", automatic)));
        }
    }
    Ok(None)
}

/// Returns the error for a repository that cannot be opened because of `abort`: that the question is left to Mercurial, if the
/// configuration may let Mercurial open it.
pub(super) fn not_opened(config: &Config, abort: Abort) -> Abort {
    if abort.kind != Kind::Share {
        return abort;
    }
    let mut names = ["safe-mismatch.source-safe", "safe-mismatch.source-not-safe"].into_iter();
    let is_other = |name: &&str| {
        config
            .get("share", name)
            .is_some_and(|value| value != "abort")
    };
    match names.find(is_other) {
        Some(name) => Abort::unsupported(bytes!("the setting share.", name)),
        None => abort,
    }
}

/// Returns what in the part of the configuration that is read `late`, when Mercurial opens the repository, may have had another
/// effect before.
pub(super) fn unsupported_late(late: &Config) -> Option<BString> {
    let is_in_time = |(section, name): &(&BStr, &BStr)| match section.as_bytes() {
        b"alias" | b"color" | b"defaults" | b"devel" | b"pager" | b"profiling" => false,
        b"extensions" => !extensions::changes_some(name),
        b"ui" => {
            const NAMES: [&str; 9] = [
                "editor",
                "ignore",
                "merge",
                "portablefilenames",
                "relative-paths",
                "ssh",
                "statuscopies",
                "timeout",
                "username",
            ];
            name.starts_with(b"ignore.") || NAMES.contains(&name.to_str_lossy().as_ref())
        }
        _ => true,
    };
    let (section, name) = late.touched().find(|touched| !is_in_time(touched))?;
    Some(bytes!(
        "the setting ",
        section,
        ".",
        name,
        " of the source of a share"
    ))
}

/// Checks that Mercurial says nothing of a path when it reads the configuration.
///
/// # Errors
/// It does.
pub(super) fn check_paths(configuration: &Configuration) -> Result<(), Abort> {
    match &configuration.deprecated_path {
        Some(name) => Err(Abort::unsupported(bytes!(
            "the setting paths.",
            name,
            " with '%%'"
        ))),
        None => Ok(()),
    }
}

/// Returns what in the configuration changes a status in ways that only Mercurial knows.
pub(super) fn unsupported_setting(config: &Config) -> Option<BString> {
    if let Some(unsupported) = extensions::unsupported(config) {
        return Some(unsupported);
    }
    for (section, name) in [("ui", "forcecwd"), ("experimental", "extra-filter-revs")] {
        if config
            .get(section, name)
            .is_some_and(|value| !value.is_empty())
        {
            return Some(bytes!("the setting ", section, ".", name));
        }
    }
    for (section, name) in [
        ("ui", "strict"),
        ("ui", "timestamp-output"),
        ("profiling", "enabled"),
    ] {
        let value = config.get(section, name);
        if value.is_some_and(|value| boolean(value) != Some(false)) {
            return Some(bytes!("the setting ", section, ".", name));
        }
    }
    // These name files for which Mercurial waits.
    let wait = config
        .section("devel")
        .find(|item| item.name.starts_with(b"sync."));
    if let Some(item) = wait {
        return Some(bytes!("the setting devel.", item.name));
    }
    for section in ["encode", "decode"] {
        if let Some(item) = config.section(section).find(|item| item.value != "!") {
            return Some(bytes!("[", section, "] filters ('", item.name, "')"));
        }
    }
    unsupported_hook(config, b"status")
}

/// Returns what says that a command of this name runs a hook, if it does.
pub(super) fn unsupported_hook(config: &Config, command: &[u8]) -> Option<BString> {
    hook(config, command).map(|name| bytes!("the hook '", name, "'"))
}

/// Returns the name of a hook that a command of this name runs, if there is one.
fn hook<'c>(config: &'c Config, command: &[u8]) -> Option<&'c BString> {
    let is_hook = |name: &BString| {
        let name = name.split(|byte| *byte == b'.').next().unwrap_or_default();
        let mut kinds = ["pre-", "post-", "fail-"].into_iter();
        kinds.any(|kind| name.strip_prefix(kind.as_bytes()) == Some(command))
    };
    let hook = config
        .section("hooks")
        .find(|item| is_hook(&item.name) && !item.value.is_empty());
    hook.map(|item| &item.name)
}

/// Returns what in the settings that are not trusted has Mercurial complain of them, if the command has this `name`: it says which
/// hook it does not run, and gives up if that were one to run first.
pub(super) fn unsupported_untrusted(untrusted: &Config, name: &[u8]) -> Option<BString> {
    hook(untrusted, name).map(|name| bytes!("the untrusted hook '", name, "'"))
}
