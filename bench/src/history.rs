//! Reproducible repositories with a history, for questions about objects and tags.

use std::path::{Path, PathBuf};

use crate::Done;
use crate::corpus::{Random, command, git, git_fed, init, make_once};
use crate::machine::corpora_dir;

/// The version of these corpora. Those kept from another version are made anew.
const VERSION: u32 = 1;
/// The number of files in the tree; each commit changes a few of them.
const FILES: usize = 200;
/// The number of lines in a file.
const LINES: usize = 150;
/// The number of files that a commit changes.
const FILES_PER_COMMIT: usize = 3;

/// The kept repository of `commits` commits, packed, so that most of its objects are deltas.
pub(crate) fn packed(commits: usize) -> Done<PathBuf> {
    let dir = corpora_dir()?.join(format!("history-{commits}"));
    make_once(&dir, &format!("{VERSION} {commits}"), || {
        make(&dir, commits, None)?;
        git(&dir, &["repack", "-q", "-a", "-d", "-f"])
    })?;
    Ok(dir)
}

/// The tags of a repository.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tags {
    /// Annotated tags, each of its own commit, packed.
    Annotated,
    /// The same, each in its own file.
    Loose,
    /// Lightweight tags, each of its own commit, packed.
    Lightweight,
    /// Lightweight tags, all of one commit, packed.
    OfOneCommit,
}

impl Tags {
    /// The first part of the repository's name.
    fn name(self) -> &'static str {
        match self {
            Self::Annotated => "tags",
            Self::Loose => "loose-tags",
            Self::Lightweight => "light-tags",
            Self::OfOneCommit => "one-tags",
        }
    }
}

/// The number of commits after the last one with a tag.
const COMMITS_BEHIND: usize = 20;

/// The kept repository with `tags` tags, the newest of them [`COMMITS_BEHIND`] commits behind `HEAD`.
pub(crate) fn tagged(tags: usize, kind: Tags) -> Done<PathBuf> {
    let dir = corpora_dir()?.join(format!("{}-{tags}", kind.name()));
    make_once(&dir, &format!("{VERSION} {tags}"), || {
        let commits = match kind {
            Tags::Annotated | Tags::Loose => {
                make(&dir, tags + COMMITS_BEHIND, Some(tags))?;
                0
            }
            Tags::Lightweight => tags,
            Tags::OfOneCommit => 1,
        };
        if commits > 0 {
            make(&dir, commits + COMMITS_BEHIND, Some(0))?;
            tag_lightly(&dir, tags, commits)?;
        }
        git(&dir, &["repack", "-q", "-a", "-d"])?;
        match kind {
            Tags::Loose => Ok(()),
            _ => git(&dir, &["pack-refs", "--all"]),
        }
    })?;
    Ok(dir)
}

/// Gives the oldest `commits` commits `tags` lightweight tags, in turn.
fn tag_lightly(dir: &Path, tags: usize, commits: usize) -> Done<()> {
    let listed = command(dir, &["rev-list", "--reverse", "HEAD"]).output()?;
    let ids = String::from_utf8(listed.stdout)?;
    let ids: Vec<&str> = ids.lines().take(commits).collect();
    git_fed(dir, &["update-ref", "--stdin"], |input| {
        for (number, id) in (1..=tags).zip(ids.iter().cycle()) {
            writeln!(input, "create refs/tags/v{number} {id}")?;
        }
        Ok(())
    })
}

/// Makes `dir` a repository of `commits` commits. With `Some(tags)`, which may be 0, there is only one small file, and each of
/// the first `tags` commits has a tag.
fn make(dir: &Path, commits: usize, tags: Option<usize>) -> Done<()> {
    std::fs::create_dir_all(dir)?;
    init(dir)?;
    git_fed(dir, &["fast-import", "--quiet"], |input| {
        let mut random = Random::new(commits as u64);
        let mut files = vec![vec![0; LINES]; FILES];
        for number in 1..=commits {
            let who = format!("Bench <bench@example.org> {} +0000", 1_577_836_800 + number);
            write!(
                input,
                "commit refs/heads/main\nmark :{number}\ncommitter {who}\ndata 7\nCommit\n\n"
            )?;
            let is_small = tags.is_some();
            let changed = if is_small { 1 } else { FILES_PER_COMMIT };
            for _ in 0..changed {
                let at = if is_small { 0 } else { random.below(FILES) };
                let Some(lines) = files.get_mut(at) else {
                    continue;
                };
                let line = random.below(LINES);
                if let Some(line) = lines.get_mut(line) {
                    *line = number;
                }
                let shown = if is_small { 1 } else { LINES };
                let text: String = (0..).zip(lines.iter()).take(shown).map(text_of).collect();
                let len = text.len();
                write!(
                    input,
                    "M 100644 inline dir{}/file{at}\ndata {len}\n{text}\n",
                    at % 10
                )?;
            }
            if tags.is_some_and(|tags| number <= tags) {
                write!(
                    input,
                    "tag v{number}\nfrom :{number}\ntagger {who}\ndata 4\nTag\n\n"
                )?;
            }
        }
        Ok(())
    })?;
    git(dir, &["reset", "-q", "--hard"])
}

fn text_of((place, changed): (usize, &usize)) -> String {
    let mut random = Random::new((place * 1_000_003 + changed) as u64);
    format!("line {place} as of {changed}: {:016x}\n", random.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_have_their_commits_and_tags() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("corpus");
        make(&dir, 12, Some(5)).unwrap();
        let said = |arguments: &[&str]| {
            let output = command(&dir, arguments).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(said(&["rev-list", "--count", "HEAD"]), "12\n");
        assert!(said(&["describe"]).starts_with("v5-7-g"));
        tag_lightly(&dir, 30, 2).unwrap_err();
        let other = root.path().join("other");
        make(&other, 12, Some(0)).unwrap();
        tag_lightly(&other, 30, 2).unwrap();
        let said = |arguments: &[&str]| {
            let output = command(&other, arguments).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(said(&["describe", "--tags"]).starts_with("v10-10-g"));
        assert_eq!(said(&["tag", "--points-at", "HEAD~11"]).lines().count(), 15);
    }
}
