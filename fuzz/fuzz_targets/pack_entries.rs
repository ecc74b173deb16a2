#![no_main]

vigil_fuzz::fuzz!("pack_entries");
