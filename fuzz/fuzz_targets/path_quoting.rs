#![no_main]

vigil_fuzz::fuzz!("path_quoting");
