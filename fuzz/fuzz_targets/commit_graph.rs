#![no_main]

vigil_fuzz::fuzz!("commit_graph");
