//! Mercurial's files.

mod changelog;

use std::path::Path;
use std::sync::OnceLock;

use bstr::{BString, ByteSlice};
use regex::bytes::RegexBuilder;
use vigil_hg::config::{self, Config};
use vigil_hg::dirstate::{Dirstate, Docket};
use vigil_hg::line_endings::LineEndings;
use vigil_hg::node::Node;
use vigil_hg::patterns::{
    self, Compiled, Kind, Matcher, MatcherQuestion, Nearest, Pattern, Portion,
};
use vigil_hg::portion_file::PortionFile;
use vigil_hg::repository::{Repository, Requirements};
use vigil_hg::revision::{Revisions, Target};
use vigil_hg::revlog::Revlog;
use vigil_hg::stored::{self, Manifest, Names};
use vigil_hg::subrepositories::Subrepositories;
use vigil_linux::stat::Stat;
use vigil_stamp::file::Contents;

use crate::input::Input;

/// Checks what holds for every dirstate: each path is relative, and is found at its position and below its directory.
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
        let listed = dirstate.listed_under([0; 20]);
        let stat = Stat::default();
        assert!(!listed.is_some_and(|listed| listed.holds_only_recorded("".into(), &stat)));
    }
}

pub(crate) fn hg_revlog(data: &[u8]) {
    check_revlog(&[(".i", data)]);
}

/// Fuzzes a docket, and the files that it names.
pub(crate) fn hg_docket(data: &[u8]) {
    let mut input = Input(data);
    let [docket, index, data] = [(); 3].map(|()| input.part());
    check_revlog(&[
        (".i", docket),
        (".idx", index),
        (".dat", data),
        (".sda", input.0),
    ]);
}

/// Checks what holds for every revlog of `files`, given by the endings of their names: a text has the recorded hash.
fn check_revlog(files: &[(&str, &[u8])]) {
    let folder = tempfile::tempdir().unwrap();
    for (end, bytes) in files {
        std::fs::write(folder.path().join(end), bytes).unwrap();
    }
    let place = |end: &str| {
        assert!(!end.contains('/'));
        folder.path().join(&end[end.rfind('.').unwrap()..])
    };
    let Ok(mut log) = Revlog::open(place, "x") else {
        return;
    };
    for number in 0..u32::try_from(log.len()).unwrap() {
        let revision = log.revision(number).unwrap();
        if let Ok(text) = log.text(number) {
            assert_eq!(log.has_hash_of(&revision, &text), Some(true));
        }
        let _ = log.sidedata(number, 12);
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

/// Checks that a translated pattern is a valid expression.
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
        assert!(requirements.has("revlogv1") || requirements.has("exp-revlogv2.2"));
    }
}

pub(crate) fn hg_checkout(data: &[u8]) {
    vigil_hg::checkout::fuzz(data);
}

/// A repository with a merge, made once.
fn repository() -> &'static Repository {
    static REPOSITORY: OnceLock<Repository> = OnceLock::new();
    REPOSITORY.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap().keep();
        changelog::make(&folder);
        Repository::open(&folder).unwrap()
    })
}

pub(crate) fn hg_revision(data: &[u8]) {
    let mut input = Input(data);
    let repository = repository();
    let parents = [changelog::node(3), Node::default()];
    let mut revisions = Revisions::new(repository, parents).unwrap();
    let texts = [input.field(), input.field()].map(BString::from);
    let is_known = |target: &Target| match target {
        Target::Changeset(number) => *number < changelog::LEN,
        _ => true,
    };
    for texts in [&texts[..1], &texts] {
        if let Ok(pair) = revisions.pair(texts) {
            assert!(pair.iter().all(is_known), "{texts:?}");
        }
    }
    if let Ok([from, to]) = revisions.change(texts[0].as_bstr()) {
        assert!(is_known(&from) && is_known(&to));
    }
}

pub(crate) fn hg_names(data: &[u8]) {
    let mut input = Input(data);
    let parents = [changelog::node(3), Node::default()];
    let revisions = Revisions::new(repository(), parents).unwrap();
    revisions.fuzz(input.field(), input.0);
}

pub(crate) fn hg_texts(data: &[u8]) {
    stored::fuzz(data);
}

/// Checks that the store's name for a file is a path below its folder, with components that any file system accepts.
pub(crate) fn hg_store_name(data: &[u8]) {
    let inside = crate::input::path_inside(data);
    let path = [b"data/", inside.as_slice(), b".i"].concat();
    for dots in [false, true] {
        let name = Names::Hybrid { dots }.encoded(&path);
        assert!(
            name.iter()
                .all(|byte| (32..127).contains(byte) && !byte.is_ascii_uppercase())
        );
        let parts = || name.split(|byte| *byte == b'/');
        assert!(parts().all(|part| !matches!(part, b"." | b"..")));
        // One directory may be long by itself.
        assert!(name.len() <= 120, "{name}");
    }
    Names::Encoded.encoded(&path);
    Names::Plain.encoded(&path);
    assert!(Names::Underscored.encoded(&path).len() >= path.len());
}

/// Makes matchers of patterns of all kinds, and asks them about any path.
pub(crate) fn hg_matcher(data: &[u8]) {
    let mut input = Input(&data[..data.len().min(512)]);
    let path = crate::input::path_inside(input.field());
    let path = path.as_bstr();
    let (kind, text) = Kind::split(input.field(), Kind::RelGlob);
    let pattern = Pattern {
        kind,
        text: text.into(),
        source: BString::default(),
    };
    if let Ok(compiled) = Compiled::new(&[pattern], "(?:/|$)") {
        compiled.is_match(path);
    }
    let patterns: Vec<BString> = input
        .0
        .split(|byte| *byte == 0xff)
        .map(BString::from)
        .collect();
    let reads_files = |pattern: &BString| {
        let (kind, _) = Kind::split(pattern, Kind::Glob);
        matches!(
            kind,
            Kind::ListFile | Kind::ListFile0 | Kind::Include | Kind::SubInclude
        )
    };
    if patterns.iter().any(reads_files) {
        return;
    }
    let root = &repository().root;
    let matcher = Matcher::new(&MatcherQuestion {
        root,
        cwd: root,
        patterns: &patterns,
        include: &[],
        exclude: &[],
        subrepositories: Some(&Subrepositories::default()),
    });
    if let Ok(matcher) = matcher
        && matcher.is_match(path)
        && !path.is_empty()
    {
        let above = path.rfind_byte(b'/').map_or(&b""[..], |at| &path[..at]);
        assert!(
            matcher.may_match_below(above.as_bstr()),
            "{patterns:?} {path}"
        );
    }
}

/// Checks that what is converted once is not converted further.
pub(crate) fn hg_line_endings(data: &[u8]) {
    let mut input = Input(&data[..data.len().min(4096)]);
    let path = crate::input::path_inside(input.field());
    let hgeol = input.field();
    let Ok(line_endings) = LineEndings::parse(Path::new("/nowhere"), hgeol) else {
        return;
    };
    let once = line_endings.committed(path.as_bstr(), input.0.to_vec());
    let twice = line_endings.committed(path.as_bstr(), once.clone());
    assert_eq!(once, twice);
}

/// Checks that a portion file has only what is in the lines of its text, and that the nearest path decides.
pub(crate) fn hg_portion(data: &[u8]) {
    let mut input = Input(&data[..data.len().min(4096)]);
    let path = crate::input::path_inside(input.field());
    let path = path.as_bstr();
    let text = input.0;
    let mut warnings = Vec::new();
    let Ok(file) = PortionFile::parse(text, "sparse", &mut warnings) else {
        return;
    };
    let (includes, excludes) = (&file.includes, &file.excludes);
    for said in includes.iter().chain(excludes).chain(&file.profiles) {
        assert!(!said.is_empty() && text.find(said.as_slice()).is_some());
    }
    let portion = Portion::Nearest(Nearest::new(includes, excludes));
    let is_above = |above: &&BString| vigil_model::path::is_at_or_below(path, above);
    let nearest = includes
        .iter()
        .chain(excludes)
        .filter(is_above)
        .max_by_key(|above| above.len());
    let expected = nearest.is_some_and(|nearest| !excludes.contains(nearest));
    assert_eq!(portion.is_match(path), expected, "{file:?} {path}");
    let parent = vigil_model::path::parent(path);
    assert!(!expected || portion.may_match_below(parent));
}

pub(crate) fn hg_subrepositories(data: &[u8]) {
    let mut input = Input(data);
    let places = input.field();
    let config = Config::default();
    if let Ok(read) = Subrepositories::parse(places, input.0, ".hgsubstate".into(), &config) {
        let lines = places.split(|byte| matches!(byte, b'\n' | b'\r'));
        assert!(read.paths().count() <= lines.count());
        for path in read.paths() {
            assert!(read.has(path) && !path.is_empty());
            let _ = read.get(path);
        }
        assert_eq!(read.is_empty(), read.paths().next().is_none());
    }
}
