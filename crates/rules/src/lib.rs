//! The verdicts of ignore rules, attributes, pathspecs and sparse-checkout patterns on paths: text and paths in,
//! verdicts out (gitignore(5), gitattributes(5), gitglossary(7) "pathspec", git-sparse-checkout(1)).
//!
//! May import `stamp`, `model` and `linux`. The caller says where the files of rules are: this crate knows no
//! repository and no configuration.

pub mod attributes;
pub mod ignore;
pub mod messages;
pub mod pathspec;
pub mod sparse;
