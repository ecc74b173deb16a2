//! An index of any bytes is read or refused; it never panics, and lookups and joining a split index do not, either.
//!
//! The first byte chooses the kind of ids, the rest is the file. Seeds: `sh fuzz/seeds.sh`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vigil_model::HashKind;
use vigil_model::index::Index;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else {
        return;
    };
    let hash = match choice & 1 {
        0 => HashKind::Sha1,
        _ => HashKind::Sha256,
    };
    let parsed = match Index::parse(bytes, hash) {
        Ok(parsed) => parsed,
        Err(error) => {
            let _ = (error.to_string(), error.error_lines());
            return;
        }
    };
    let index = parsed.index;
    for entry in index.entries().iter().take(64) {
        let path = index.path(entry);
        let _ = index.find(path, entry.flags.stage());
        let range = index.range_of_directory(vigil_model::path::parent(path));
        assert!(range.end <= index.entries().len());
    }
    if let Some(link) = &parsed.link {
        let _ = Index::merge_split(index.clone(), index, link);
    }
});
