#![no_main]

vigil_fuzz::fuzz!("hg_line_endings");
