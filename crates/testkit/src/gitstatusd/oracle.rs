//! The expected response of gitstatusd, according to git.
//!
//! Where gitstatusd is known to be wrong (submodules that are dirty inside, racy entries, sparse indexes), git's answer
//! counts.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use bstr::{BStr, BString, ByteSlice};

use super::ORACLE_LIMIT;
use crate::broken_index;
use crate::process::{self, Ending, Outcome};
use crate::sandbox::{Sandbox, SandboxError, while_doing};
use crate::scenario::ServerOptions;

/// The maximum length of a commit's summary in a response, in bytes.
const SUMMARY_MAX: usize = 256;

/// The right answers for each field. If there are none, any answer is accepted.
pub type AcceptedFields = Vec<Vec<Vec<u8>>>;

/// The expected response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The directory is not in a repository with a working tree.
    NoRepository,
    /// These fields, from the third on.
    Fields(AcceptedFields),
    /// git itself cannot answer, so there is nothing to compare with.
    Unknown,
}

/// git's answers, by the git directory and the top of the working tree.
pub type GitAnswers = BTreeMap<(Option<Vec<u8>>, Vec<u8>), Expected>;

/// Runs git in one directory.
struct GitRunner<'a> {
    git: &'a dyn Fn() -> Command,
}

impl GitRunner<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = (self.git)();
        command.envs(Sandbox::reading_variables()).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Result<Outcome, SandboxError> {
        let run = || {
            process::run(&mut self.command(arguments), None, ORACLE_LIMIT)
                .map_err(while_doing("starting git"))
        };
        // A timeout may be due to a machine that stood still.
        match run()? {
            outcome if outcome.ending == Ending::TimedOut => run(),
            outcome => Ok(outcome),
        }
    }

    /// The output without the final newline. `None` if git fails.
    fn line(&self, arguments: &[&str]) -> Result<Option<Vec<u8>>, SandboxError> {
        let outcome = self.run(arguments)?;
        let text = outcome
            .stdout
            .strip_suffix(b"\n")
            .unwrap_or(&outcome.stdout)
            .to_vec();
        Ok(outcome.success().then_some(text))
    }
}

/// All settings, as git reads them. Of several values, the last counts.
#[derive(Default)]
struct Settings(BTreeMap<BString, BString>);

impl Settings {
    /// Parses the output of `git config --list -z`.
    fn parse(list: &[u8]) -> Self {
        let entries = list.split_str(b"\0").filter(|entry| !entry.is_empty());
        // A name without a value means "true".
        let pairs = entries.map(|entry| entry.split_once_str("\n").unwrap_or((entry, b"true")));
        Self(
            pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }

    /// The value of `section.subsection.name`, with section and name in lower case.
    fn get(&self, section: &str, subsection: &[u8], name: &str) -> Option<&[u8]> {
        let key = [section.as_bytes(), b".", subsection, b".", name.as_bytes()].concat();
        self.0.get(BStr::new(&key)).map(|value| value.as_slice())
    }

    /// Whether a boolean setting is present and false. Its name is in lower case.
    fn is_off(&self, name: &str) -> bool {
        let is_false = |value: &BString| {
            let no = ["", "false", "no", "off", "0"];
            no.iter()
                .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        };
        self.0.get(BStr::new(name)).is_some_and(is_false)
    }
}

/// The counts that come from `git status`.
#[derive(Default)]
struct Counts {
    staged: usize,
    staged_new: usize,
    staged_deleted: usize,
    unstaged: usize,
    unstaged_deleted: usize,
    conflicted: usize,
    untracked: usize,
    stashes: BString,
    ahead_behind: Option<(BString, BString)>,
}

impl Counts {
    fn parse(status: &[u8]) -> Self {
        let mut counts = Self {
            stashes: "0".into(),
            ..Self::default()
        };
        for record in status.split_str(b"\0") {
            match record {
                [b'1', _, staged, unstaged, ..] => {
                    counts.staged += usize::from(*staged != b'.');
                    counts.staged_new += usize::from(*staged == b'A');
                    counts.staged_deleted += usize::from(*staged == b'D');
                    counts.unstaged += usize::from(*unstaged != b'.');
                    counts.unstaged_deleted += usize::from(*unstaged == b'D');
                }
                [b'u', ..] => counts.conflicted += 1,
                [b'?', ..] => counts.untracked += 1,
                _ => counts.parse_header(record),
            }
        }
        counts
    }

    fn parse_header(&mut self, record: &[u8]) {
        if let Some(count) = record.strip_prefix(b"# stash ") {
            self.stashes = count.into();
        }
        if let Some((ahead, behind)) = record
            .strip_prefix(b"# branch.ab +")
            .and_then(|rest| rest.split_once_str(" -"))
        {
            self.ahead_behind = Some((ahead.into(), behind.into()));
        }
    }
}

/// git's answers about the directory in which the commands that `git` creates run.
///
/// # Errors
/// git cannot be started.
pub fn expected_response(
    git: &dyn Fn() -> Command,
    options: ServerOptions,
) -> Result<Expected, SandboxError> {
    cached_response(git, options, &mut GitAnswers::new())
}

/// Same as [`expected_response`], but reuses `known` answers, which hold as long as nothing changes.
///
/// # Errors
/// git cannot be started.
pub fn cached_response(
    git: &dyn Fn() -> Command,
    options: ServerOptions,
    known: &mut GitAnswers,
) -> Result<Expected, SandboxError> {
    let git = GitRunner { git };
    let Some(workdir) = git.line(&["rev-parse", "--show-toplevel"])? else {
        return Ok(match git.line(&["rev-parse", "--git-dir"])? {
            None => Expected::NoRepository,
            // In a git directory or a bare repository, programs differ in their answers.
            Some(_) => Expected::Unknown,
        });
    };
    // Two repositories may name the same working tree.
    let repository = (git.line(&["rev-parse", "--absolute-git-dir"])?, workdir);
    if let Some(expected) = known.get(&repository) {
        return Ok(expected.clone());
    }
    let expected = response_in(&git, &repository.1, options)?;
    known.insert(repository, expected.clone());
    Ok(expected)
}

/// git's answers about the working tree `workdir`.
fn response_in(
    git: &GitRunner<'_>,
    workdir: &[u8],
    options: ServerOptions,
) -> Result<Expected, SandboxError> {
    let settings = Settings::parse(&git.run(&["config", "--list", "-z"])?.stdout);
    let Some(counts) = counts(git, &settings, options)? else {
        return Ok(Expected::Unknown);
    };
    let text = |bytes: &[u8]| vec![printable(bytes)];
    let number = |count: usize| vec![count.to_string().into_bytes()];
    let commit = git
        .line(&["rev-parse", "--verify", "-q", "HEAD"])?
        .unwrap_or_default();
    let head = git
        .line(&["symbolic-ref", "-q", "HEAD"])?
        .unwrap_or_default();
    let branch = head
        .strip_prefix(b"refs/heads/")
        .unwrap_or_default()
        .to_vec();
    let is_unborn = commit.is_empty();
    let upstream = upstream(git, &settings, &branch, is_unborn)?;
    let push = push_remote(git, &settings, &branch)?;
    let (ahead, behind) = match (&counts.ahead_behind, &upstream) {
        (Some((ahead, behind)), Some(_)) => (ahead.to_vec(), behind.to_vec()),
        _ => (b"0".to_vec(), b"0".to_vec()),
    };
    let Some(IndexFacts {
        size,
        skipped,
        assumed,
    }) = index_facts(git, &settings)?
    else {
        return Ok(Expected::Unknown);
    };
    // If changes are not counted, these bits are not counted either.
    let (skipped, assumed) = if settings.is_off("bash.showdirtystate") {
        (number(0), number(0))
    } else {
        (skipped, assumed)
    };
    let tag = if is_unborn {
        Vec::new()
    } else {
        last_tag(git)?
    };
    let (encoding, summary) = message(git)?;
    let upstream = upstream.as_ref().map(|parts| parts.as_slice());
    let upstream_field = |index| remote_field(upstream, index, is_unborn, b"");
    let push = push.as_ref().map(|parts| parts.as_slice());
    let push_field = |index| {
        let absent: &[u8] = if index < 2 { b"" } else { b"0" };
        remote_field(push, index, is_unborn, absent)
    };
    Ok(Expected::Fields(vec![
        text(workdir),
        text(&commit),
        text(&branch),
        upstream_field(0),
        upstream_field(1),
        upstream_field(2),
        text(&action(git)?),
        size,
        number(counts.staged),
        number(counts.unstaged),
        number(counts.conflicted),
        number(counts.untracked),
        vec![ahead],
        vec![behind],
        text(&counts.stashes),
        text(&tag),
        number(counts.unstaged_deleted),
        number(counts.staged_new),
        number(counts.staged_deleted),
        push_field(0),
        push_field(1),
        push_field(2),
        push_field(3),
        skipped,
        assumed,
        text(&encoding),
        text(&summary),
    ]))
}

/// Counts what git's status lists; `None` if git cannot answer.
fn counts(
    git: &GitRunner<'_>,
    settings: &Settings,
    options: ServerOptions,
) -> Result<Option<Counts>, SandboxError> {
    let is_off = |key| settings.is_off(key);
    let untracked = match options.recurse {
        // Untracked files in submodules do not count either.
        _ if is_off("status.showuntrackedfiles") || is_off("bash.showuntrackedfiles") => "-uno",
        true => "-uall",
        false => "-unormal",
    };
    let status = [
        "status",
        "--porcelain=v2",
        "--branch",
        "--show-stash",
        "--ahead-behind",
        "--no-renames",
        "-z",
        untracked,
    ];
    let status = git.run(&status)?;
    if !status.success() {
        return Ok(None);
    }
    let mut counts = Counts::parse(&status.stdout);
    if is_off("bash.showdirtystate") {
        counts = Counts {
            stashes: counts.stashes,
            ahead_behind: counts.ahead_behind,
            untracked: counts.untracked,
            ..Counts::default()
        };
    }
    Ok(Some(counts))
}

/// The right answers for the field `index` of a remote, whose fields are `parts`. It is `absent` without a remote.
fn remote_field(
    parts: Option<&[Vec<u8>]>,
    index: usize,
    is_unborn: bool,
    absent: &[u8],
) -> Vec<Vec<u8>> {
    match parts {
        // For a branch without commits, gitstatusd reports no remote; git does. Both are accepted.
        _ if is_unborn => Vec::new(),
        None => vec![absent.to_vec()],
        Some(parts) => parts
            .get(index)
            .map(|part| vec![printable(part)])
            .unwrap_or_default(),
    }
}

/// Replaces unprintable ASCII characters with `?`.
fn printable(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .map(|byte| {
            if *byte < b' ' || *byte == 0x7f {
                b'?'
            } else {
                *byte
            }
        })
        .collect()
}

/// The branch, name and URL of the upstream's remote, if its reference exists.
fn upstream(
    git: &GitRunner<'_>,
    settings: &Settings,
    branch: &[u8],
    is_unborn: bool,
) -> Result<Option<[Vec<u8>; 3]>, SandboxError> {
    if branch.is_empty() || is_unborn {
        return Ok(None);
    }
    let Some(name) = settings.get("branch", branch, "remote") else {
        return Ok(None);
    };
    let Some(full) = git.line(&["rev-parse", "--symbolic-full-name", "@{upstream}"])? else {
        return Ok(None);
    };
    let branch = full
        .strip_prefix(b"refs/heads/")
        .or_else(|| {
            full.strip_prefix(b"refs/remotes/")?
                .strip_prefix(name)?
                .strip_prefix(b"/")
        })
        .unwrap_or_default()
        .to_vec();
    Ok(Some([branch, name.to_vec(), remote_url(settings, name)]))
}

/// The configured URL of a remote. Empty for the repository itself.
fn remote_url(settings: &Settings, name: &[u8]) -> Vec<u8> {
    settings
        .get("remote", name, "url")
        .unwrap_or_default()
        .to_vec()
}

/// The name and URL of the configured push remote, and the distance to its branch of the same name, if that exists.
fn push_remote(
    git: &GitRunner<'_>,
    settings: &Settings,
    branch: &[u8],
) -> Result<Option<[Vec<u8>; 4]>, SandboxError> {
    let default = settings
        .0
        .get(BStr::new("remote.pushdefault"))
        .map(|value| value.as_slice());
    let name = match settings.get("branch", branch, "pushremote").or(default) {
        // A remote that fetches nothing has no remote-tracking branch for what is pushed.
        Some(name) if !branch.is_empty() && settings.get("remote", name, "fetch").is_some() => name,
        _ => return Ok(None),
    };
    let reference = format!(
        "refs/remotes/{}/{}",
        name.to_str_lossy(),
        branch.to_str_lossy()
    );
    let count = |range: String| git.line(&["rev-list", "--count", &range, "--"]);
    let (Some(ahead), Some(behind)) = (
        count(format!("{reference}..HEAD"))?,
        count(format!("HEAD..{reference}"))?,
    ) else {
        return Ok(None);
    };
    Ok(Some([
        name.to_vec(),
        remote_url(settings, name),
        ahead,
        behind,
    ]))
}

/// The accepted counts for the index.
struct IndexFacts {
    /// Entries.
    size: Vec<Vec<u8>>,
    /// Skip-worktree bits.
    skipped: Vec<Vec<u8>>,
    /// Assume-unchanged bits.
    assumed: Vec<Vec<u8>>,
}

/// Counts the index's entries and their bits. `None` if git lists entries that do not exist: past the end of a truncated
/// index, and nameless ones of a split index whose shared part it does not look for (`index.skipHash`). Also `None` for a
/// path that is both merged and in conflict, whose count is undefined, and for a sparse index that git misreads.
///
/// The bits are those written in the index, as gitstatusd counts them; git itself drops some on reading, for files that exist
/// although a sparse checkout leaves them out. Files that a sparse index stores as directories may be counted as files, as
/// directories, or as files where their directory exists.
fn index_facts(
    git: &GitRunner<'_>,
    settings: &Settings,
) -> Result<Option<IndexFacts>, SandboxError> {
    let as_written = "sparse.expectFilesOutsideOfPatterns=true";
    // The listing omits deeper entries, but the index contains them.
    let deep = "core.maxTreeDepth=4096";
    let listing = ["-c", as_written, "-c", deep, "ls-files"];
    let all = [
        [&listing[..], &["-v", "-s", "-z", ":/"]].concat(),
        [&listing[..], &["--sparse", "-v", "-s", "-z", ":/"]].concat(),
    ];
    let is_sparse = settings.0.contains_key(BStr::new("core.sparsecheckout"));
    if is_sparse && broken_index::is_misread_by(&|arguments| git.command(arguments).output().ok()) {
        return Ok(None);
    }
    let mut ranges: Option<[(usize, usize); 3]> = None;
    for arguments in all.into_iter().take(if is_sparse { 2 } else { 1 }) {
        let outcome = git.run(&arguments)?;
        let mut counts = [0, 0, 0];
        let mut merged: Option<&[u8]> = None;
        for entry in outcome.stdout.split_str(b"\0") {
            let Some((tag, rest)) = entry.split_first() else {
                continue;
            };
            if rest.starts_with(b" 000000 ") || rest.ends_with(b"\t./") {
                return Ok(None);
            }
            if let Some((facts, path)) = rest.split_once_str(b"\t") {
                let is_merged = facts.ends_with(b" 0");
                if !is_merged && merged == Some(path) {
                    return Ok(None);
                }
                merged = is_merged.then_some(path);
            }
            let [size, skipped, assumed] = &mut counts;
            *size += 1;
            *skipped += usize::from(tag.eq_ignore_ascii_case(&b'S'));
            *assumed += usize::from(tag.is_ascii_lowercase());
        }
        let known = ranges.get_or_insert_with(|| counts.map(|count| (count, count)));
        for ((low, high), count) in known.iter_mut().zip(counts) {
            *low = count.min(*low);
            *high = count.max(*high);
        }
    }
    let mut ranges = ranges.unwrap_or_default();
    if is_sparse
        && let [(size, _), (skipped, _), _] = &mut ranges
        && let Some(written) = sparse_index_size(git)?
    {
        // With patterns that a sparse index does not support, git expands it before listing it.
        let expanded = size.saturating_sub(written);
        *size = written.min(*size);
        *skipped = skipped.saturating_sub(expanded);
    }
    let [size, skipped, assumed] = ranges.map(|(low, high)| {
        let numbers = low..=high;
        numbers
            .map(|count| count.to_string().into_bytes())
            .collect()
    });
    Ok(Some(IndexFacts {
        size,
        skipped,
        assumed,
    }))
}

/// The number of entries in the file of a sparse index (gitformat-index(5)). `None` for any other index.
fn sparse_index_size(git: &GitRunner<'_>) -> Result<Option<usize>, SandboxError> {
    let path = git
        .line(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?
        .unwrap_or_default();
    let index = std::fs::read(path.to_path_lossy()).unwrap_or_default();
    let size = index.get(8..12).and_then(|bytes| bytes.try_into().ok());
    Ok(size
        .filter(|_| index.contains_str("sdir"))
        .map(|size| u32::from_be_bytes(size) as usize))
}

/// The last tag of HEAD in byte order.
fn last_tag(git: &GitRunner<'_>) -> Result<Vec<u8>, SandboxError> {
    let tags = git
        .line(&["tag", "--points-at", "HEAD"])?
        .unwrap_or_default();
    Ok(tags.lines().max().unwrap_or_default().to_vec())
}

/// The encoding and the summary of HEAD's message, as the commit has them.
fn message(git: &GitRunner<'_>) -> Result<(Vec<u8>, Vec<u8>), SandboxError> {
    let commit = git.run(&["cat-file", "commit", "HEAD"])?;
    if !commit.success() {
        return Ok(Default::default());
    }
    let (header, body) = commit
        .stdout
        .split_once_str("\n\n")
        .unwrap_or((&commit.stdout, b""));
    let encoding = header
        .lines()
        .find_map(|line| line.strip_prefix(b"encoding "))
        .unwrap_or_default();
    Ok((encoding.to_vec(), summary(body)))
}

/// The first paragraph as one line: a run of white space that contains a newline becomes one space, others stay.
fn summary(body: &[u8]) -> Vec<u8> {
    let body = body.trim_start_with(|character| character == '\n');
    let paragraph = body.split_once_str("\n\n").map_or(body, |(first, _)| first);
    let mut out = Vec::new();
    let mut space = Vec::new();
    for byte in paragraph {
        if byte.is_ascii_whitespace() || *byte == 0x0b {
            space.push(*byte);
            continue;
        }
        if space.contains(&b'\n') {
            out.push(b' ');
        } else {
            out.extend_from_slice(&space);
        }
        space.clear();
        out.push(*byte);
    }
    out.truncate(SUMMARY_MAX);
    out
}

/// The operation in progress, in libgit2's words and order, with the step and the number of steps.
fn action(git: &GitRunner<'_>) -> Result<Vec<u8>, SandboxError> {
    let directory = git
        .line(&["rev-parse", "--absolute-git-dir"])?
        .unwrap_or_default();
    let directory = Path::new(std::ffi::OsStr::new("")).join(directory.to_path_lossy());
    let has = |name: &str| directory.join(name).exists();
    // With reftable, these two are not files.
    let is_table = has("reftable");
    let has_reference = |name: &str| {
        if is_table {
            Ok(git.line(&["rev-parse", "-q", "--verify", name])?.is_some())
        } else {
            Ok::<_, SandboxError>(has(name))
        }
    };
    let sequence =
        |one: &'static str, many: &'static str| if has("sequencer/todo") { many } else { one };
    let name = if has("rebase-merge/interactive") {
        "rebase-i"
    } else if has("rebase-merge") {
        "rebase-m"
    } else if has("rebase-apply/rebasing") {
        "rebase"
    } else if has("rebase-apply/applying") {
        "am"
    } else if has("rebase-apply") {
        "am/rebase"
    } else if has("MERGE_HEAD") {
        "merge"
    } else if has_reference("REVERT_HEAD")? {
        sequence("revert", "revert-seq")
    } else if has_reference("CHERRY_PICK_HEAD")? {
        sequence("cherry", "cherry-seq")
    } else if has("BISECT_LOG") {
        "bisect"
    } else {
        ""
    };
    let word = |name: &str| {
        let text = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        text.split_ascii_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let (next, last) = if has("rebase-merge") {
        (word("rebase-merge/msgnum"), word("rebase-merge/end"))
    } else if has("rebase-apply") {
        (word("rebase-apply/next"), word("rebase-apply/last"))
    } else {
        Default::default()
    };
    let mut out = name.as_bytes().to_vec();
    if !next.is_empty() && !last.is_empty() {
        out.extend_from_slice(format!(" {next}/{last}").as_bytes());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_the_first_paragraph_on_one_line() {
        assert_eq!(summary(b"\n\na  b \n c\nd\n\nrest").as_bstr(), "a  b c d");
        assert_eq!(summary(&[b'x'; 300]).len(), SUMMARY_MAX);
        assert!(summary(b"").is_empty());
    }

    #[test]
    fn conflicts_are_neither_staged_nor_unstaged() {
        let counts = Counts::parse(
            b"# branch.ab +2 -3\0# stash 4\x001 A. N... x\x001 .D N... y\x001 MM x\0u UU N... z\0? u\0",
        );
        assert_eq!(
            (counts.staged, counts.staged_new, counts.staged_deleted),
            (2, 1, 0)
        );
        assert_eq!((counts.unstaged, counts.unstaged_deleted), (2, 1));
        assert_eq!((counts.conflicted, counts.untracked), (1, 1));
        assert_eq!(counts.ahead_behind, Some(("2".into(), "3".into())));
        assert_eq!(counts.stashes, "4");
    }
}
