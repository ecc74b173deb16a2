#![no_main]

vigil_fuzz::fuzz!("split_index");
