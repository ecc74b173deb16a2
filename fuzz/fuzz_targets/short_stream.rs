#![no_main]

vigil_fuzz::fuzz!("short_stream");
