//! Private parsers, exposed for the fuzz targets.

use crate::HashKind;
use crate::index::CacheTree;
use crate::index::split::Ewah;

/// Takes a compressed bitmap off `data`. Returns its set bits if all are below `limit`, else the first
/// that is not.
///
/// # Errors
/// git's message if `data` does not start with a bitmap.
pub fn ewah(data: &mut &[u8], limit: usize) -> Result<Result<Vec<usize>, u64>, String> {
    Ok(Ewah::parse(data)?.positions(limit))
}

/// Parses the contents of a `TREE` extension.
pub fn cache_tree(data: &[u8], hash: HashKind) -> Option<CacheTree> {
    CacheTree::parse(data, hash)
}
