#![no_main]

vigil_fuzz::fuzz!("sparse_checkout");
