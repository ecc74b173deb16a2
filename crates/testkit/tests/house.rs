//! The rules of the house that no compiler checks: which crate may use which, and under which licences.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails may panic"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--offline",
            // Only what is built here was downloaded.
            "--filter-platform",
            &format!("{}-unknown-linux-gnu", std::env::consts::ARCH),
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Our crates from the ground up, each with those that it may use, tests aside: whoever is named may use what is below, too.
const HOUSE: [(&str, &[&str]); 17] = [
    ("vigil-linux", &[]),
    ("vigil-model", &[]),
    ("vigil-stamp", &["vigil-model", "vigil-linux"]),
    ("vigil-store", &["vigil-stamp"]),
    ("vigil-rules", &["vigil-stamp"]),
    ("vigil-objects", &["vigil-stamp"]),
    ("vigil-scan", &["vigil-stamp"]),
    ("vigil-watch", &["vigil-stamp"]),
    (
        "vigil-git",
        &["vigil-objects", "vigil-rules", "vigil-store"],
    ),
    ("vigil-history", &["vigil-git"]),
    ("vigil-hg", &["vigil-rules", "vigil-store"]),
    (
        "vigil-engine",
        &["vigil-history", "vigil-scan", "vigil-watch"],
    ),
    ("vigil-daemon", &["vigil-engine", "vigil-watch"]),
    ("vigil", &["vigil-daemon"]),
    ("vigil-testkit", &[]),
    ("vigil-fuzz", &["vigil"]),
    ("vigil-bench", &["vigil-linux"]),
];

/// The rooms that neither print nor read the environment, exit or name a socket.
const BELOW_THE_DOORS: [&str; 9] = [
    "model", "stamp", "store", "rules", "objects", "git", "history", "scan", "engine",
];

/// Which of our crates each crate may depend on, tests aside.
fn allowed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut allowed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, uses) in HOUSE {
        let below = uses.iter().flat_map(|used| allowed[used].iter().copied());
        let all = below.chain(uses.iter().copied()).collect();
        allowed.insert(name, all);
    }
    allowed
}

#[test]
fn crates_use_only_those_below_them() {
    let metadata = metadata();
    let allowed = allowed();
    let mut seen = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if !package["source"].is_null() {
            continue;
        }
        let may_use = allowed
            .get(name)
            .unwrap_or_else(|| panic!("{name} has no place in the house"));
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
    // Rooms for what comes are in the plan already.
    let planned = BTreeSet::from(["vigil-hg"]);
    let known = allowed.keys().copied().collect::<BTreeSet<_>>();
    assert_eq!(&known - &seen, planned);
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

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn unsafe_code_stays_in_its_room_and_nothing_is_left_for_later() {
    let root = root();
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    sources(&root.join("bench"), &mut files);
    assert!(files.len() > 20);
    let later = ["TO", "DO"].concat();
    let mend = ["FIX", "ME"].concat();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let is_linux = file.starts_with(root.join("crates/linux"));
        let opens_unsafe = text.lines().any(|line| {
            let code = line.split("//").next().unwrap_or_default();
            ["unsafe {", "unsafe fn", "unsafe impl"]
                .iter()
                .any(|form| code.contains(form) && !code.contains('"'))
        });
        assert!(
            is_linux || !opens_unsafe,
            "unsafe code in {}",
            file.display()
        );
        assert!(
            !text.contains(&later) && !text.contains(&mend),
            "left for later in {}",
            file.display()
        );
    }
}

#[test]
fn the_engine_neither_prints_nor_reads_its_surroundings() {
    let root = root();
    let mut files = Vec::new();
    for room in BELOW_THE_DOORS.map(|room| format!("crates/{room}/src")) {
        sources(&root.join(&room), &mut files);
    }
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_test = file.components().any(|part| {
            let part = part.as_os_str().to_string_lossy();
            part.contains("test") || part == "oracle.rs"
        });
        for forbidden in [
            "println!",
            "print!(",
            "std::env::",
            "process::exit",
            "UnixListener",
        ] {
            assert!(
                is_test || !code.contains(forbidden),
                "{forbidden} in {}",
                file.display()
            );
        }
    }
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let root = root();
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    let all: String = files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    let mut guards = 0;
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
            guards += 1;
        }
    }
    assert!(guards >= 7, "only {guards} guards are named");
}
