#![no_main]

vigil_fuzz::fuzz!("state_commits");
