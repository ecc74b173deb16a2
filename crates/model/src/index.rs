//! git's index, read from bytes (gitformat-index(5)).

mod cache_tree;
mod entries;
mod entry;
mod parse;
mod sparse;
pub(crate) mod split;
#[cfg(test)]
mod tests;
#[cfg(any(test, feature = "fuzzing"))]
mod whole;
#[cfg(test)]
pub(crate) mod writer;

pub use self::cache_tree::CacheTree;
pub use self::entries::Index;
pub use self::entry::{Entry, EntryFlags};
pub use self::parse::{
    EXTENSION_HEADER_LEN, EntryList, EntrySink, Extension, HEADER_LEN, IndexParser, ParseError,
    ParsedIndex, SizeHint,
};
pub use self::sparse::FlatEntry;
pub use self::split::{Join, Link};
