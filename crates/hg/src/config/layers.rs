//! Layers: which configuration files there are, in which order, and which to trust.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::stat::stat_path;

use super::{Config, ConfigItem, ProcessContext, accounts, parse};
use crate::abort::{Abort, Kind};
use crate::bytes::{bytes, normal_path, python_repr, trim};
use crate::text_file;
use vigil_stamp::file;
use vigil_stamp::paths::{bytes_of, path_of};

/// The configuration, with warnings from reading it.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// The variables.
    pub config: Config,
    /// Lines for standard error, each without its line feed.
    pub warnings: Vec<BString>,
    /// Every file that was read, or looked for and missing.
    pub files: Vec<PathBuf>,
    /// Whether `ui.tweakdefaults` was applied.
    pub is_tweaked: bool,
    /// What files say that are not trusted. Nothing of this is in effect.
    pub untrusted: Config,
    /// The part that Mercurial reads only when it opens the repository.
    pub late: Config,
    /// The name of a path with `%%`, if there is one. Mercurial says each time that it reads it that this is deprecated.
    pub deprecated_path: Option<BString>,
}

/// The settings of `ui.tweakdefaults` that concern a status (`hg help config.ui.tweakdefaults`), unless they are set otherwise.
const TWEAKS: [(&str, &str, &str); 3] = [
    ("ui", "statuscopies", "yes"),
    ("ui", "relative-paths", "yes"),
    ("commands", "status.verbose", "True"),
];

/// The configuration files of a repository.
#[derive(Clone, Debug, Default)]
pub struct RepositoryFiles {
    /// The files, from the weakest to the strongest.
    pub files: Vec<PathBuf>,
    /// Whether Mercurial reads the first of them only when it opens the repository: after it chose the command.
    pub first_is_late: bool,
}

/// Stacks the layers of the configuration.
#[derive(Debug)]
pub struct Layers<'s> {
    process: &'s ProcessContext<'s>,
    result: Configuration,
    /// Settings that win over all files.
    overrides: Config,
    check: Check,
    /// The users and groups that some layer trusts (`trusted.users`, `trusted.groups`).
    trusted: [BTreeSet<BString>; 2],
}

/// Checks the configuration whenever a layer was added.
pub type Check = fn(&Config) -> Result<(), Abort>;

impl<'s> Layers<'s> {
    /// Reads the files of the system and of the user, and the arguments of `--config`, each of the form
    /// `section.name=value`.
    ///
    /// # Errors
    /// A file or an argument cannot be parsed.
    pub fn of_user(process: &'s ProcessContext<'s>, arguments: &[BString]) -> Result<Self, Abort> {
        Self::checked(process, arguments, |_| Ok(()))
    }

    /// Does the same, and checks the configuration after each file and each argument.
    ///
    /// # Errors
    /// As for [`Self::of_user`], or `check` fails.
    pub fn checked(
        process: &'s ProcessContext<'s>,
        arguments: &[BString],
        check: Check,
    ) -> Result<Self, Abort> {
        let mut layers = Self {
            process,
            result: Configuration::default(),
            overrides: Config::default(),
            check,
            trusted: Default::default(),
        };
        match process.get("HGRCPATH") {
            Some(paths) => {
                layers.variables();
                for path in paths.split(|byte| *byte == b':') {
                    if path.is_empty() {
                        continue;
                    }
                    let path = path_of(&process.expand_path(path)?).to_owned();
                    layers.file_or_folder(&path)?;
                }
            }
            None => {
                // What goes with one installation of Mercurial is weaker than what goes for all.
                let installed = process.installation();
                for top in installed
                    .iter()
                    .map(PathBuf::as_path)
                    .chain([Path::new("/")])
                {
                    let folder = top.join("etc/mercurial");
                    let folder = path_of(&normal_path(bytes_of(&folder))).to_owned();
                    layers.file(&folder.join("hgrc"), true)?;
                    layers.folder(&folder.join("hgrc.d"))?;
                }
                layers.variables();
                for path in layers.user_files()? {
                    layers.file(&path, true)?;
                }
            }
        }
        layers.apply_tweaks()?;
        for argument in arguments {
            let [section, name, value] = parse_override(argument)?;
            layers.set_override(section, name, value, "--config");
            layers.note_cumulative()?;
            layers.apply_tweaks()?;
        }
        Ok(layers)
    }

    /// Lays the environment variables that are settings on top: `PAGER`.
    fn variables(&mut self) {
        if let Some(pager) = self.process.get("PAGER") {
            self.result.config.set("pager", "pager", pager, "$PAGER");
        }
    }

    /// Sets a variable that wins over all files.
    fn set_override(&mut self, section: &[u8], name: &[u8], value: &[u8], source: &str) {
        for config in [&mut self.overrides, &mut self.result.config] {
            config.set(section, name, value, source);
        }
        self.note_deprecated_path();
    }

    /// Notes a path with `%%`, which a later layer may replace.
    fn note_deprecated_path(&mut self) {
        let result = &mut self.result;
        let paths = result.config.section("paths");
        let mut paths = paths.chain(result.untrusted.section("paths"));
        // What follows a colon is a property of the path.
        let is_deprecated =
            |item: &&ConfigItem| item.value.contains_str("%%") && !item.name.contains(&b':');
        if result.deprecated_path.is_none() {
            result.deprecated_path = paths.find(is_deprecated).map(|item| item.name.clone());
        }
    }

    /// Applies `ui.tweakdefaults`, as Mercurial does: once, and before it reads the repository's files.
    fn apply_tweaks(&mut self) -> Result<(), Abort> {
        let config = &self.result.config;
        let is_wanted = config.boolean("ui", "tweakdefaults", false)?;
        let is_plain = self.process.is_plain(Some("tweakdefaults"));
        if !is_wanted || is_plain || self.result.is_tweaked {
            return Ok(());
        }
        self.result.is_tweaked = true;
        for (section, name, value) in TWEAKS {
            if !self.result.config.has(section, name) {
                let [section, name, value] = [section, name, value].map(str::as_bytes);
                self.set_override(section, name, value, "<tweakdefaults>");
            }
        }
        Ok(())
    }

    /// Returns what has been read so far.
    pub fn config(&self) -> &Config {
        &self.result.config
    }

    fn user_files(&self) -> Result<[PathBuf; 2], Abort> {
        let xdg = self.process.get("XDG_CONFIG_HOME");
        let folder = match xdg.filter(|folder| folder.starts_with(b"/")) {
            Some(folder) => folder,
            None => self.process.expand_user(b"~/.config")?,
        };
        let own = self.process.expand_user(b"~/.hgrc")?;
        Ok([path_of(&own).to_owned(), path_of(&folder).join("hg/hgrc")])
    }

    fn file_or_folder(&mut self, path: &Path) -> Result<(), Abort> {
        match stat_path(&self.process.there(path)).is_ok_and(|stat| stat.is_dir()) {
            true => self.folder(path),
            false => self.file(path, true).map(drop),
        }
    }

    /// Reads the files of a folder whose names end in `.rc`.
    fn folder(&mut self, path: &Path) -> Result<(), Abort> {
        let there = self.process.there(path);
        let entries = std::fs::read_dir(&there).map_err(file::counted);
        self.result.files.push(there);
        let Ok(entries) = entries else {
            return Ok(());
        };
        let names = entries.filter_map(|entry| Some(path.join(entry.ok()?.file_name())));
        let mut names: Vec<PathBuf> = names
            .filter(|name| bytes_of(name).ends_with(b".rc"))
            .collect();
        names.sort_unstable();
        for name in names {
            self.file(&name, true)?;
        }
        Ok(())
    }

    /// Lays a file on top, and returns what it adds. One that is missing or unreadable is skipped.
    fn file(&mut self, path: &Path, is_trusted: bool) -> Result<Config, Abort> {
        let there = self.process.there(path);
        let text = text_file::read(&there);
        self.result.files.push(there);
        let text = match text {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Err(Abort::io(path, &error));
            }
            Err(_) => return Ok(Config::default()),
        };
        let is_trusted = is_trusted || self.is_trusted(path)?;
        let read = parse::read(path, &text, self.process, &mut self.result.files);
        let config = match read {
            Ok(config) => config,
            Err(error) if is_trusted => return Err(error),
            Err(error) => {
                let message = error.message.strip_prefix(b"config error at ");
                let message = message.unwrap_or(&error.message);
                self.result.warnings.push(bytes!("ignored ", message));
                return Ok(Config::default());
            }
        };
        let mut added = Config::default();
        if is_trusted {
            added = self.without_personal_settings(config);
            self.result.config.update(&added);
            let overrides = &self.overrides;
            self.result.config.update(overrides);
        } else {
            self.result.untrusted.update(&config);
        }
        self.note_deprecated_path();
        self.note_cumulative()?;
        Ok(added)
    }

    /// Checks the layers so far, and notes the settings that a later layer adds to but cannot take back.
    ///
    /// # Errors
    /// One of the settings that Mercurial checks at once is wrong.
    fn note_cumulative(&mut self) -> Result<(), Abort> {
        let config = &self.result.config;
        (self.check)(config)?;
        for (known, name) in self.trusted.iter_mut().zip(["users", "groups"]) {
            known.extend(config.list("trusted", name));
        }
        Ok(())
    }

    fn without_personal_settings(&self, mut config: Config) -> Config {
        const PERSONAL: [&str; 10] = [
            "debug",
            "fallbackencoding",
            "quiet",
            "slash",
            "logtemplate",
            "message-output",
            "statuscopies",
            "style",
            "traceback",
            "verbose",
        ];
        let is_plain = |feature| self.process.is_plain(feature);
        if !is_plain(None) {
            return config;
        }
        let is_dropped = |section: &BStr, name: &BStr| match section.as_bytes() {
            b"ui" => PERSONAL.iter().any(|personal| name == personal),
            b"defaults" | b"commands" | b"command-templates" => true,
            b"alias" => is_plain(Some("alias")),
            b"revsetalias" => is_plain(Some("revsetalias")),
            b"templatealias" => is_plain(Some("templatealias")),
            _ => false,
        };
        config.drop_each(is_dropped);
        config
    }

    /// Returns whether a file belongs to the user, or to a trusted user or group. Otherwise a warning is added.
    fn is_trusted(&mut self, path: &Path) -> Result<bool, Abort> {
        let Ok(stat) = stat_path(path) else {
            return Ok(false);
        };
        if stat.uid == self.process.uid {
            return Ok(true);
        }
        let user = accounts::name_of("passwd", stat.uid)?;
        let group = accounts::name_of("group", stat.gid)?;
        let everyone = BString::from("*");
        let any = |names: &BTreeSet<BString>, name: &BString| {
            names.contains(name) || names.contains(&everyone)
        };
        let [users, groups] = &self.trusted;
        if any(users, &user) || any(groups, &group) {
            return Ok(true);
        }
        let reports = self.result.config.boolean("ui", "report_untrusted", true);
        if reports.unwrap_or(true) {
            let file = bytes_of(path);
            let message = bytes!("not trusting file ", file, " from untrusted user ", user);
            self.result
                .warnings
                .push(bytes!(message, ", group ", group));
        }
        Ok(false)
    }

    /// Adds the `files` of a repository. Mercurial reads these twice, for the command and for the repository, each time with
    /// the same result and the same warnings, but for a file that is late.
    ///
    /// # Errors
    /// They cannot be listed, a trusted file cannot be parsed, or Mercurial says something of a late one.
    pub fn with_repository(
        mut self,
        files: impl FnOnce() -> Result<RepositoryFiles, Abort>,
    ) -> Result<Configuration, Abort> {
        if self.process.get("HGRCSKIPREPO").is_some() {
            return Ok(self.result);
        }
        let files = files()?;
        let mut rest = files.files.iter();
        if files.first_is_late
            && let Some(path) = rest.next()
        {
            let warnings = self.result.warnings.len();
            self.result.late = self.file(path, false)?;
            if self.result.warnings.len() != warnings {
                let said = "messages about the configuration of the source of a share";
                return Err(Abort::unsupported(said));
            }
        }
        for path in rest {
            self.file(path, false)?;
        }
        Ok(self.result)
    }

    /// Returns the configuration outside of any repository.
    pub fn finish(self) -> Configuration {
        self.result
    }
}

/// Splits an argument of `--config` into section, name and value.
fn parse_override(argument: &BString) -> Result<[&[u8]; 3], Abort> {
    let wrong = || {
        let message = bytes!("malformed --config option: ", python_repr(argument));
        Abort::of(
            Kind::Input,
            bytes!(message, " (use --config section.name=value)"),
        )
    };
    let at = argument.find_byte(b'=').ok_or_else(wrong)?;
    let (variable, value) = argument.split_at(at);
    let value = trim(value.get(1..).unwrap_or_default());
    let variable = trim(variable);
    let dot = variable.find_byte(b'.').ok_or_else(wrong)?;
    let (section, name) = variable.split_at(dot);
    let name = name.get(1..).unwrap_or_default();
    match section.is_empty() || name.is_empty() {
        true => Err(wrong()),
        false => Ok([section, name, value]),
    }
}
