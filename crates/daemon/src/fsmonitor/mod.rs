//! git's questions to a file system monitor, and the answers: through a hook (githooks(5), fsmonitor-watchman), or through the
//! socket of git's builtin monitor.

pub(crate) mod packets;
mod payload;
mod place;
mod token;

pub use self::payload::without_answer;
pub use self::token::Form;

pub(crate) use self::payload::payload;
pub(crate) use self::place::{NoPlace, place};
pub(crate) use self::token::Token;
