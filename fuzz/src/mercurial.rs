//! Mercurial's files.

use bstr::ByteSlice;
use regex::bytes::RegexBuilder;
use vigil_hg::config;
use vigil_hg::dirstate::{Dirstate, Docket};
use vigil_hg::patterns;
use vigil_hg::repository::Requirements;
use vigil_hg::revlog::Revlog;
use vigil_hg::stored::Manifest;
use vigil_stamp::file::Contents;

use crate::input::Input;

/// What holds of every dirstate: each path is found where it is, and leads down.
fn check(dirstate: &Dirstate) {
    for (at, (path, _)) in dirstate.iter().enumerate() {
        assert_eq!(dirstate.position(path), Some(at));
        assert!(!path.starts_with(b"/") && !path.contains(&0));
        if let Some(slash) = path.rfind_byte(b'/') {
            assert!(dirstate.has_directory(path[..slash].as_bstr()));
        }
        dirstate.copy_source(at);
    }
    assert_eq!(dirstate.has_directory("".into()), !dirstate.is_empty());
}

pub(crate) fn hg_dirstate(data: &[u8]) {
    if let Ok(dirstate) = Dirstate::of_v1(Contents::Read(data.to_vec())) {
        check(&dirstate);
    }
}

pub(crate) fn hg_dirstate_tree(data: &[u8]) {
    let mut input = Input(data);
    let Ok(docket) = Docket::parse(input.field()) else {
        return;
    };
    let data_len = input.0.len();
    if let Ok(dirstate) = Dirstate::of_v2(&docket, Contents::Read(input.0.to_vec())) {
        assert!(dirstate.len() <= data_len / 44);
        check(&dirstate);
    }
}

pub(crate) fn hg_revlog(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.i");
    std::fs::write(&path, data).unwrap();
    let Ok(mut log) = Revlog::open(&path, folder.path().join("x.d"), "x") else {
        return;
    };
    for number in 0..u32::try_from(log.len()).unwrap() {
        let revision = log.revision(number).unwrap();
        if let Ok(text) = log.text(number) {
            assert_eq!(log.has_hash_of(&revision, &text), Some(true));
        }
    }
}

pub(crate) fn hg_manifest(data: &[u8]) {
    let Some(manifest) = Manifest::parse(data.to_vec()) else {
        return;
    };
    for (path, entry) in manifest.iter() {
        assert_eq!(manifest.get(path), Some(entry));
    }
}

pub(crate) fn hgrc(data: &[u8]) {
    config::fuzz(data);
}

pub(crate) fn hgignore(data: &[u8]) {
    let file = patterns::parse_file(data, b"f");
    let lines = data.split(|byte| *byte == b'\n').count();
    assert!(file.patterns.len() + file.warnings.len() <= lines);
}

/// What is translated is an expression.
pub(crate) fn hg_pattern(data: &[u8]) {
    let data = &data[..data.len().min(512)];
    if let Ok(translated) = patterns::translate(data) {
        let regex = RegexBuilder::new(&translated)
            .unicode(false)
            .size_limit(1 << 20)
            .nest_limit(2000)
            .build();
        let is_large = matches!(regex, Err(regex::Error::CompiledTooBig(_)));
        assert!(is_large || regex.is_ok(), "{translated}");
    }
}

pub(crate) fn hg_requires(data: &[u8]) {
    let requirements = Requirements::parse(data);
    if requirements.check().is_ok() {
        assert!(requirements.has("revlogv1"));
    }
}

pub(crate) fn hg_checkout(data: &[u8]) {
    vigil_hg::checkout::fuzz(data);
}
