//! The line that precedes each object in a batch (git-cat-file(1), "BATCH OUTPUT").

use std::io::Write as _;

use bstr::{BStr, ByteSlice};
use vigil_model::mode::FileMode;
use vigil_model::{HashKind, ObjectId, oid};
use vigil_objects::{Facts, Kind, Wanted};

use crate::reply::{Reply, bytes};

/// The format that git uses if none is given.
pub(super) const DEFAULT: &str = "%(objectname) %(objecttype) %(objectsize)";

/// A piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Name,
    Type,
    Size,
    SizeOnDisk,
    Rest,
    DeltaBase,
    Mode,
}

/// A parsed format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Format {
    pieces: Vec<Piece>,
    wanted: Wanted,
}

/// What a line may show of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'a> {
    pub(super) id: ObjectId,
    pub(super) facts: &'a Facts,
    /// Its mode in the tree where it was found.
    pub(super) mode: Option<FileMode>,
    /// What followed the name on the input line.
    pub(super) rest: Option<&'a BStr>,
}

impl Format {
    /// Parses `text`.
    ///
    /// # Errors
    /// An unknown element, in git's words.
    pub(super) fn parse(text: &BStr) -> Result<Self, Reply> {
        let mut pieces = Vec::new();
        let mut literal = Vec::new();
        let mut rest = text.as_bytes();
        while let Some(at) = rest.find_byte(b'%') {
            let (before, from) = rest.split_at_checked(at).unwrap_or((rest, b""));
            literal.extend_from_slice(before);
            let behind = from.get(1..).unwrap_or_default();
            match behind.first() {
                Some(b'(') => {
                    let (piece, behind) = element(behind)?;
                    if !literal.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    }
                    pieces.push(piece);
                    rest = behind;
                }
                other => {
                    literal.push(b'%');
                    let skipped = usize::from(other == Some(&b'%'));
                    rest = behind.get(skipped..).unwrap_or_default();
                }
            }
        }
        literal.extend_from_slice(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        let has = |piece: Piece| pieces.contains(&piece);
        let wanted = Wanted {
            kind: has(Piece::Type),
            size: has(Piece::Size),
            disk_size: has(Piece::SizeOnDisk),
            delta_base: has(Piece::DeltaBase),
        };
        Ok(Self { pieces, wanted })
    }

    /// What has to be looked up for a line, besides names and what the caller already knows.
    pub(super) fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// Returns whether an object's name ends at the first white space of its input line.
    pub(super) fn splits(&self) -> bool {
        self.pieces.contains(&Piece::Rest)
    }

    /// Appends the line for `object`, without its terminator.
    pub(super) fn append(&self, out: &mut Vec<u8>, object: &Object<'_>) {
        let facts = object.facts;
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Name => append_id(out, &object.id),
                Piece::Type => {
                    out.extend_from_slice(facts.kind.as_ref().map_or(b"", Kind::as_bytes))
                }
                Piece::Size => append_number(out, facts.size),
                Piece::SizeOnDisk => append_number(out, facts.disk_size),
                Piece::DeltaBase => {
                    let base = facts.delta_base;
                    append_id(out, &base.unwrap_or(object.id.kind().null()));
                }
                Piece::Rest => out.extend_from_slice(object.rest.unwrap_or_default()),
                Piece::Mode => {
                    if let Some(mode) = object.mode {
                        // Writing to memory cannot fail.
                        let _ = write!(out, "{:06o}", mode.0);
                    }
                }
            }
        }
    }
}

fn append_id(out: &mut Vec<u8>, id: &oid) {
    let mut hex = HashKind::hex_buf();
    out.extend_from_slice(id.hex_to_buf(&mut hex).as_bytes());
}

fn append_number(out: &mut Vec<u8>, number: Option<u64>) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(number.unwrap_or_default());
    out.extend_from_slice(digits.as_bytes());
}

/// Parses the element at the start of `text`, which begins with `(`. Returns it and the rest.
fn element(text: &[u8]) -> Result<(Piece, &[u8]), Reply> {
    let Some(end) = text.find_byte(b')') else {
        let complaint = bytes![
            "bad cat-file format: element '",
            text,
            "' does not end in ')'"
        ];
        return Err(Reply::fatal(complaint));
    };
    let name = text.get(1..end).unwrap_or_default();
    let behind = text.get(end.saturating_add(1)..).unwrap_or_default();
    let piece = match name {
        b"objectname" => Piece::Name,
        b"objecttype" => Piece::Type,
        b"objectsize" => Piece::Size,
        b"objectsize:disk" => Piece::SizeOnDisk,
        b"rest" => Piece::Rest,
        b"deltabase" => Piece::DeltaBase,
        b"objectmode" => Piece::Mode,
        _ => {
            let complaint = bytes!["bad cat-file format: %(", name, ")"];
            return Err(Reply::fatal(complaint));
        }
    };
    Ok((piece, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Piece>, String> {
        match Format::parse(text.into()) {
            Ok(format) => Ok(format.pieces),
            Err(reply) => Err(String::from_utf8(reply.stderr).unwrap()),
        }
    }

    #[test]
    fn a_format_is_taken_apart() {
        let text = |text: &str| Piece::Text(text.into());
        assert_eq!(parse(""), Ok(vec![]));
        assert_eq!(
            parse("%(objectname)%(rest) 100%% %x %"),
            Ok(vec![Piece::Name, Piece::Rest, text(" 100% %x %")])
        );
        assert_eq!(parse("a%%(objecttype)"), Ok(vec![text("a%(objecttype)")]));
    }

    #[test]
    fn unknown_elements_are_refused_in_git_s_words() {
        assert_eq!(
            parse("%(nonsense) x"),
            Err("fatal: bad cat-file format: %(nonsense)\n".into())
        );
        assert_eq!(
            parse("x %(objectname"),
            Err("fatal: bad cat-file format: element '(objectname' does not end in ')'\n".into())
        );
    }
}
