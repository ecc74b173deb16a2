#![no_main]

vigil_fuzz::fuzz!("packed_refs");
