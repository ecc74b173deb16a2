#![no_main]

vigil_fuzz::fuzz!("line_endings");
