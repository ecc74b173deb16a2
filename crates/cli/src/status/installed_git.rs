//! What the long format gets from the installed git: patches, and the commits of submodules.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

use bstr::{BString, ByteSlice};
use vigil_engine::session::Session;
use vigil_engine::status::Status;
use vigil_git::environment::Environment;
use vigil_git::repository::Repository;
use vigil_linux::errno;
use vigil_model::ObjectId;
use vigil_model::raw_text::text_bytes;
use vigil_model::request::RenameRule;

use crate::output::long::presentation::{Additions, Patches, SubmoduleCommits};
use crate::output::long::{Summary, unstaged_kinds};
use crate::reply::{Reply, labelled};

/// What the installed git is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GitRequest {
    /// How often `--verbose` was given.
    pub(super) verbosity: usize,
    /// How many commits are listed for each submodule: -1 for all, 0 for no list at all.
    pub(super) submodule_commits: i32,
    /// How patches look for renames.
    pub(super) renames: Option<RenameRule>,
    /// Patches are coloured.
    pub(super) colors: bool,
}

/// Adds those lines of `said` that are new: git may have the same complaints about objects. Lines of one hint may be the same.
fn add_new(complaints: &mut Vec<u8>, said: &[u8]) {
    let before = complaints.len();
    for line in said.lines_with_terminator() {
        let known = match line.starts_with(b"hint:") {
            true => complaints.get(..before).unwrap_or_default(),
            false => complaints.as_slice(),
        };
        if !known.lines_with_terminator().any(|known| known == line) {
            complaints.extend_from_slice(line);
        }
    }
}

impl GitRequest {
    /// Returns whether git is not needed at all.
    pub(super) fn is_nothing(&self) -> bool {
        self.verbosity == 0 && self.submodule_commits == 0
    }

    /// Asks git, and appends what it writes to standard error to `complaints`. Failing to get the summary of submodules is only
    /// another complaint.
    ///
    /// # Errors
    /// Patches are wanted, and git cannot be run.
    pub(super) fn get(
        &self,
        session: &Session,
        status: &Status,
        complaints: &mut Vec<u8>,
    ) -> Result<Additions, Reply> {
        let repository = session.repository();
        let git = Git {
            repository,
            warnings: &session.settings().warnings,
            environment: repository.environment.clone(),
        };
        let mut additions = Additions::default();
        if self.submodule_commits != 0 {
            for is_staged in [true, false] {
                let limit = self.submodule_commits.to_string();
                let mut arguments = vec!["submodule", "summary"];
                arguments.push(if is_staged { "--cached" } else { "--files" });
                arguments.extend(["--for-status", "--summary-limit", &limit]);
                arguments.extend(is_staged.then_some("HEAD"));
                match git.run(&arguments) {
                    Ok(said) => {
                        complaints.extend(said.complaints);
                        let text = said.text;
                        additions
                            .submodules
                            .push(SubmoduleCommits { is_staged, text });
                    }
                    Err(error) => {
                        let text = format!(
                            "cannot run git for the summary of submodules: {}",
                            errno::text_of(&error)
                        );
                        complaints.extend(labelled("error: ", text.as_bytes()));
                        break;
                    }
                }
            }
        }
        if self.verbosity > 0 {
            let patches = self.patches(&git, status, complaints).map_err(|error| {
                Reply::fatal(format!(
                    "cannot run git for the patches of --verbose: {}",
                    errno::text_of(&error)
                ))
            })?;
            additions.patches = Some(patches);
        }
        Ok(additions)
    }

    fn patches(
        &self,
        git: &Git<'_>,
        status: &Status,
        complaints: &mut Vec<u8>,
    ) -> std::io::Result<Patches> {
        let rules = status.long.as_ref().map(|long| long.patches.clone());
        let rules = rules.unwrap_or_default();
        let summary = Summary::of(status);
        let has_both = self.verbosity > 1;
        let has_header =
            has_both && summary.is_committable && !(summary.is_initial && rules.has_bad_history);
        let staged = has_header.then_some(["--src-prefix=c/", "--dst-prefix=i/"]);
        let unstaged = ["--src-prefix=i/", "--dst-prefix=w/"];
        // Before the first commit git's status names the empty tree, so name it too: git reads more for a tree that is named.
        let empty_tree = ObjectId::empty_tree(git.repository.hash).to_string();
        let mut what = vec!["--cached"];
        what.extend(summary.is_initial.then_some(empty_tree.as_str()));
        let mut configuration = rules.staged_configuration.clone();
        // Before the first commit, nothing else needs the history.
        if !summary.is_initial {
            configuration.push(without_advice());
        }
        let staged = self.diff(
            &git.configured(&configuration),
            &what,
            staged.unwrap_or_default(),
            &Paths::without(&rules.staged_without),
        )?;
        add_new(complaints, &staged.complaints);
        let mut patches = Patches {
            has_header,
            staged: staged.text,
            unstaged: None,
            code: staged.code,
        };
        // If there are only conflicts, git shows no patches of the working tree.
        let has_unstaged = unstaged_kinds(status).next().is_some();
        if has_both && has_unstaged && staged.code == 0 {
            // In conflicts our side is compared: git's status does not print combined diffs.
            let mut configuration = rules.configuration.clone();
            configuration.push(without_advice());
            let git = git.configured(&configuration);
            // git's status has forgotten the order file (`diff.orderFile`) when it comes to these patches.
            let what = ["--ours", "-O/dev/null"];
            let paths = match &rules.unstaged_only {
                Some(only) if fit_on_a_command_line(only) => Paths::only(only),
                _ => Paths::without(&rules.unstaged_without),
            };
            let unstaged = self.diff(&git, &what, unstaged, &paths)?;
            add_new(complaints, &unstaged.complaints);
            patches.unstaged = Some(unstaged.text);
            patches.code = unstaged.code;
        }
        Ok(patches)
    }

    fn diff(
        &self,
        git: &Git<'_>,
        what: &[&str],
        prefixes: [&str; 2],
        paths: &Paths,
    ) -> std::io::Result<GitOutput> {
        let renames = match self.renames {
            None => ["--no-renames".to_owned(), "-l0".to_owned()],
            Some(rule) => {
                let letter = if rule.copies { "C" } else { "M" };
                // Five digits after the point distinguish all scores.
                let score = u64::from(rule.min_score) * 100_000;
                let score = score.div_ceil(60_000).min(99_999);
                [format!("-{letter}{score:05}"), format!("-l{}", rule.limit)]
            }
        };
        let color = if self.colors { "always" } else { "never" };
        let color = format!("--color={color}");
        // Otherwise git would write the index, and omit files whose contents are as recorded.
        let mut arguments = vec!["--no-pager", "-c", "diff.autoRefreshIndex=false"];
        // If copies were configured, asking for copies would mean among all files.
        arguments.extend(["-c", "diff.renames=true"]);
        arguments.push("diff");
        arguments.extend(what);
        arguments.extend(["--no-ext-diff", "--no-relative"]);
        arguments.extend(["--ita-invisible-in-index", &color]);
        arguments.extend(renames.iter().map(String::as_str));
        arguments.extend(prefixes.into_iter().filter(|prefix| !prefix.is_empty()));
        let mut arguments: Vec<&OsStr> = arguments.into_iter().map(OsStr::new).collect();
        if !paths.pathspecs.is_empty() {
            arguments.push(OsStr::new("--"));
            arguments.extend(paths.pathspecs.iter().map(|path| OsStr::from_bytes(path)));
        }
        let mut said = git.run_in_english(&arguments)?;
        // Unlike `git diff`, status does not report that rename detection was skipped. Complaints about the configuration were
        // printed before.
        let said_before = git.repository.config.messages().iter();
        let said_before = said_before.chain(git.warnings).map(|said| text_bytes(said));
        let said_before = said_before.flat_map(|said| {
            let lines = said.split_str("\n").map(BString::from);
            lines.collect::<Vec<_>>()
        });
        let said_before: Vec<BString> = said_before.collect();
        let complaints = said.complaints.lines_with_terminator().filter(|line| {
            !RENAME_LIMIT_WARNINGS
                .iter()
                .any(|start| line.starts_with(start))
                && !said_before
                    .iter()
                    .any(|said| *said == line.trim_end_with(|letter| letter == '\n'))
        });
        said.complaints = complaints.collect::<Vec<_>>().concat();
        Ok(said)
    }
}

/// Which paths `git diff` compares.
struct Paths {
    /// All paths if there are none.
    pathspecs: Vec<BString>,
}

impl Paths {
    fn only(paths: &[BString]) -> Self {
        let pathspecs = paths.iter().map(|path| pathspec(":(top,literal)", path));
        let pathspecs = pathspecs.collect();
        Self { pathspecs }
    }

    fn without(paths: &[BString]) -> Self {
        let mut pathspecs = Vec::new();
        if !paths.is_empty() {
            pathspecs.push(":/".into());
        }
        let left_out = paths.iter();
        pathspecs.extend(left_out.map(|path| pathspec(":(top,exclude,literal)", path)));
        Self { pathspecs }
    }
}

fn pathspec(magic: &str, path: &BString) -> BString {
    [magic.as_bytes(), path.as_slice()].concat().into()
}

/// Whether there are paths, and they leave most of the smallest command line that Linux grants to other arguments and to variables:
/// it has 128 KiB.
fn fit_on_a_command_line(paths: &[BString]) -> bool {
    // Each comes with its magic and a pointer.
    let len: usize = paths.iter().map(|path| path.len() + 24).sum();
    !paths.is_empty() && len <= 48 << 10
}

/// The configuration without the advice against grafts, for when it has already been given.
fn without_advice() -> (BString, BString) {
    ("advice.graftFileDeprecated".into(), "false".into())
}

/// The beginnings of the warnings of `git diff` that there are too many files for rename detection.
const RENAME_LIMIT_WARNINGS: [&[u8]; 3] = [
    b"warning: exhaustive rename detection was skipped due to too many files",
    b"warning: only found copies from modified paths due to too many files",
    b"warning: you may want to set your diff.renameLimit variable to",
];

/// The variables that change the meaning of pathspecs (git(1)).
const PATHSPEC_VARIABLES: [&str; 4] = [
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// The output of git.
struct GitOutput {
    text: Vec<u8>,
    /// What it wrote to standard error.
    complaints: Vec<u8>,
    code: u8,
}

impl From<Output> for GitOutput {
    fn from(output: Output) -> Self {
        Self {
            text: output.stdout,
            complaints: output.stderr,
            code: code_of(output.status),
        }
    }
}

/// The installed git, for one repository.
struct Git<'a> {
    repository: &'a Repository,
    /// What has been said about the configuration of this command.
    warnings: &'a [String],
    environment: Environment,
}

impl Git<'_> {
    /// Returns the same with additional configuration, which overrides all other.
    fn configured(&self, configuration: &[(BString, BString)]) -> Self {
        let mut environment = self.environment.clone();
        for (name, value) in configuration {
            environment.push_config_pair(name, Some(value));
        }
        Self {
            repository: self.repository,
            warnings: self.warnings,
            environment,
        }
    }

    /// Runs git with `arguments` and returns its output.
    fn run(&self, arguments: &[impl AsRef<OsStr>]) -> std::io::Result<GitOutput> {
        self.command(arguments).output().map(GitOutput::from)
    }

    /// As [`Self::run`], with messages in English and pathspecs in their usual meaning.
    fn run_in_english(&self, arguments: &[impl AsRef<OsStr>]) -> std::io::Result<GitOutput> {
        let mut command = self.command(arguments);
        command.env("LANGUAGE", "en");
        for name in PATHSPEC_VARIABLES {
            command.env_remove(name);
        }
        command.output().map(GitOutput::from)
    }

    /// The command for git with `arguments`, in this process's working directory, which is the top of the working tree.
    fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let repository = self.repository;
        let environment = &self.environment;
        let mut command = Command::new("git");
        command.env_clear().args(arguments).stdin(Stdio::null());
        for (name, value) in environment.variables() {
            command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
        }
        // git would not find the repository from the top of a working tree that is elsewhere.
        let top = repository.work_tree.as_ref();
        if top.is_some_and(|top| repository.git_dir != top.join(".git")) {
            command.env("GIT_DIR", &repository.git_dir);
        }
        // Replace these variables: relative paths in them are meant from another directory.
        let places: [(&str, Option<&Path>); 5] = [
            ("GIT_DIR", Some(&repository.git_dir)),
            ("GIT_WORK_TREE", repository.work_tree.as_deref()),
            ("GIT_INDEX_FILE", Some(&repository.index_path)),
            ("GIT_COMMON_DIR", Some(&repository.common_dir)),
            ("GIT_OBJECT_DIRECTORY", Some(&repository.object_dir)),
        ];
        for (name, place) in places {
            if let Some(place) = place.filter(|_| environment.get(name).is_some()) {
                command.env(name, place);
            }
        }
        command
    }
}

/// The exit code, or that of a fatal error if there is none.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().map(u8::try_from);
    code.and_then(Result::ok).unwrap_or(Reply::FATAL)
}
