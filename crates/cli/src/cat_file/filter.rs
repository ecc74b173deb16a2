//! Which objects a batch leaves out (`--filter`, git-rev-list(1)).

use bstr::{BStr, ByteSlice};
use vigil_engine::object_store::{Info, Kind};

use crate::bytes;
use crate::reply::{Reply, labelled};

/// A filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Filter {
    /// Nothing is left out.
    #[default]
    Everything,
    /// Blobs of this many bytes and more are.
    BlobsBelow(u64),
    /// All blobs are.
    NoBlobs,
    /// All but objects of this type are.
    Only(Kind),
    /// One that git knows, and not for batches.
    Unsupported(&'static str),
}

impl Filter {
    /// Reads the value of `--filter`.
    ///
    /// # Errors
    /// What is no filter.
    pub(super) fn parse(text: &BStr) -> Result<Self, Reply> {
        let invalid = || Reply::fatal(bytes!["invalid filter-spec '", text, "'"]);
        if text == "blob:none" {
            return Ok(Self::NoBlobs);
        }
        if let Some(limit) = text.strip_prefix(b"blob:limit=") {
            return size(limit.as_bstr())
                .map(Self::BlobsBelow)
                .ok_or_else(invalid);
        }
        if let Some(kind) = text.strip_prefix(b"object:type=") {
            let unknown = || {
                let complaint = bytes![
                    "'",
                    kind,
                    "' for 'object:type=<type>' is not a valid object type"
                ];
                Reply::fatal(complaint)
            };
            return Kind::from_bytes(kind)
                .map(Self::Only)
                .map_err(|_| unknown());
        }
        if text.starts_with(b"sparse:path=") {
            return Err(Reply::fatal("sparse:path filters support has been dropped"));
        }
        let others = [
            ("tree:", "tree"),
            ("sparse:oid=", "sparse:oid"),
            ("combine:", "combine"),
        ];
        let other = others
            .iter()
            .find(|(prefix, _)| text.starts_with(prefix.as_bytes()));
        other
            .map(|(_, name)| Self::Unsupported(name))
            .ok_or_else(invalid)
    }

    /// Whether the command can use it.
    ///
    /// # Errors
    /// It cannot, or there is no batch.
    pub(super) fn check(self, is_batch: bool) -> Result<(), Reply> {
        let complaint = match self {
            Self::Everything => return Ok(()),
            Self::Unsupported(name) => format!("objects filter not supported: '{name}'"),
            _ if !is_batch => "objects filter only supported in batch mode".to_owned(),
            _ => return Ok(()),
        };
        let stderr = labelled("usage: ", complaint.as_bytes());
        Err(Reply::complained(stderr, Reply::USAGE))
    }

    /// Whether an object is left out.
    pub(super) fn excludes(self, info: &Info) -> bool {
        match self {
            Self::Everything | Self::Unsupported(_) => false,
            Self::NoBlobs => info.kind == Kind::Blob,
            Self::BlobsBelow(limit) => info.kind == Kind::Blob && info.size >= limit,
            Self::Only(kind) => info.kind != kind,
        }
    }
}

/// A number with `k`, `m` or `g` behind it for powers of 1024.
fn size(text: &BStr) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, unit) = text.split_at_checked(digits)?;
    let number: u64 = digits.to_str().ok()?.parse().ok()?;
    let factor = match unit {
        b"" => 1,
        b"k" | b"K" => 1 << 10,
        b"m" | b"M" => 1 << 20,
        b"g" | b"G" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}
