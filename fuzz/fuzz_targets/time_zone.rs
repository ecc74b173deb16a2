#![no_main]

vigil_fuzz::fuzz!("time_zone");
