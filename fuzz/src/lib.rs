//! Properties that the parsers have for any input, one function for each parser.
//!
//! Each is run in two ways: at length by libFuzzer (`fuzz/run`, which needs a nightly compiler), and briefly with
//! each test run, on seeds and random mutations of them (`tests/fuzz_short.rs` of the testkit).

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod config;
mod contents;
mod index;
mod input;
mod mercurial;
pub mod mutation;
mod names;
mod objects;
mod patterns;
mod protocols;
mod refs;
mod state;
mod stores;

/// A parser, and the properties that it must have.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name, which is also that of the folder with its seeds.
    pub name: &'static str,
    /// Panics if a property does not hold.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($module:ident: $($name:ident)+;)+) => {
        /// All targets.
        pub const TARGETS: &[Target] = &[$($(Target { name: stringify!($name), run: $module::$name },)+)+];
    };
}

targets! {
    index: index split_index ewah cache_tree;
    config: config_text config_parameters config_value gitfile;
    refs: packed_refs loose_ref reflog reftable refspec;
    patterns: wildmatch ignore attributes pathspec sparse_checkout;
    objects: tree staged commit tag;
    protocols: gitstatusd daemon fsmonitor process filter_process;
    contents: line_endings ident path_quoting todo;
    state: state_file state_blocks;
    names: date time_zone regular_expression revision mailmap history other_ids commit_graph;
    mercurial: hg_dirstate hg_dirstate_tree hg_revlog hg_docket hg_manifest hgrc hgignore hg_pattern hg_requires
        hg_checkout hg_revision hg_names hg_texts hg_store_name hg_matcher hg_subrepositories
        hg_portion hg_line_endings;
    stores: pack_entries pack_index multi_pack_index loose_object delta alternates;
}

/// Runs the target `name` on `data`.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of that name").run)(data);
}

/// Defines a libFuzzer binary for the target of this name, which is also the name of the binary's file.
#[cfg(feature = "libfuzzer")]
#[macro_export]
macro_rules! fuzz {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::run($name, data));
    };
}

#[cfg(feature = "libfuzzer")]
#[doc(hidden)]
pub use libfuzzer_sys;
