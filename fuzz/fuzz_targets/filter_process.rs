#![no_main]

vigil_fuzz::fuzz!("filter_process");
