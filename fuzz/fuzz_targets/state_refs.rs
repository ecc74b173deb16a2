#![no_main]

vigil_fuzz::fuzz!("state_refs");
