//! What documents say of the code.

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
