//! Reads the dirstate from the disk.

use std::io;
use std::path::Path;

use vigil_stamp::file;

use super::{Dirstate, Docket, MARKER};
use crate::abort::Abort;
use crate::bytes::bytes;
use crate::node::Node;
use vigil_stamp::paths::path_of;

/// The maximum number of tries when the data file is replaced between reading the docket and
/// opening the data file.
const TRIES_MAX: usize = 5;
/// The length of the two parents, with which the first format begins.
const PARENTS_LEN: usize = 2 * Node::LEN;

/// Reads the dirstate in the folder `.hg`. `is_v2` says whether the repository requires the second format.
///
/// # Errors
/// The dirstate cannot be read, or is damaged.
pub fn read(dot_hg: &Path, is_v2: bool) -> Result<Dirstate, Abort> {
    let path = dot_hg.join("dirstate");
    let mut tries = 0usize;
    loop {
        let contents = match file::read_or_map(&path) {
            Ok(contents) => contents,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Dirstate::empty());
            }
            Err(error) => return Err(Abort::io(&path, &error)),
        };
        // A dirstate that is being upgraded may be of the other format.
        let has_docket = contents.starts_with(MARKER);
        if !has_docket || !is_v2 {
            if !contents.is_empty() && contents.len() < PARENTS_LEN {
                return Err(without_parents(is_v2));
            }
            let dirstate = Dirstate::of_v1(contents);
            return dirstate.map_err(|error| Abort::damaged(&path, error.0));
        }
        let docket = Docket::parse(&contents);
        let docket = docket.map_err(|error| Abort::damaged(&path, error.0))?;
        let data_path = dot_hg.join(path_of(&bytes!("dirstate.", docket.id)));
        let data = match file::read_or_map(&data_path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound && docket.id.is_empty() => {
                file::Contents::Read(Vec::new())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                tries = tries.saturating_add(1);
                match tries < TRIES_MAX {
                    true => continue,
                    false => return Err(replaced_at_each_try()),
                }
            }
            Err(error) => return Err(Abort::io(&data_path, &error)),
        };
        let dirstate = Dirstate::of_v2(&docket, data);
        return dirstate.map_err(|error| Abort::damaged(&data_path, error.0));
    }
}

/// Returns Mercurial's error for a data file that is never there.
fn replaced_at_each_try() -> Abort {
    Abort::plain(format!(
        "dirstate read race happened {TRIES_MAX} times in a row"
    ))
}

/// Returns Mercurial's error for a dirstate that is too short to hold the parents.
fn without_parents(is_v2: bool) -> Abort {
    let abort = Abort::plain("working directory state appears damaged!");
    match is_v2 {
        true => abort.with_hint("falling back to dirstate-v1 from v2 also failed"),
        false => abort,
    }
}
