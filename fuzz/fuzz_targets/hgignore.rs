#![no_main]

vigil_fuzz::fuzz!("hgignore");
