//! The ids of changesets, manifests and file revisions.

use std::fmt;

/// The SHA-1 that names a revision.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub [u8; Node::LEN]);

impl Node {
    /// The length of a node, in bytes.
    pub const LEN: usize = 20;
    /// The null node: the parent of a first revision.
    pub const NULL: Self = Self([0; Self::LEN]);
    /// The node that stands for the working copy.
    pub const WORKING_COPY: Self = Self([0xff; Self::LEN]);

    /// Returns the node at the start of `bytes`.
    pub(crate) fn from_start_of(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().copied().map(Self)
    }

    /// Parses 40 hexadecimal digits.
    pub fn from_hex(digits: &[u8]) -> Option<Self> {
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != Self::LEN || !rest.is_empty() {
            return None;
        }
        let mut node = [0; Self::LEN];
        for (byte, [high, low]) in node.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(node))
    }

    /// Returns whether this is the null node.
    pub fn is_null(&self) -> bool {
        *self == Self::NULL
    }

    /// Returns the node as 40 hexadecimal digits.
    pub fn hex(&self) -> String {
        self.to_string()
    }

    /// Returns the first 12 digits, as Mercurial shows a node to people.
    pub fn short_hex(&self) -> String {
        const LEN: usize = 12;
        self.hex().chars().take(LEN).collect()
    }
}

/// Returns the value of a hexadecimal digit.
pub fn digit(letter: u8) -> Option<u8> {
    char::from(letter)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
