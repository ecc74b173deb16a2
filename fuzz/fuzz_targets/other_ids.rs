#![no_main]

vigil_fuzz::fuzz!("other_ids");
