#![no_main]

vigil_fuzz::fuzz!("process");
