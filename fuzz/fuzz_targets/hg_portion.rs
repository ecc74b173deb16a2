#![no_main]

vigil_fuzz::fuzz!("hg_portion");
