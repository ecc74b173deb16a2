//! Reading an index that is in memory as a whole. The program reads it piece by piece.

use gix_hash::Kind;

use super::entries::Index;
use super::parse::{
    EntryList, EntrySink, HEADER_LEN, IndexParser, ParseError, ParsedIndex, SizeHint,
};
use super::split::Join;

impl Index {
    /// Reads the bytes of an index file whose ids are of the kind `hash`.
    ///
    /// The order of entries is not checked (git does not, either): lookups in an index out of order may miss.
    ///
    /// # Errors
    /// The bytes are no index that git would accept. The text is git's.
    pub fn parse(bytes: &[u8], hash: Kind) -> Result<ParsedIndex, ParseError> {
        let (parsed, flat) = parse_whole(bytes, hash, EntryList::new)?;
        Ok(parsed.with(flat))
    }
}

impl ParsedIndex {
    /// Joins this index with the bytes of the `shared` one, if its `link` names one. It keeps its own cache-tree and marks.
    ///
    /// # Errors
    /// The bytes are not an index, or not one that fits.
    pub fn join(self, shared: &[u8]) -> Result<Index, ParseError> {
        let Some(link) = &self.link else {
            return Ok(self.index);
        };
        let join = |hint| Join::new(&self.index, link, hint, EntryList::new);
        let (_, joined) = parse_whole(shared, self.index.hash, join)?;
        let flat = joined.finish()?;
        Ok(self.with(flat).index)
    }
}

fn parse_whole<T: EntrySink>(
    bytes: &[u8],
    hash: Kind,
    make_sink: impl FnOnce(SizeHint) -> T,
) -> Result<(ParsedIndex, T), ParseError> {
    let mut parser = IndexParser::new(bytes, bytes.len(), hash, make_sink)?;
    let rest = bytes.get(HEADER_LEN..).unwrap_or_default();
    let used = parser.feed(rest, true)?;
    parser.finish(rest.get(used..).unwrap_or_default())
}
