//! Facts about an object besides its contents.

use gix_hash::ObjectId;
use gix_object::Kind;

/// The type and size of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its type.
    pub kind: Kind,
    /// The size of its contents, in bytes.
    pub size: u64,
}

/// The facts that are wanted about an object. Each has a cost of its own, and may fail alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Its type.
    pub kind: bool,
    /// The size of its contents.
    pub size: bool,
    /// The size that it takes on disk.
    pub disk_size: bool,
    /// The base that it is a delta against.
    pub delta_base: bool,
}

impl Wanted {
    /// All facts.
    pub const ALL: Self = Self {
        kind: true,
        size: true,
        disk_size: true,
        delta_base: true,
    };

    /// Whether any of them is told by the contents of a loose object.
    pub fn is_inside(self) -> bool {
        self.kind || self.size
    }
}

/// The facts about an object, as far as they were wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its type.
    pub kind: Option<Kind>,
    /// The size of its contents, in bytes.
    pub size: Option<u64>,
    /// The size on disk, in bytes: of its file, or up to the next object in the pack (`%(objectsize:disk)`).
    pub disk_size: Option<u64>,
    /// The base that it is a delta against, if it is a delta (`%(deltabase)`).
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
