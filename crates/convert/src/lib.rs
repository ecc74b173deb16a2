//! What git makes of the contents of files: what `git add` would record of a file, what a checkout would write, and the text
//! that is shown of either (line endings, encodings, idents, filters and textconv in gitattributes(5)).
//!
//! May import `git`, `objects`, `rules`, `model` and `linux`. It runs the programs that the configuration names, and never
//! writes in a repository.

pub mod attribute_files;
pub mod converter;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod textconv;
