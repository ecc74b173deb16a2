//! `vigil status` compared with git's.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

mod attributes;
mod complaints;
mod damaged_blobs;
mod large_files;
mod long_format;
mod odd_paths;
mod pager;
mod pathspecs;
mod progress;
mod sandbox;
mod small_directories;
mod submodules;
