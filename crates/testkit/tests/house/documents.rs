//! What documents say of the code.

use std::collections::BTreeSet;

use crate::{collect_sources, workspace};

#[test]
fn every_invariant_names_a_test_that_exists() {
    let root = workspace();
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let mut files = Vec::new();
    collect_sources(&root.join("crates"), &mut files);
    let all: String = files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    let mut guard_count = 0;
    for line in text.lines() {
        let Some(list) = line.trim().strip_prefix("Guarded by: ") else {
            continue;
        };
        for name in list.trim_end_matches('.').split(", ") {
            let name = name.trim_matches('`');
            assert!(
                all.contains(&format!("fn {name}(")),
                "no test is called {name}"
            );
            guard_count += 1;
        }
    }
    let (_, invariants) = text.split_once("\n## Invariants\n").unwrap();
    let invariants = invariants.split("\n## ").next().unwrap();
    let is_numbered = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    let guarded = invariants.matches("   Guarded by: ").count();
    assert_eq!(guarded, invariants.lines().filter(is_numbered).count());
    assert!(guard_count >= guarded && guarded > 0);
}

#[test]
fn every_source_file_that_a_document_names_exists() {
    let root = workspace();
    let mut files = Vec::new();
    collect_sources(&root.join("crates"), &mut files);
    collect_sources(&root.join("bench"), &mut files);
    // Documents may leave out the folders between a crate and its modules.
    let without_src = |path: &str| path.replace("src/", "");
    let known: Vec<String> = files
        .iter()
        .map(|file| without_src(&file.to_string_lossy()))
        .collect();
    let mut count = 0;
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root.join(document)).unwrap();
        let is_in_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        let names = text.split(|c| !is_in_path(c));
        for name in names.filter(|name| name.ends_with(".rs")) {
            let end = format!("/{}", without_src(name.trim_start_matches('/')));
            assert!(
                known.iter().any(|file| file.ends_with(&end)),
                "{document} names {name}, which does not exist"
            );
            count += 1;
        }
    }
    assert!(count > 50, "only {count} names were looked for");
}

/// The names of Vigil's own variables in `text`. One that ends with `_` is the beginning of others.
fn variables_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("VIGIL_")).collect()
}

#[test]
fn every_variable_that_is_read_is_documented_and_every_documented_one_is_read() {
    let root = workspace();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let krate = entry.unwrap();
        if krate.file_name() != "testkit" {
            collect_sources(&krate.path().join("src"), &mut files);
        }
    }
    files.retain(|file| {
        !file
            .iter()
            .any(|part| part == "tests" || part == "tests.rs")
    });
    for entry in std::fs::read_dir(root.join("shell")).unwrap() {
        files.push(entry.unwrap().path());
    }
    let sources: String = files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let (code, _) = text
                .split_once("\n#[cfg(test)]\nmod tests {")
                .unwrap_or((&text, ""));
            code.to_owned()
        })
        .collect();
    let documents: String = ["docs", "crates/cli/pages"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "md" || end == "txt")
        })
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let (read, documented) = (variables_in(&sources), variables_in(&documents));
    let undocumented: Vec<&&str> = read.difference(&documented).collect();
    assert!(undocumented.is_empty(), "{undocumented:?}");
    let is_read = |name: &str| {
        let mut known = read.iter();
        known.any(|known| name == *known || known.ends_with('_') && name.starts_with(known))
    };
    let unread: Vec<&&str> = documented.iter().filter(|name| !is_read(name)).collect();
    assert!(unread.is_empty(), "{unread:?}");
    assert!(read.len() > 10, "only {read:?} are read");
}
