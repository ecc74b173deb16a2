//! Objects read with the fewest copies and system calls: looked up once, and inflated into the buffer that they are
//! written from.
//!
//! May import `stamp`, `model` and `linux`. It knows folders with objects, and no repository, reference or configuration.
//!
//! An [`ObjectStore`] is shared by threads, and knows where objects are; each thread has a [`Reader`], which has what
//! reading needs. An object is looked for where git looks, in that order: in each folder the packs, then the files of
//! single objects; and if it is nowhere, once more in packs that are new. Replacements are none of this module's
//! business. Bytes on disk may be anything: offsets, sizes and chains are checked before they are used, and memory is
//! set aside as contents come, not as sizes promise.

mod alternates;
mod cache;
mod chains;
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
mod pack;
pub mod parallel;
mod plan;
mod planned;
mod promisor;
mod reader;
mod source;
mod store;
mod table;
#[cfg(test)]
mod tests;
pub use gix_object::Kind;

pub use self::alternates::Places;
pub use self::enumerate::{PackOrder, Sorted};
pub use self::error::{Error, Reason};
pub use self::facts::{Facts, Info, Wanted};
pub use self::location::Location;
pub use self::promisor::FetchMissing;
pub use self::reader::{Reader, StreamError};
pub use self::store::ObjectStore;
