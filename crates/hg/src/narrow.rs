//! Which part of a repository a narrow clone has: `.hg/store/narrowspec`, of which the working copy keeps its own copy.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use bstr::{BString, ByteSlice};

use crate::abort::{Abort, Kind};
use crate::bytes::{bytes, join, normal_path};
use crate::patterns::{Matcher, MatcherQuestion, Nearest, Portion};
use crate::portion_file::{self, PortionFile};
use crate::repository::Repository;
use crate::subrepositories::Subrepositories;

/// The prefixes that a pattern may have.
const KINDS: [&str; 2] = [PATH, "rootfilesin:"];
const PATH: &str = "path:";

/// Reads which part of the files `repository` has; `None` if it is everything. Adds messages to `warnings`, each without its line
/// feed.
///
/// # Errors
/// A narrowspec cannot be read or is invalid, or the working copy's narrowspec is stale.
pub fn read(
    repository: &Repository,
    warnings: &mut Vec<BString>,
) -> Result<Option<Arc<Portion>>, Abort> {
    if !repository.is_narrow() {
        return Ok(None);
    }
    let mut parsed = |path: PathBuf| parse(&portion_file::read(&path)?, warnings);
    let stored = parsed(repository.store().folder().join("narrowspec"))?;
    let checked_out = parsed(repository.dot_hg.join("narrowspec.dirstate"))?;
    if stored != checked_out {
        let abort = Abort::of(Kind::State, "working copy's narrowspec is stale");
        return Err(abort.with_hint("run 'hg tracked --update-working-copy'"));
    }
    Ok(portion(repository, stored)?.map(Arc::new))
}

fn parse(text: &[u8], warnings: &mut Vec<BString>) -> Result<PortionFile, Abort> {
    let file = PortionFile::parse(text, "narrow", warnings)?;
    if !file.profiles.is_empty() {
        let message = "including other spec files using '%include' is not supported in narrowspec";
        return Err(Abort::plain(message));
    }
    let is_other = |pattern: &&BString| !KINDS.iter().any(|kind| pattern.starts_with_str(kind));
    if let Some(other) = file.includes.iter().chain(&file.excludes).find(is_other) {
        let message = bytes!("invalid prefix on narrow pattern: ", other);
        let kinds = join(KINDS.map(str::as_bytes), b", ");
        let hint = bytes!(
            "narrow patterns must begin with one of the following: ",
            kinds
        );
        return Err(Abort::plain(message).with_hint(hint));
    }
    Ok(file)
}

/// Returns the part that `file` describes; `None` if it is everything.
fn portion(repository: &Repository, file: PortionFile) -> Result<Option<Portion>, Abort> {
    if file.includes.is_empty() {
        return Ok(Some(Portion::Any(Vec::new())));
    }
    let paths = |patterns: &BTreeSet<BString>| -> Option<BTreeSet<BString>> {
        let paths = patterns
            .iter()
            .map(|pattern| pattern.strip_prefix(PATH.as_bytes()));
        paths.map(|path| Some(BString::from(path?))).collect()
    };
    let (Some(mut includes), Some(excludes)) = (paths(&file.includes), paths(&file.excludes))
    else {
        let patterns = |all: BTreeSet<BString>| all.into_iter().collect::<Vec<_>>();
        let matcher = Matcher::new(&MatcherQuestion {
            root: &repository.root,
            cwd: &repository.root,
            patterns: &[],
            include: &patterns(file.includes),
            exclude: &patterns(file.excludes),
            subrepositories: Some(&Subrepositories::default()),
        })?;
        return Ok(Some(Portion::Any(vec![matcher])));
    };
    if includes.remove(".".as_bytes().as_bstr()) {
        includes.insert(BString::default());
    }
    let is_odd = |path: &&BString| {
        !path.is_empty()
            && (normal_path(path) != **path || path.starts_with(b"/") || path.contains(&0))
    };
    if let Some(odd) = includes.iter().chain(&excludes).find(is_odd) {
        return Err(Abort::unsupported(bytes!(
            "the path '",
            odd,
            "' in narrowspec"
        )));
    }
    let nearest = Nearest::new(&includes, &excludes);
    Ok((!nearest.is_everything()).then_some(Portion::Nearest(nearest)))
}
