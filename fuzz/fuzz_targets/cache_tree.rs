#![no_main]

vigil_fuzz::fuzz!("cache_tree");
