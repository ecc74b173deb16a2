//! Parsers that are no part of the public interface, for the fuzz targets.

use crate::HashKind;
use crate::index::CacheTree;
use crate::index::split::Ewah;

/// Takes a compressed bitmap off `data`: its set bits below `limit`, or the first that is not below it.
///
/// # Errors
/// git's words where there is no bitmap.
pub fn ewah(data: &mut &[u8], limit: usize) -> Result<Result<Vec<usize>, u64>, String> {
    Ok(Ewah::parse(data)?.positions(limit))
}

/// The contents of a `TREE` extension.
pub fn cache_tree(data: &[u8], hash: HashKind) -> Option<CacheTree> {
    CacheTree::parse(data, hash)
}
