//! The ids of changesets, manifests and files.

use std::fmt;

/// A SHA-1 that names a revision.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub [u8; Node::LEN]);

impl Node {
    /// How many bytes a node has.
    pub const LEN: usize = 20;
    /// The node of nothing: what the first revision has for a parent.
    pub const NULL: Self = Self([0; Self::LEN]);
    /// The node that stands for the working copy.
    pub const WORKING_COPY: Self = Self([0xff; Self::LEN]);

    /// The node whose bytes begin `bytes`.
    pub fn from_start_of(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().copied().map(Self)
    }

    /// The node that these 40 hexadecimal digits say.
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

    /// Whether it is that of nothing.
    pub fn is_null(&self) -> bool {
        *self == Self::NULL
    }

    /// The digits, 40 of them.
    pub fn hex(&self) -> String {
        self.to_string()
    }

    /// The first digits, as Mercurial shows a node to people.
    pub fn short_hex(&self) -> String {
        const LEN: usize = 12;
        self.hex().chars().take(LEN).collect()
    }
}

/// The value of a hexadecimal digit.
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
