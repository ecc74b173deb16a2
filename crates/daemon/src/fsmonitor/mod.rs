//! git's questions to a file system monitor, and the answers: through a hook (githooks(5), fsmonitor-watchman), or through the
//! socket of git's builtin monitor.

pub(crate) mod packets;
mod payload;
mod socket_path;
mod token;

pub use self::payload::without_answer;
pub use self::token::TokenForm;

pub(crate) use self::payload::payload;
pub(crate) use self::socket_path::{NoSocketPath, socket_path};
pub(crate) use self::token::Token;
