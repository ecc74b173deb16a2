//! What ignore rules, attributes, pathspecs and sparse-checkout patterns say of paths: text and paths in, verdicts out
//! (gitignore(5), gitattributes(5), gitglossary(7) "pathspec", git-sparse-checkout(1)).
//!
//! May import `stamp`, `model` and `linux`. Where the files with the text are is told to it: it knows no repository and no
//! configuration.

pub mod attributes;
pub mod ignore;
pub mod messages;
pub mod pathspec;
pub mod sparse;
pub mod wildmatch;
