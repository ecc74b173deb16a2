//! What is known of an object beside its contents.

use gix_hash::ObjectId;
use gix_object::Kind;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its type.
    pub kind: Kind,
    /// The size of its contents, in bytes.
    pub size: u64,
}

/// What is wanted of an object beside its contents: each costs something of its own, and may fail alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Its type.
    pub kind: bool,
    /// The size of its contents.
    pub size: bool,
    /// How many bytes it takes.
    pub disk_size: bool,
    /// The object that it is a difference from.
    pub delta_base: bool,
}

impl Wanted {
    /// All that there is.
    pub const ALL: Self = Self {
        kind: true,
        size: true,
        disk_size: true,
        delta_base: true,
    };
}

/// What was found out of an object, as far as it was wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its type.
    pub kind: Option<Kind>,
    /// The size of its contents, in bytes.
    pub size: Option<u64>,
    /// How many bytes it takes: of its file, or between it and the next one in the pack (`%(objectsize:disk)`).
    pub disk_size: Option<u64>,
    /// The object that it is a difference from, if it is one (`%(deltabase)`).
    pub delta_base: Option<ObjectId>,
}

impl From<Info> for Facts {
    fn from(info: Info) -> Self {
        Self {
            kind: Some(info.kind),
            size: Some(info.size),
            ..Self::default()
        }
    }
}
