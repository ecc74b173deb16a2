#![no_main]

vigil_fuzz::fuzz!("regular_expression");
