//! Tokens, by which git says up to where it knows what changed.

use std::sync::OnceLock;
use std::time::SystemTime;

use bstr::{BString, ByteSlice};
use vigil_engine::session::{ForGit, ToldUntil};

/// The receiver of an answer. Each has tokens of its own form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenForm {
    /// git's own client of its builtin monitor.
    Builtin,
    /// The hook, whose tokens git does not interpret.
    Hook,
}

/// The mark in a token that was sent with the answer that everything may have changed.
const WITHOUT_LISTINGS: &str = "-all";

/// The longest token that is parsed.
const LEN_MAX: usize = 256;

/// A position in the changes up to which git was told by this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) ToldUntil);

/// The identity of this process: its pid, and the time of the first call in nanoseconds.
fn process() -> &'static (u32, u128) {
    static PROCESS: OnceLock<(u32, u128)> = OnceLock::new();
    PROCESS.get_or_init(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        (std::process::id(), now.map_or(0, |now| now.as_nanos()))
    })
}

impl TokenForm {
    /// The beginning of its tokens.
    pub(super) fn begin(self) -> &'static str {
        match self {
            Self::Builtin => "builtin:",
            Self::Hook => "vigil:",
        }
    }

    /// Which versions of git may receive the answer.
    pub(crate) fn for_git(self) -> ForGit {
        match self {
            Self::Builtin => ForGit::SinceSocket,
            Self::Hook => ForGit::SinceHook,
        }
    }
}

impl Token {
    /// Encodes the token: `<form>:<instance>.<process>.<time>:<number>`.
    pub(crate) fn to_text(self, form: TokenForm) -> BString {
        let (begin, (pid, time)) = (form.begin(), process());
        let ToldUntil {
            context_id, number, ..
        } = self.0;
        let mark = match self.0.has_right_listings {
            true => "",
            false => WITHOUT_LISTINGS,
        };
        format!("{begin}{context_id:032x}{mark}.{pid}.{time}:{number}").into()
    }

    /// Decodes `text`, if it is a token that this process could have issued.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = text.get(..LEN_MAX.min(text.len()))?.to_str().ok()?;
        let forms = [TokenForm::Builtin, TokenForm::Hook];
        // Either form is accepted: a user may switch between them.
        let rest = forms
            .iter()
            .find_map(|form| text.strip_prefix(form.begin()))?;
        let (instance, number) = rest.split_once(':')?;
        let mut parts = instance.split('.');
        let context_id = parts.next()?;
        let has_right_listings = !context_id.ends_with(WITHOUT_LISTINGS);
        let context_id = context_id.trim_end_matches(WITHOUT_LISTINGS);
        let context_id = u128::from_str_radix(context_id, 16).ok()?;
        let (pid, time) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let number = number.parse().ok()?;
        let token = Self(ToldUntil {
            context_id,
            number,
            has_right_listings,
        });
        // Only the exact text counts: signs and leading zeros are rejected.
        let is_ours =
            (pid, time) == *process() && forms.iter().any(|form| token.to_text(*form) == text);
        is_ours.then_some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_here_is_understood_and_nothing_else_is() {
        let token = |has_right_listings| {
            Token(ToldUntil {
                context_id: 7,
                number: u64::MAX,
                has_right_listings,
            })
        };
        let forms = [TokenForm::Builtin, TokenForm::Hook];
        for (form, token) in forms.into_iter().zip([token(true), token(false)]) {
            let text = token.to_text(form);
            assert_eq!(Token::parse(&text), Some(token));
            for len in 0..text.len() - 1 {
                let part = Token::parse(&text[..len]);
                assert_ne!(part, Some(token), "{text}");
            }
            let other = text.replacen(".", ".1", 1);
            assert_eq!(Token::parse(&other), None);
            assert_eq!(Token::parse(&[&text[..], b"x"].concat()), None);
            assert_eq!(Token::parse(&text.replace(":", ":+")), None);
        }
        for text in [
            "",
            "builtin:fake",
            "1729584000000000000",
            "vigil:::",
            "\u{fc}",
        ] {
            assert_eq!(Token::parse(text.as_bytes()), None);
        }
    }
}
