//! Which working copy a question is about, and whether the same names lead this process to the same files as the client.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use vigil_engine::hg_session::{is_innermost, root_around};
use vigil_engine::session::Session;
use vigil_git::environment::Environment;
use vigil_git::repository::{self, Search};
use vigil_linux::Errno;
use vigil_linux::stat::stat_path;

use crate::declined::{Declined, declined, declined_by};
use crate::protocol::StatusQuestion;
use crate::sessions::{Key, WorkingCopyLocation};
use crate::variables;

/// The environment that counts for a question about `directory`, and the key of its session, if there is a repository.
pub(crate) fn locate(
    directory: &Path,
    all: &[(BString, BString)],
    search: Search,
) -> Result<(Environment, Option<Key>), Declined> {
    let variables = variables::relevant(all);
    let for_session_key = variables::for_session_key(&variables);
    decline_own_files(for_session_key.iter().map(|(_, value)| value))?;
    let environment = Environment::new(variables.iter().cloned(), directory);
    let found = repository::discover_git_dir(&environment, directory, search);
    let found = found.map_err(|error| declined_by(error.into()))?;
    let standing = variables::depend_on_directory(&variables).then(|| directory.to_owned());
    let key = found.map(|location| Key {
        location: WorkingCopyLocation::Git(location),
        variables: for_session_key,
        directory: standing,
    });
    Ok((environment, key))
}

/// The key of the Mercurial working copy around `directory`, or `None` if there is none.
pub(crate) fn of_mercurial(directory: &Path) -> Option<Key> {
    Some(Key {
        location: WorkingCopyLocation::Mercurial(root_around(directory)?),
        variables: Vec::new(),
        directory: None,
    })
}

/// Whether `question` is about the innermost repository around its directory, of whichever system.
pub(crate) fn is_of_innermost(question: &StatusQuestion) -> bool {
    let mut variables = question.variables.iter();
    let is_named = variables.any(|(name, _)| name == "GIT_DIR");
    question.is_of_mercurial == (!is_named && is_innermost(&question.directory))
}

/// The path of `directory` within the working tree of `session`, with a trailing `/` unless it is the top.
pub(crate) fn prefix(session: &Session, directory: &Path) -> Result<BString, Declined> {
    let repository = session.repository();
    let top = repository
        .require_work_tree()
        .map_err(|error| declined_by(error.into()))?;
    let inside = directory
        .strip_prefix(top)
        .map_err(|_| declined("the working tree is elsewhere"))?;
    let mut prefix = BString::from(inside.as_os_str().as_bytes());
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    Ok(prefix)
}

/// The device and inode of what is at `path`, or `None` if it cannot be looked at.
pub(crate) fn id_of(path: &Path) -> Option<(u64, u64)> {
    stat_path(path).ok().map(|stat| (stat.dev, stat.ino))
}

/// Whether both paths lead to the same file or directory.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    one == other || id_of(one).is_some_and(|id| id_of(other) == Some(id))
}

/// Whether there is certainly nothing at `path`. On any other error, something may be there.
pub(crate) fn is_gone(path: &Path) -> bool {
    matches!(stat_path(path), Err(Errno::NOENT | Errno::NOTDIR))
}

/// Whether `index`, a path as seen from `directory`, is the repository's own index.
pub(crate) fn is_own_index(session: &Session, directory: &Path, index: &BString) -> bool {
    let own = &session.repository().index_path;
    let said = index.to_path().map(|index| directory.join(index));
    said.is_ok_and(|said| is_same(&said, own))
}

/// Why the client is left files of its own process.
const OWN_FILES: &str = "only the client can open a file that it names";

/// Fails if one of the client's `words` may name a file of the client's own process.
pub(crate) fn decline_own_files<'a>(
    mut words: impl Iterator<Item = &'a BString>,
) -> Result<(), Declined> {
    match words.any(|word| variables::may_name_own_files(word)) {
        true => Err(declined(OWN_FILES)),
        false => Ok(()),
    }
}

/// Fails if the client's configuration may lead it to other files than it leads to here.
pub(crate) fn decline_for_client(
    session: &Session,
    variables: &[(BString, BString)],
) -> Result<(), Declined> {
    let settings = session.settings();
    let configured = [&settings.excludes_file, &settings.attributes_file];
    let configured = configured.into_iter().flatten().map(PathBuf::as_path);
    let mut files = session.repository().config.files().chain(configured);
    if files.any(|file| variables::may_name_own_files(file.as_os_str().as_bytes())) {
        return Err(declined(OWN_FILES));
    }
    decline_other_name(session, variables)
}

/// Fails if the client's shell has reached the top of the working tree, or a submodule that holds its own repository, through
/// symbolic links, and more configuration would be included by that name.
fn decline_other_name(session: &Session, variables: &[(BString, BString)]) -> Result<(), Declined> {
    let repository = session.repository();
    let logical = variables
        .iter()
        .find(|(name, _)| name == variables::DIRECTORY);
    let logical = logical.and_then(|(_, value)| value.to_path().ok());
    let (Some(logical), Some(top)) = (logical, &repository.work_tree) else {
        return Ok(());
    };
    let is_submodule = || {
        let holds_repository = stat_path(&logical.join(".git")).is_ok_and(|stat| stat.is_dir());
        holds_repository
            && logical
                .canonicalize()
                .is_ok_and(|real| real.starts_with(top))
    };
    let may_depend = logical.is_absolute() && logical != top;
    if may_depend
        && repository.config.depends_on_name(logical)
        && (id_of(logical) == id_of(top) || is_submodule())
    {
        return Err(declined(
            "more is included by another name of the directory",
        ));
    }
    Ok(())
}
