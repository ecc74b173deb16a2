//! Reproducible repositories with a history: what is asked about objects and tags is asked here.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::Done;
use crate::corpus::{Random, command, git, init, keep};
use crate::machine::corpora_dir;

/// A numbering of these corpora: another one makes kept ones void.
const VERSION: u32 = 1;
/// Files of the tree, in which each commit changes a few.
const FILES: usize = 200;
/// Lines of a file.
const LINES: usize = 150;
/// Files that a commit changes.
const FILES_PER_COMMIT: usize = 3;

/// The kept repository of so many commits, packed, most of whose objects are deltas.
pub(crate) fn packed(commits: usize) -> Done<PathBuf> {
    let dir = corpora_dir()?.join(format!("history-{commits}"));
    keep(&dir, &format!("{VERSION} {commits}"), || {
        make(&dir, commits, 0)?;
        git(&dir, &["repack", "-q", "-a", "-d", "-f"])
    })?;
    Ok(dir)
}

/// The kept repository with so many annotated tags, the newest some commits behind `HEAD`; each of them in a file of its
/// own, unless they are packed.
pub(crate) fn tagged(tags: usize, are_packed: bool) -> Done<PathBuf> {
    let kind = if are_packed { "" } else { "loose-" };
    let dir = corpora_dir()?.join(format!("{kind}tags-{tags}"));
    keep(&dir, &format!("{VERSION} {tags}"), || {
        make(&dir, tags + 20, tags)?;
        git(&dir, &["repack", "-q", "-a", "-d"])?;
        match are_packed {
            true => git(&dir, &["pack-refs", "--all"]),
            false => Ok(()),
        }
    })?;
    Ok(dir)
}

/// Makes `dir` a repository of so many commits, the first ones of which have a tag each.
fn make(dir: &Path, commits: usize, tags: usize) -> Done<()> {
    std::fs::create_dir_all(dir)?;
    init(dir)?;
    let mut import = command(dir, &["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()?;
    {
        let input = import.stdin.take().ok_or("fast-import has no input")?;
        let mut input = BufWriter::new(input);
        let mut random = Random::new(commits as u64);
        let mut files = vec![vec![0; LINES]; FILES];
        for number in 1..=commits {
            let who = format!("Bench <bench@example.org> {} +0000", 1_577_836_800 + number);
            write!(
                input,
                "commit refs/heads/main\nmark :{number}\ncommitter {who}\ndata 7\nCommit\n\n"
            )?;
            // Histories of tags alone have one small file.
            let changed = if tags > 0 { 1 } else { FILES_PER_COMMIT };
            for _ in 0..changed {
                let at = if tags > 0 { 0 } else { random.below(FILES) };
                let Some(lines) = files.get_mut(at) else {
                    continue;
                };
                let line = random.below(LINES);
                if let Some(line) = lines.get_mut(line) {
                    *line = number;
                }
                let shown = if tags > 0 { 1 } else { LINES };
                let text: String = (0..).zip(lines.iter()).take(shown).map(text_of).collect();
                let len = text.len();
                write!(
                    input,
                    "M 100644 inline dir{}/file{at}\ndata {len}\n{text}\n",
                    at % 10
                )?;
            }
            if number <= tags {
                write!(
                    input,
                    "tag v{number}\nfrom :{number}\ntagger {who}\ndata 4\nTag\n\n"
                )?;
            }
        }
        input.flush()?;
    }
    if !import.wait()?.success() {
        return Err("git fast-import failed".into());
    }
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
        make(&dir, 12, 5).unwrap();
        let said = |arguments: &[&str]| {
            let output = command(&dir, arguments).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(said(&["rev-list", "--count", "HEAD"]), "12\n");
        assert!(said(&["describe"]).starts_with("v5-7-g"));
    }
}
