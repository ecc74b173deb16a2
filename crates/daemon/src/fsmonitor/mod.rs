//! What git asks a file system monitor, and what it is told: by a hook (githooks(5), fsmonitor-watchman), or by the socket of its
//! builtin monitor.

pub(crate) mod packets;
mod payload;
mod place;
mod token;

pub use self::payload::without_answer;
pub use self::token::Form;

pub(crate) use self::payload::payload;
pub(crate) use self::place::{NoPlace, place};
pub(crate) use self::token::Token;
