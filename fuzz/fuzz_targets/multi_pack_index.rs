#![no_main]

vigil_fuzz::fuzz!("multi_pack_index");
