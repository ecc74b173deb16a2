//! Reads objects with the fewest copies and system calls: an object is looked up once, and inflated into the buffer
//! that it is written from.
//!
//! May import `stamp`, `model` and `linux`. It knows folders of objects, but no repository, reference or configuration.
//!
//! An [`ObjectStore`] is shared by threads and knows where objects are. Each thread has an [`ObjectReader`], with the buffers
//! for reading. An object is looked for where git looks, in git's order: in each folder first the packs, then the loose
//! objects; and if it is nowhere, once more in packs that are new. Replace references are not handled here. Bytes on
//! disk may be anything: offsets, sizes and chains are checked before they are used, and memory is allocated as
//! contents arrive, not as sizes promise.

mod alternates;
mod cache;
mod chains;
mod chunks;
pub mod commit;
pub mod commit_graph;
mod contents;
mod delta;
mod enumerate;
mod error;
mod facts;
mod fetch;
pub mod hash;
mod index;
mod inflate;
mod location;
mod loose;
mod midx;
mod object_dir;
mod pack;
pub mod parallel;
mod plan;
mod planned;
mod promisor;
mod reader;
mod store;
mod table;
#[cfg(test)]
mod tests;
pub mod tree;
pub use gix_object::Kind;

pub use self::alternates::ObjectFolders;
pub use self::enumerate::{PackOrder, Sorted};
pub use self::error::{Error, Reason};
pub use self::facts::{Facts, Info, Wanted};
pub use self::location::Location;
pub use self::promisor::FetchMissing;
pub use self::reader::{ObjectReader, StreamError};
pub use self::store::ObjectStore;
