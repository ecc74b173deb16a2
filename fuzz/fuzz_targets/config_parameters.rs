#![no_main]

vigil_fuzz::fuzz!("config_parameters");
