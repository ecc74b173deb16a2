//! What git tracks, ignores and compares.

pub(crate) mod advice;
pub mod attribute_files;
pub mod branch;
mod commits;
pub mod config;
pub mod convert;
pub mod describe;
pub mod index_file;
pub mod mailmap;
pub mod objects;
pub mod operation;
pub mod promisor;
pub mod refs;
pub mod reftable;
pub mod renames;
pub mod repository;
pub mod revision;
pub mod staged;
pub mod tags;
#[cfg(test)]
pub(crate) mod testing;
pub mod textconv;
