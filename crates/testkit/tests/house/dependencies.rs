//! Which crate may use which, under which licences, and with which compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::{collect_sources, workspace};

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--offline",
            // Dependencies for other platforms were not downloaded.
            "--filter-platform",
            &format!("{}-unknown-linux-gnu", std::env::consts::ARCH),
        ])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Our crates from the bottom up, each with the crates that it may use; it may also use what those use. Tests may use more.
const CRATE_DEPENDENCIES: [(&str, &[&str]); 18] = [
    ("vigil-linux", &[]),
    ("vigil-model", &[]),
    ("vigil-stamp", &["vigil-model", "vigil-linux"]),
    ("vigil-store", &["vigil-stamp"]),
    ("vigil-rules", &["vigil-stamp"]),
    ("vigil-objects", &["vigil-stamp"]),
    ("vigil-scan", &["vigil-stamp"]),
    ("vigil-watch", &["vigil-stamp"]),
    ("vigil-git", &["vigil-objects", "vigil-store"]),
    ("vigil-convert", &["vigil-git", "vigil-rules"]),
    ("vigil-history", &["vigil-git"]),
    ("vigil-hg", &["vigil-stamp"]),
    (
        "vigil-engine",
        &[
            "vigil-convert",
            "vigil-history",
            "vigil-hg",
            "vigil-scan",
            "vigil-watch",
        ],
    ),
    ("vigil-daemon", &["vigil-engine", "vigil-watch"]),
    ("vigil", &["vigil-daemon"]),
    ("vigil-testkit", &[]),
    ("vigil-fuzz", &["vigil"]),
    ("vigil-bench", &["vigil-linux"]),
];

/// Returns the crates of ours that each crate may depend on, directly or not, except in tests.
fn allowed_dependencies() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut allowed_dependencies: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, uses) in CRATE_DEPENDENCIES {
        let below = uses
            .iter()
            .flat_map(|used| allowed_dependencies[used].iter().copied());
        let all = below.chain(uses.iter().copied()).collect();
        allowed_dependencies.insert(name, all);
    }
    allowed_dependencies
}

#[test]
fn crates_use_only_those_below_them() {
    let metadata = metadata();
    let allowed_dependencies = allowed_dependencies();
    let mut seen = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if !package["source"].is_null() {
            continue;
        }
        let may_use = allowed_dependencies
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not in CRATE_DEPENDENCIES"));
        seen.insert(name);
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            let is_ours = used == "vigil" || used.starts_with("vigil-");
            let is_for_tests = dependency["kind"] == "dev";
            assert!(
                !is_ours || is_for_tests || may_use.contains(used),
                "{name} may not use {used}"
            );
        }
    }
    assert_eq!(
        allowed_dependencies
            .keys()
            .copied()
            .collect::<BTreeSet<_>>(),
        seen
    );
}

#[test]
fn every_dependency_has_a_permissive_licence() {
    const PERMISSIVE: [&str; 11] = [
        "MIT",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "ISC",
        "Zlib",
        "Unlicense",
        "0BSD",
        "Unicode-3.0",
    ];
    for package in metadata()["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"]
            .as_str()
            .unwrap_or_else(|| panic!("{name} names no licence"));
        let is_permissive = licence
            .replace(['(', ')'], "")
            .replace('/', " OR ")
            .split(" AND ")
            .all(|all| {
                all.split(" OR ")
                    .any(|one| PERMISSIVE.contains(&one.trim()))
            });
        assert!(is_permissive, "{name}: {licence}");
    }
}

#[test]
fn the_licences_of_all_that_is_in_the_program_are_printed() {
    let output = Command::new("sh")
        .args(["contrib/licences"])
        .current_dir(workspace())
        .env("CARGO", env!("CARGO"))
        .env("CARGO_NET_OFFLINE", "true")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{stderr}");
    let printed = String::from_utf8_lossy(&output.stdout);
    let (list, texts) = printed.split_once("\n---").unwrap();
    let (_, crates) = list.split_once("\n\n").unwrap();
    let crates: Vec<&str> = crates.lines().collect();
    assert!(crates.len() > 20, "{crates:?}");
    for line in crates {
        let (name, _) = line.split_once(": ").unwrap();
        assert!(texts.contains(&format!("\n{name}: ")), "no text of {name}");
    }
    // A library in C that a crate brings along.
    assert!(texts.contains("\nlibdeflate-sys ") && texts.contains("Eric Biggers"));
}

/// Returns the names of the dependencies in the text of a manifest, tests' too.
fn named_dependencies(manifest: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut is_list = false;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            is_list = section.ends_with("dependencies]");
        } else if is_list {
            let end = line.find(['.', ' ', '=']);
            names.extend(end.and_then(|end| line.get(..end)));
        }
    }
    names
}

#[test]
fn every_dependency_is_used() {
    let root = workspace();
    let folders = std::fs::read_dir(root.join("crates")).unwrap();
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
    folders.push(root.join("bench"));
    let mut count = 0;
    for folder in folders {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let mut files = Vec::new();
        collect_sources(&folder, &mut files);
        let texts = files.iter();
        let texts: Vec<String> = texts
            .map(|file| std::fs::read_to_string(file).unwrap())
            .collect();
        for name in named_dependencies(&manifest) {
            let in_code = name.replace('-', "_");
            let is_used = texts.iter().any(|text| text.contains(&in_code));
            assert!(is_used, "{} does not use {name}", folder.display());
            count += 1;
        }
    }
    assert!(count > 100, "only {count} dependencies were looked for");
}

#[test]
fn the_minimum_compiler_is_the_one_that_is_used() {
    let manifest = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let toolchain = std::fs::read_to_string(workspace().join("rust-toolchain.toml")).unwrap();
    let value = |text: &str, key: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap();
        line.trim_matches([' ', '=', '"']).to_owned()
    };
    let least = value(&manifest, "rust-version");
    let used = value(&toolchain, "channel");
    assert_eq!(used.rsplit_once('.').unwrap().0, least);
}
