//! Subrepositories in a status, with and without `-S`.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::hg_status::kinds::Lists;
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::checkout;
use vigil_hg::config::{Config, Configuration, Layers};
use vigil_hg::dirstate::Dirstate;
use vigil_hg::node::Node;
use vigil_hg::patterns::{Matcher, outside_of_reach};
use vigil_hg::repository::{self, Repository};
use vigil_hg::revision::{Revisions, Target};
use vigil_hg::subrepositories::{Subrepositories, Subrepository};
use vigil_hg::text_file::LEN_MAX;
use vigil_hg::working_file;
use vigil_linux::stat::lstat_path;
use vigil_stamp::paths::path_of;

use super::extensions::{self, ExtensionQuestion};
use super::git_subrepository::GitSubrepository;
use super::pair::Pair;
use super::paths::PathDisplay;
use super::session::unkept_session;
use super::settings;
use super::subject::Subject;
use crate::reply::bytes;

/// The maximum depth of subrepositories within subrepositories.
const DEPTH_MAX: u32 = 16;

/// The systems whose repositories Mercurial can have as subrepositories.
const KNOWN_SYSTEMS: [&[u8]; 3] = [b"hg", b"git", b"svn"];

/// Reads the subrepositories of a working copy. Warnings are added to `warnings`, with paths from `cwd`.
///
/// # Errors
/// `.hgsub` or `.hgsubstate` cannot be read or is not understood, or `config` does not go with them.
pub(super) fn read_from_working_copy(
    repository: &Repository,
    dirstate: &Dirstate,
    config: &Config,
    cwd: &Path,
    warnings: &mut Vec<u8>,
) -> Result<Subrepositories, Abort> {
    let is_tracked = |name: &str| {
        let entry = dirstate
            .position(name.into())
            .and_then(|at| dirstate.get(at));
        entry.is_some_and(|(_, entry)| entry.is_tracked())
    };
    if !is_tracked(".hgsub") {
        return Ok(Subrepositories::default());
    }
    let shown = PathDisplay::new(&repository.root, cwd, true);
    let path = |name: &str| repository.root.join(name);
    let hgsub = match working_file::read(&path(".hgsub"), LEN_MAX) {
        Ok(hgsub) => hgsub,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = shown.path(".hgsub".into());
            let message = bytes!(
                "warning: subrepo spec file '",
                name.as_bstr(),
                "' not found\n"
            );
            warnings.extend_from_slice(&message);
            Vec::new()
        }
        Err(error) => return Err(Abort::io(&path(".hgsub"), &error)),
    };
    let read = match is_tracked(".hgsubstate") {
        true => working_file::read(&path(".hgsubstate"), LEN_MAX),
        false => Ok(Vec::new()),
    };
    let hgsubstate = match read {
        Ok(hgsubstate) => hgsubstate,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Abort::io(&path(".hgsubstate"), &error)),
    };
    let name = shown.path(".hgsubstate".into());
    Subrepositories::parse(&hgsub, &hgsubstate, name.as_bstr(), config)
}

/// Adds the files of the subrepositories of `subject`, and to `messages` what git says in its own.
pub(super) fn add(
    lists: &mut Lists,
    subject: &Subject<'_>,
    pair: Pair,
    messages: &mut Vec<u8>,
) -> Result<(), Abort> {
    let nesting = Nesting {
        top: &subject.repository.root,
        asked: &subject.matcher,
        outer_path: BString::default(),
        is_named: false,
        depth: 0,
    };
    let others = add_from(lists, subject, pair, &nesting, messages)?;
    lists.merge(others);
    Ok(())
}

/// Where a repository is in the outermost one, at `top`.
struct Nesting<'t> {
    top: &'t Path,
    /// Which paths of the outermost repository are asked for.
    asked: &'t Matcher,
    outer_path: BString,
    /// Whether this repository, or a subrepository that it is in, is asked for by name.
    is_named: bool,
    depth: u32,
}

impl Nesting<'_> {
    /// Returns the place of the subrepository at `path` of the repository at this one.
    fn inside(&self, path: &BStr) -> Self {
        let outer_path = vigil_model::path::join(self.outer_path.as_bstr(), path);
        Self {
            top: self.top,
            asked: self.asked,
            is_named: self.is_named || self.asked.is_exact(outer_path.as_bstr()),
            outer_path,
            depth: self.depth.saturating_add(1),
        }
    }

    /// Returns `abort` as Mercurial reports what happened while it worked out the status of this repository.
    fn annotate(&self, abort: Abort) -> Abort {
        // Errors of the store and of the system are of other classes there, which are passed on.
        let is_annotated = matches!(
            abort.kind,
            Kind::Plain | Kind::Input | Kind::Parse | Kind::State | Kind::Config
        );
        if self.depth == 0 || !is_annotated {
            return abort;
        }
        if abort.message.starts_with(b"config error at ") {
            return refused("in which a file of configuration cannot be parsed");
        }
        Abort {
            kind: Kind::Plain,
            ..abort.in_subrepository(self.outer_path.as_bstr())
        }
    }

    /// Whether Mercurial takes the manifests here for empty. It picks files by name from a manifest if only names are asked for, and
    /// the name of a directory above a subrepository is none of its files.
    fn overlooks_manifests(&self) -> bool {
        !self.is_named && self.asked.is_named_only_above(self.outer_path.as_bstr())
    }
}

/// Adds the files of Mercurial's subrepositories, and returns those of others: they are shown whatever files are asked for.
fn add_from(
    lists: &mut Lists,
    subject: &Subject<'_>,
    pair: Pair,
    nesting: &Nesting<'_>,
    messages: &mut Vec<u8>,
) -> Result<Lists, Abort> {
    let mut others = Lists::default();
    let Some(revisions) = subject.revisions else {
        return Ok(others);
    };
    let [from, to] = match pair {
        // In subrepositories, Mercurial never compares the working copy with a changeset, only the other way round.
        Pair::Targets([Target::WorkingCopy, to]) if to != Target::WorkingCopy => {
            [to, Target::WorkingCopy]
        }
        Pair::Targets(targets) => targets,
        Pair::WorkingCopy => [revisions.parent(), Target::WorkingCopy],
    };
    let read = |target| {
        subrepositories_in(subject, revisions, target).map_err(|abort| nesting.annotate(abort))
    };
    let (before, after) = (read(from)?, read(to)?);
    let mut paths: Vec<&BStr> = before.paths().chain(after.paths()).collect();
    paths.sort_unstable();
    paths.dedup();
    for path in paths {
        let known = before.get(path).or(after.get(path));
        check_path(&subject.repository.root, path)
            .and_then(|()| known.map_or(Ok(()), |known| check_allowed(subject.config, known)))
            .map_err(|abort| nesting.annotate(abort))?;
        let root = subject.repository.root.join(path_of(path));
        let whole = |file: &BString| vigil_model::path::join(path, file.as_bstr());
        let inside = nesting.inside(path);
        if known.is_some_and(is_git) {
            let last = after.get(path).filter(|_| to != Target::WorkingCopy);
            let git = git_at(subject, path, &root, &inside)?;
            // What is new in the end is compared with nothing.
            let base = before.get(path).map(revision_of).unwrap_or_default();
            let other = last.map(revision_of);
            let other = other.as_ref().map(|other| other.as_bstr());
            let found = git.status(base.as_bstr(), other, messages)?;
            others.merge(found.map(|files| files.iter().map(whole).collect()));
            continue;
        }
        let base = match before.get(path) {
            Some(subrepository) => committed_of(subrepository, path)?,
            None => Node::NULL,
        };
        let other = match after.get(path) {
            Some(subrepository) if to != Target::WorkingCopy => committed_of(subrepository, path)?,
            Some(new @ Subrepository::Other { .. }) if !before.has(path) => {
                committed_of(new, path)?
            }
            // A subrepository that is gone in the end is compared with its working copy.
            _ => Node::WORKING_COPY,
        };
        let opened = open(subject, &root).map_err(|abort| match abort.kind {
            Kind::Config => nesting.annotate(abort),
            _ => abort,
        })?;
        let (found, of_others) = status_of(subject, &opened, [base, other], &inside)?;
        let is_asked_for = |file: &BString| subject.matcher.is_match(file.as_bstr());
        let found = found.map(|files| files.iter().map(whole).filter(is_asked_for).collect());
        lists.merge(found);
        others.merge(of_others.map(|files| files.iter().map(whole).collect()));
    }
    Ok(others)
}

fn is_git(subrepository: &Subrepository) -> bool {
    matches!(subrepository, Subrepository::Other { system, .. } if system == "git")
}

/// Returns the git repository at `path` of the repository of `subject`.
fn git_at<'s>(
    subject: &'s Subject<'_>,
    path: &'s BStr,
    root: &'s Path,
    nesting: &'s Nesting<'_>,
) -> Result<GitSubrepository<'s>, Abort> {
    if subject.settings.debug {
        return Err(refused("of git, with messages about it (--debug)"));
    }
    Ok(GitSubrepository {
        path,
        outer_path: nesting.outer_path.as_bstr(),
        root,
        top: nesting.top,
        process: subject.process,
        quiet: subject.settings.quiet,
        clean: subject.clean,
        unknown: subject.unknown,
        ignored: subject.ignored,
    })
}

/// Returns the committed revision of a subrepository, as text.
fn revision_of(subrepository: &Subrepository) -> BString {
    match subrepository {
        Subrepository::Mercurial(node) => {
            node.map(|node| node.to_string()).unwrap_or_default().into()
        }
        Subrepository::Other { revision, .. } => revision.clone(),
    }
}

/// Returns the committed changeset of the subrepository at `path`.
///
/// # Errors
/// There is none, or the subrepository is not Mercurial's.
fn committed_of(subrepository: &Subrepository, path: &BStr) -> Result<Node, Abort> {
    let what = match subrepository {
        Subrepository::Mercurial(Some(node)) => return Ok(*node),
        Subrepository::Mercurial(None) => "which is not committed yet",
        Subrepository::Other { .. } => "which is none of Mercurial's",
    };
    Err(Abort::unsupported(bytes!(
        "the subrepository '",
        path,
        "', ",
        what
    )))
}

/// Checks that a subrepository may be at `path` of the repository `root`.
fn check_path(root: &Path, path: &BStr) -> Result<(), Abort> {
    if path.starts_with(b"~") || path.contains(&b'$') {
        let message = bytes!("subrepo path contains illegal component: ", path);
        return Err(Abort::plain(message));
    }
    if outside_of_reach(root, path).is_some() {
        return Err(refused("behind a link or in another repository"));
    }
    match lstat_path(&root.join(path_of(path))) {
        Ok(seen) if seen.is_symlink() => {
            let message = bytes!("subrepo '", path, "' traverses symbolic link");
            Err(Abort::plain(message))
        }
        _ => Ok(()),
    }
}

/// Checks that such subrepositories may be looked at: unless configured otherwise, only Mercurial's may.
///
/// # Errors
/// The configuration forbids it, or is wrong.
fn check_allowed(config: &Config, subrepository: &Subrepository) -> Result<(), Abort> {
    let system = match subrepository {
        Subrepository::Mercurial(_) => "hg".into(),
        Subrepository::Other { system, .. } => system.as_bstr(),
    };
    let refusal = if !config.boolean("subrepos", "allowed", true)? {
        "subrepos not enabled".into()
    } else if !config.boolean("subrepos", bytes!(system, ":allowed"), system == "hg")? {
        bytes!(system, " subrepos not allowed")
    } else if !KNOWN_SYSTEMS.contains(&system.as_bytes()) {
        return Err(Abort::plain(bytes!("unknown subrepo type ", system)));
    } else {
        return Ok(());
    };
    Err(Abort::plain(refusal).with_hint("see 'hg help config.subrepos' for details"))
}

fn subrepositories_in(
    subject: &Subject<'_>,
    revisions: &Revisions<'_>,
    target: Target,
) -> Result<Subrepositories, Abort> {
    if target == Target::WorkingCopy {
        return Ok(subject.subrepositories.clone());
    }
    let manifest = revisions.manifest(target)?;
    let store = subject.repository.store();
    let text = |name: &str| match manifest.get(name.into()) {
        Some(entry) => store.contents(name.into(), &entry.node).map(Some),
        None => Ok(None),
    };
    match text(".hgsub")? {
        Some(hgsub) => {
            let hgsubstate = text(".hgsubstate")?.unwrap_or_default();
            let shown = PathDisplay::new(&subject.repository.root, &subject.process.cwd, true);
            let name = shown.path(".hgsubstate".into());
            Subrepositories::parse(&hgsub, &hgsubstate, name.as_bstr(), subject.config)
        }
        None => Ok(Subrepositories::default()),
    }
}

fn refused(what: &str) -> Abort {
    Abort::unsupported(bytes!("a subrepository ", what))
}

/// Opens one of Mercurial's subrepositories, and reads its configuration.
///
/// # Errors
/// It is missing, not understood, or only Mercurial can look at it.
fn open(above: &Subject<'_>, root: &Path) -> Result<(Repository, Configuration), Abort> {
    // Mercurial would create a missing repository.
    if !lstat_path(&root.join(".hg")).is_ok_and(|seen| seen.is_dir()) {
        return Err(refused("that is missing"));
    }
    let layers = Layers::checked(above.process, above.options, settings::check_first)?;
    let configuration = repository::configure(layers, root)?;
    settings::check_paths(&configuration)?;
    if let Some(unsupported) = settings::unsupported_setting(&configuration.config) {
        return Err(Abort::unsupported(unsupported));
    }
    let repository = Repository::open(root)?;
    if repository.is_narrow() {
        return Err(refused("that is a narrow clone"));
    }
    extensions::check_required(&configuration.config, &repository.requirements)?;
    Ok((repository, configuration))
}

/// Returns the status of one of Mercurial's subrepositories, and that of other systems' repositories in it.
fn status_of(
    above: &Subject<'_>,
    (repository, configuration): &(Repository, Configuration),
    nodes: [Node; 2],
    nesting: &Nesting<'_>,
) -> Result<(Lists, Lists), Abort> {
    if nesting.depth > DEPTH_MAX {
        return Err(refused("that is nested too deeply"));
    }
    let annotate = |abort| nesting.annotate(abort);
    let line_endings = extensions::line_endings(repository, &configuration.config, above.process)?;
    let mut session = unkept_session(repository, line_endings.as_ref());
    let dirstate = session.dirstate(repository).map_err(annotate)?;
    let extensions = ExtensionQuestion {
        repository,
        config: &configuration.config,
        process: above.process,
        dirstate: &dirstate,
        is_verbose: above.settings.verbose,
        shows_large_files: false,
    };
    if let Some(unsupported) = extensions.unsupported() {
        return Err(Abort::unsupported(unsupported));
    }
    let parents = session.parents(repository).map_err(annotate)?;
    if parents.unknown.is_some() {
        return Err(Abort::unsupported(
            "a subrepository whose working parent is unknown",
        ));
    }
    let revisions = Revisions::new(repository, parents.nodes).map_err(annotate)?;
    let target = |node: Node| {
        let target = revisions.find(&node);
        target.ok_or_else(|| refused("whose committed changeset is not there"))
    };
    let [from, to] = nodes;
    let pair = Pair::new([target(from)?, target(to)?], &revisions);
    extensions.check_pair(pair, &revisions).map_err(annotate)?;
    let mut warnings = Vec::new();
    if pair.has_working_copy() {
        checkout::check_branch(repository)?;
    }
    let subrepositories = match pair.ends_in_working_copy() {
        true => {
            let (config, cwd) = (&configuration.config, &above.process.cwd);
            read_from_working_copy(repository, &dirstate, config, cwd, &mut warnings)
                .map_err(annotate)?
        }
        false => Subrepositories::default(),
    };
    let subject = Subject {
        repository,
        narrow: None,
        session: RefCell::new(&mut session),
        config: &configuration.config,
        options: above.options,
        process: above.process,
        dirstate: &dirstate,
        has_parent: !parents.nodes[0].is_null(),
        revisions: Some(&revisions),
        subrepositories: &subrepositories,
        matcher: Arc::new(Matcher::default()),
        clean: above.clean,
        unknown: above.unknown,
        ignored: above.ignored,
        overlooks_manifests: nesting.overlooks_manifests(),
        line_endings: line_endings.as_deref(),
        large_files: None,
        copies_name_large_files: false,
        settings: above.settings,
    };
    let mut lists = subject.lists(pair, &mut warnings).map_err(annotate)?;
    let others = add_from(&mut lists, &subject, pair, nesting, &mut warnings)?;
    if !warnings.is_empty() || !configuration.warnings.is_empty() {
        return Err(refused("with warnings or errors of its own"));
    }
    Ok((lists, others))
}
