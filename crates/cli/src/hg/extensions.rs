//! Mercurial's extensions: which of them may change a status, and where.

use std::sync::Arc;

use bstr::{BString, ByteSlice};
use vigil_hg::abort::Abort;
use vigil_hg::bookmarks::BookmarkSharing;
use vigil_hg::bytes::bytes;
use vigil_hg::config::{Config, ConfigItem, ProcessContext, boolean};
use vigil_hg::dirstate::Dirstate;
use vigil_hg::large_files::{LargeFiles, STAND_INS};
use vigil_hg::line_endings::LineEndings;
use vigil_hg::repository::{Repository, Requirements};
use vigil_hg::revision::{Revisions, Target};
use vigil_linux::stat::{lstat_path, stat_path};
use vigil_stamp::paths::path_of;

use super::pair::Pair;
use super::store_settings::is_python_float;

/// Extensions that never change a status.
const HARMLESS: [&str; 69] = [
    "absorb",
    "acl",
    "amend",
    "automv",
    "beautifygraph",
    "blackbox",
    "bookflow",
    "bookmarks",
    "bugzilla",
    "censor",
    "children",
    "churn",
    "clang-format",
    "clonebundles",
    "closehead",
    "color",
    "commitextras",
    "convert",
    "evolve",
    "extdiff",
    "factotum",
    "fastannotate",
    "fastexport",
    "fetch",
    "firefoxtree",
    "fix",
    "fsmonitor",
    "githelp",
    "gpg",
    "graphlog",
    "hbisect",
    "hgcia",
    "hgk",
    "highlight",
    "histedit",
    "hooklib",
    "inotify",
    "interhg",
    "journal",
    "js-format",
    "logtoprocess",
    "mercurial_keyring",
    "mq",
    "narrow",
    "notify",
    "pager",
    "parentrevspec",
    "patchbomb",
    "phabricator",
    "progress",
    "prompt",
    "purge",
    "push-to-try",
    "rebase",
    "record",
    "releasenotes",
    "relink",
    "remotenames",
    "schemes",
    "share",
    "shelve",
    "show",
    "sparse",
    "split",
    "strip",
    "topic",
    "transplant",
    "uncommit",
    "zeroconf",
];

/// Known extensions that do not come with Mercurial, and so are configured by file. Some are Mozilla's.
const NOT_BUNDLED: [&str; 10] = [
    "clang-format",
    "evolve",
    "firefoxtree",
    "hggit",
    "interhg",
    "js-format",
    "mercurial_keyring",
    "prompt",
    "push-to-try",
    "topic",
];

/// The file of a harmless extension that Mercurial's own tests configure under more than one name.
const TEST_EXTENSION: &[u8] = b"/drawdag.py";

/// Extensions that add names for changesets.
const NAMING: [&str; 2] = ["firefoxtree", "remotenames"];

/// Returns the extensions that are on, each with its short name.
fn all(config: &Config) -> impl Iterator<Item = (&[u8], &ConfigItem)> {
    let all = config.section("extensions");
    let all = all.map(|item| (short_name(&item.name), item));
    all.filter(|(name, item)| {
        let is_sub_option = name.contains(&b':');
        !item.value.starts_with(b"!") && !is_sub_option
    })
}

/// Returns the name of an extension without that of the package that it is in.
fn short_name(name: &[u8]) -> &[u8] {
    let name = name.strip_prefix(b"hgext.").unwrap_or(name);
    name.strip_prefix(b"hgext3rd.").unwrap_or(name)
}

fn is_among(name: &[u8], list: &[&str]) -> bool {
    list.iter().any(|known| known.as_bytes() == name)
}

/// Returns an extension that is on and adds names for changesets.
pub(super) fn naming(config: &Config) -> Option<&[u8]> {
    let mut all = all(config);
    all.find_map(|(name, _)| is_among(name, &NAMING).then_some(name))
}

/// Returns which bookmarks a share has.
pub(super) fn bookmark_sharing(config: &Config) -> BookmarkSharing {
    match has(config, "share") {
        true => BookmarkSharing::Known,
        false => BookmarkSharing::Unknown,
    }
}

/// Whether an extension that is on may have a command, beside the status, that `word` abbreviates.
pub(super) fn may_add_command(config: &Config, word: &[u8]) -> bool {
    // They have "stabilize" and "stack".
    word == b"sta" && (has(config, "evolve") || has(config, "topic"))
}

/// Extensions that change a status only in some working copies, or with some settings.
const SOMETIMES: [&str; 5] = ["eol", "hggit", "keyword", "largefiles", "lfs"];

/// Whether the extension `name` changes a status in some working copies.
pub(super) fn changes_some(name: &[u8]) -> bool {
    is_among(short_name(name), &SOMETIMES)
}

const LARGE_FILES: &str = "the extension 'largefiles' where there may be some";

/// Whether the extension `name` is on.
pub(super) fn has(config: &Config, name: &str) -> bool {
    all(config).any(|(known, _)| known == name.as_bytes())
}

/// Whether Mercurial turns on the extension of this `name` by itself: the repository requires it, and the configuration does not
/// name it.
fn is_turned_on(name: &str, config: &Config, requirements: &Requirements) -> bool {
    requirements.has(name) && !config.has("extensions", name)
}

/// Whether the extension for the requirement `lfs` is on.
fn has_lfs(config: &Config, requirements: &Requirements) -> bool {
    has(config, "lfs") || is_turned_on("lfs", config, requirements)
}

/// Whether the extension for the requirement `largefiles` is on without the configuration: too late to change the command, which
/// then shows the stand-ins.
fn shows_stand_ins(config: &Config, requirements: &Requirements) -> bool {
    !has(config, "largefiles") && is_turned_on("largefiles", config, requirements)
}

/// Checks that the extensions that a repository requires are on.
///
/// # Errors
/// One is off.
pub(super) fn check_required(config: &Config, requirements: &Requirements) -> Result<(), Abort> {
    requirements.check_extensions(|name| match name {
        "lfs" => has_lfs(config, requirements),
        "largefiles" => has(config, name) || is_turned_on(name, config, requirements),
        _ => has(config, name),
    })
}

/// Whether Mercurial finds an extension at `value`: a file, or a folder that is a Python package.
fn is_found_at(value: &[u8], process: &ProcessContext<'_>) -> bool {
    let Ok(path) = process.expand_path(value) else {
        return false;
    };
    // A relative path may be meant from elsewhere (--cwd).
    let path = path_of(&path);
    path.is_absolute()
        && match stat_path(path) {
            Ok(stat) if stat.is_dir() => stat_path(&path.join("__init__.py")).is_ok(),
            found => found.is_ok(),
        }
}

/// Returns an extension that may change a status wherever it is on, in ways that only Mercurial knows.
pub(super) fn unsupported(config: &Config) -> Option<BString> {
    all(config).find_map(|(name, item)| {
        if item.value.ends_with(TEST_EXTENSION) {
            None
        } else if !is_among(name, &HARMLESS) && !is_among(name, &SOMETIMES) {
            Some(bytes!("the extension '", name, "'"))
        } else if !item.value.is_empty() && !is_among(name, &NOT_BUNDLED) {
            // One that comes with Mercurial is configured by name alone. With a file, it is a different extension of that name.
            Some(bytes!("the extension '", name, "' from ", item.value))
        } else {
            None
        }
    })
}

/// Returns an extension that Mercurial does not find, of which it warns with every command.
pub(super) fn not_found(config: &Config, process: &ProcessContext<'_>) -> Option<BString> {
    let mut all = all(config).filter(|(_, item)| !item.value.is_empty());
    let (name, item) = all.find(|(_, item)| !is_found_at(&item.value, process))?;
    Some(bytes!(
        "the extension '",
        name,
        "', which is not in ",
        item.value
    ))
}

/// Returns how the extension `eol` has files of the working copy converted, if it is on and has anything to do.
///
/// # Errors
/// The working copy's `.hgeol` is not understood.
pub(super) fn line_endings(
    repository: &Repository,
    config: &Config,
    process: &ProcessContext<'_>,
) -> Result<Option<Arc<LineEndings>>, Abort> {
    match has(config, "eol") {
        true => {
            let read = LineEndings::read(&repository.root, &repository.dot_hg, config, process)?;
            Ok(read.map(Arc::new))
        }
        false => Ok(None),
    }
}

/// Whether the extension fsmonitor is on, and does something where there are no subrepositories.
fn is_monitored(config: &Config, repository: &Repository) -> bool {
    let mut files = [".hgsubstate", ".hgsub"].into_iter();
    let is_there = |name| stat_path(&repository.root.join(name)).is_ok();
    has(config, "fsmonitor") && !files.any(is_there)
}

/// Checks the settings that the extension fsmonitor reads as soon as a repository is opened.
///
/// # Errors
/// One is wrong.
pub(super) fn check_monitor(config: &Config, repository: &Repository) -> Result<(), Abort> {
    if !is_monitored(config, repository) {
        return Ok(());
    }
    config.boolean("fsmonitor", "walk_on_invalidate", false)?;
    match config
        .get("fsmonitor", "timeout")
        .is_none_or(is_python_float)
    {
        true => Ok(()),
        false => Err(Abort::unsupported("the setting fsmonitor.timeout")),
    }
}

/// A question on which it depends whether an extension changes the answer.
pub(crate) struct ExtensionQuestion<'q> {
    /// The repository.
    pub(crate) repository: &'q Repository,
    /// The configuration that applies there.
    pub(crate) config: &'q Config,
    /// The user, and the environment.
    pub(crate) process: &'q ProcessContext<'q>,
    /// What is recorded of the working copy.
    pub(crate) dirstate: &'q Dirstate,
    /// Whether more is said than usual.
    pub(crate) is_verbose: bool,
    /// Whether large files take the place of their stand-ins in the answer.
    pub(crate) shows_large_files: bool,
}

impl ExtensionQuestion<'_> {
    /// Returns what the extensions that are on do to the answer in ways that only Mercurial knows, besides what depends on the
    /// configuration alone.
    pub(crate) fn unsupported(&self) -> Option<BString> {
        let config = self.config;
        // Without patterns, it does nothing.
        let mut patterns = config.section("keyword");
        if has(config, "keyword") && patterns.any(|item| item.value != "ignore") {
            return Some("the extension 'keyword' with patterns".into());
        }
        if has(config, "hggit") && self.exchanges_with_git() {
            return Some(
                "the extension 'hggit' in a repository that exchanges changesets with git".into(),
            );
        }
        if has(config, "largefiles") {
            let is_shown = self.shows_large_files && !self.repository.is_narrow();
            if !is_shown && self.may_have_large_files() {
                return Some(LARGE_FILES.into());
            }
            if self.repository.is_sparse() {
                // What Mercurial says of missing profiles comes at another time then, or only then.
                return Some("the extension 'largefiles' in a sparse working copy".into());
            }
        }
        if has(config, "fsmonitor") && (has(config, "largefiles") || has(config, "eol")) {
            return Some("the extension 'fsmonitor' with one that it does not go with".into());
        }
        let requirements = &self.repository.requirements;
        if shows_stand_ins(config, requirements) {
            // In subrepositories, it shows the large files.
            if !self.shows_large_files && self.may_have_large_files() {
                return Some(LARGE_FILES.into());
            }
            if self.repository.is_sparse() {
                return Some("the extension 'largefiles' in a sparse working copy".into());
            }
        }
        match has_lfs(config, requirements) {
            true => self.unsupported_by_lfs(),
            false => None,
        }
    }

    /// Returns what the extension fsmonitor says before the files are looked at. If Watchman is there, the answer is the same with it
    /// as without. `says_more` means that it also speaks of subrepositories, or for debugging.
    ///
    /// # Errors
    /// Only Mercurial knows what it says, or a setting is wrong.
    pub(super) fn monitor_warning(&self, says_more: bool) -> Result<Option<&'static str>, Abort> {
        let config = self.config;
        if !is_monitored(config, self.repository)
            || config.get("fsmonitor", "mode") == Some("off".into())
            || !config.boolean("fsmonitor", "verbose", true)?
            || self.has_watchman()
        {
            return Ok(None);
        }
        if config.has("fsmonitor", "blacklistusers") || self.has_nested_repositories() {
            return Err(Abort::unsupported(
                "what the extension 'fsmonitor' says here",
            ));
        }
        if says_more {
            return Err(Abort::unsupported(
                "what the extension 'fsmonitor' says for debugging, or of subrepositories",
            ));
        }
        Ok(Some(
            "warning: Watchman unavailable: \"watchman\" executable not in PATH ([Errno 2] No such file or directory: b'watchman')\n",
        ))
    }

    /// Whether Watchman may be there.
    fn has_watchman(&self) -> bool {
        if self.config.has("fsmonitor", "watchman_exe")
            || self.process.get("WATCHMAN_SOCK").is_some()
        {
            return true;
        }
        let searched = self.process.get("PATH").unwrap_or_default();
        let mut folders = searched.split(|byte| *byte == b':').map(path_of);
        folders.any(|folder| stat_path(&self.process.there(folder).join("watchman")).is_ok())
    }

    /// Whether there may be a repository directly below the top.
    fn has_nested_repositories(&self) -> bool {
        let Ok(entries) = std::fs::read_dir(&self.repository.root) else {
            return true;
        };
        let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.any(|path| stat_path(&path.join(".hg")).is_ok())
    }

    /// Whether the extension hggit has a git repository for this one, or had one. Then it reads `.gitignore` if there is no
    /// `.hgignore`, and knows git's tags.
    fn exchanges_with_git(&self) -> bool {
        let shared = &self.repository.shared;
        let is_in_tree = self
            .config
            .get("git", "intree")
            .is_some_and(|value| boolean(value) != Some(false));
        let files = ["git", "git-mapfile", "git-tags"].map(|name| shared.join(name));
        let in_tree = is_in_tree.then(|| shared.with_file_name(".git"));
        let mut all = files.into_iter().chain(in_tree);
        all.any(|path| lstat_path(&path).is_ok())
    }

    /// Whether there may be large files, if the extension is on.
    fn may_have_large_files(&self) -> bool {
        // Large files may be left in their own dirstate when their stand-ins are gone.
        let left = LargeFiles::new(self.repository, self.dirstate);
        lstat_path(&self.repository.root.join(STAND_INS)).is_ok()
            || self.dirstate.has_directory(STAND_INS.into())
            || left.dirstate().map_or(true, |left| !left.is_empty())
    }

    /// Returns the large files, if the extension is on.
    pub(super) fn large_files(&self) -> Option<LargeFiles> {
        let is_on = has(self.config, "largefiles");
        is_on.then(|| LargeFiles::new(self.repository, self.dirstate))
    }

    /// Whether copies are given the names of large files, though their stand-ins may be shown.
    pub(super) fn copies_name_large_files(&self) -> bool {
        let config = self.config;
        has(config, "largefiles") || shows_stand_ins(config, &self.repository.requirements)
    }

    /// Checks that it is known what the extension `largefiles` changes in a comparison of `pair`.
    ///
    /// # Errors
    /// It is not, or a changeset is damaged.
    pub(super) fn check_pair(&self, pair: Pair, revisions: &Revisions<'_>) -> Result<(), Abort> {
        if let Pair::Targets(targets) = pair
            && has(self.config, "largefiles")
        {
            if targets == [Target::WorkingCopy; 2] {
                // Mercurial then reads the ignore patterns, whatever is asked.
                let said = "the working copy compared with itself, with the extension 'largefiles'";
                return Err(Abort::unsupported(said));
            }
            let has_working_copy = targets.contains(&Target::WorkingCopy);
            if has_working_copy && self.may_have_large_files() {
                return Err(Abort::unsupported(LARGE_FILES));
            }
            let is_shown = self.shows_large_files && !has_working_copy;
            for target in targets {
                if !is_shown && revisions.manifest(target)?.has_directory(STAND_INS.into()) {
                    return Err(Abort::unsupported(LARGE_FILES));
                }
            }
        }
        Ok(())
    }

    /// Returns a setting with which the extension `lfs` fails, or says something, as soon as a repository is opened.
    fn unsupported_by_lfs(&self) -> Option<BString> {
        let config = self.config;
        let has_prefix = |section, name, prefixes: &[&str]| {
            let value = config.get(section, name).unwrap_or_default();
            prefixes
                .iter()
                .any(|prefix| value.starts_with(prefix.as_bytes()))
        };
        if config.has("lfs", "url") && !has_prefix("lfs", "url", &["http://", "https://", "file:"])
        {
            return Some("the setting lfs.url".into());
        }
        if self.is_verbose && has_prefix("paths", "default", &["http"]) {
            return Some("messages of lfs about its remote store (--verbose)".into());
        }
        let is_number = |value: &[u8]| value.to_str().is_ok_and(|text| text.parse::<i32>().is_ok());
        if config
            .get("lfs", "retry")
            .is_some_and(|value| !is_number(value))
        {
            return Some("the setting lfs.retry".into());
        }
        let switch = config.get("experimental", "lfs.disableusercache");
        if switch.is_some_and(|value| boolean(value).is_none()) {
            return Some("the setting experimental.lfs.disableusercache".into());
        }
        let mut homes = ["XDG_CACHE_HOME", "HOME"].into_iter();
        let is_set = |name: &str| {
            self.process
                .get(name)
                .is_some_and(|value| !value.is_empty())
        };
        if !config.has("lfs", "usercache") && !homes.any(is_set) {
            return Some("lfs without a home directory".into());
        }
        None
    }
}
