//! Runs the fuzz targets for a short time: on seeds that git makes, and on the same random mutations of them each time.
//!
//! `fuzz/run` is the long form. An input on which a target fails is printed, so that it can become a test beside the parser.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails may panic"
)]

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

use vigil_fuzz::mutation::{Random, mutate};
use vigil_fuzz::{TARGETS, Target};

/// The number of mutated seeds that each target runs on.
const MUTATIONS: usize = 8000;
/// The number for the slow targets, which write inputs to files or compile patterns.
const MUTATIONS_OF_SLOW_TARGETS: usize = 400;
const SLOW_TARGETS: [&str; 12] = [
    "hg_line_endings",
    "hg_matcher",
    "hg_revision",
    "hg_revlog",
    "pack_entries",
    "pack_index",
    "multi_pack_index",
    "loose_object",
    "delta",
    "alternates",
    "commit_graph",
    "revision",
];
/// The length in bytes beyond which mutated seeds do not grow much.
const LEN_MAX: usize = 2048;

fn fuzz_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn read_seeds(folder: &Path) -> Vec<Vec<u8>> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("no seeds in {}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect()
}

/// Returns the first input on which the target fails: a seed or a mutated one.
fn first_failing_input(target: Target, seeds: &[Vec<u8>]) -> Option<Vec<u8>> {
    let fails = |data: &Vec<u8>| catch_unwind(AssertUnwindSafe(|| (target.run)(data))).is_err();
    let mut random = Random::new(target.name.len() as u64);
    let mutated = std::iter::repeat_with(|| {
        let mut data = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        mutate(&mut data, other, &mut random, LEN_MAX.max(other.len()));
        data
    });
    let count = match SLOW_TARGETS.contains(&target.name) {
        true => MUTATIONS_OF_SLOW_TARGETS,
        false => MUTATIONS,
    };
    let inputs = seeds.iter().cloned().chain(mutated.take(count));
    inputs.into_iter().find(fails)
}

#[test]
fn no_mutated_seed_makes_a_parser_fail() {
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new("sh")
        .arg(fuzz_folder().join("seeds.sh"))
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(status.success());
    // Two threads, each with every other target, since targets differ in cost.
    let run_every_other = |first: usize| -> Vec<String> {
        let targets = TARGETS.iter().skip(first).step_by(2);
        let failures = targets.filter_map(|target| {
            let data = first_failing_input(*target, &read_seeds(&folder.path().join(target.name)))?;
            Some(format!(
                "{} fails on b\"{}\"",
                target.name,
                data.escape_ascii()
            ))
        });
        failures.collect()
    };
    let failures = std::thread::scope(|scope| {
        let other = scope.spawn(|| run_every_other(1));
        [run_every_other(0), other.join().unwrap()].concat()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_target_has_a_binary_for_long_fuzzing() {
    let binaries: BTreeSet<String> = std::fs::read_dir(fuzz_folder().join("fuzz_targets"))
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let names: BTreeSet<String> = TARGETS
        .iter()
        .map(|target| target.name.to_owned())
        .collect();
    assert_eq!(binaries, names);
    for name in &names {
        let path = fuzz_folder()
            .join("fuzz_targets")
            .join(format!("{name}.rs"));
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(&format!("fuzz!(\"{name}\")")), "{name}");
    }
    let manifest = std::fs::read_to_string(fuzz_folder().join("Cargo.toml")).unwrap();
    let listed = manifest.matches("[[bin]]").count();
    assert_eq!(listed, names.len());
}
