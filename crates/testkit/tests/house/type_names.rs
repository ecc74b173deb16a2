//! Names that would fit any type, and so say nothing of the one that has them.

use std::collections::BTreeMap;

use syn::Item;
use syn::visit::{self, Visit};

use crate::{collect_sources, workspace};

/// Each of these was once the name of several types that had nothing in common. At most one type may have it: whoever
/// meets the name in any file then knows which type that is.
const GENERIC_NAMES: [&str; 11] = [
    "Found", "Kept", "Known", "Look", "Part", "Place", "Plan", "Reader", "Source", "State", "Table",
];

/// The names of the types in a source file, wherever they are in it.
#[derive(Default)]
struct TypeNames(Vec<String>);

impl<'f> Visit<'f> for TypeNames {
    fn visit_item(&mut self, item: &'f Item) {
        let name = match item {
            Item::Enum(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        self.0.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }
}

/// Returns the generic names that several types in `files` have, each with the paths of their files. A file is given by its
/// path and its text.
fn shared_names(files: &[(String, String)]) -> BTreeMap<&'static str, Vec<&str>> {
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, text) in files {
        // Parsing every file would take a while.
        let mut names = GENERIC_NAMES.iter();
        if !names.any(|name| text.contains(&format!(" {name}"))) {
            continue;
        }
        let mut types = TypeNames::default();
        types.visit_file(&syn::parse_file(text).unwrap());
        for name in types.0 {
            if let Some(generic) = GENERIC_NAMES.iter().find(|generic| **generic == name) {
                users.entry(generic).or_default().push(path);
            }
        }
    }
    users.retain(|_, paths| paths.len() > 1);
    users
}

#[test]
fn no_two_types_share_a_name_that_would_fit_any() {
    let root = workspace();
    let mut paths = Vec::new();
    for folder in ["crates", "bench", "fuzz"] {
        collect_sources(&root.join(folder), &mut paths);
    }
    let file = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let inner = path.strip_prefix(&root).unwrap();
        (inner.display().to_string(), text)
    };
    let files: Vec<(String, String)> = paths.iter().map(file).collect();
    assert!(files.len() > 500, "only {} files were read", files.len());
    let shared = shared_names(&files);
    assert!(
        shared.is_empty(),
        "give all but one an exact name: {shared:#?}"
    );
}

#[test]
fn shared_names_are_found_wherever_the_types_are() {
    let shared = |texts: [&str; 2]| {
        let files = texts.map(|text| ("file".to_owned(), text.to_owned()));
        shared_names(&files).into_keys().collect::<Vec<_>>()
    };
    for texts in [
        ["pub struct Found;", "enum Found {}"],
        ["trait Found {}", "type Found = u8;"],
        ["union Found { a: u8 }", "mod a { struct Found; }"],
        ["struct Found;", "fn f() { struct Found; }"],
        ["struct Found; mod a { struct Found; }", ""],
        [
            "#[cfg(test)] mod a { struct Found; }",
            "struct Found<'a>(&'a u8);",
        ],
    ] {
        assert_eq!(shared(texts), ["Found"], "{texts:?}");
    }
    for texts in [
        ["struct Found;", "struct FoundObject;"],
        ["struct Found;", "enum Outcome { Found }"],
        [
            "struct Found;",
            "// struct Found;\nuse a::Found; impl Found {}",
        ],
        ["struct Exact;", "struct Exact;"],
    ] {
        assert!(shared(texts).is_empty(), "{texts:?}");
    }
}
