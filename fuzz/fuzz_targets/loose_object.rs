#![no_main]

vigil_fuzz::fuzz!("loose_object");
