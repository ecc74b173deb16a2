//! The words by which git says up to where it was told what changed.

use std::sync::OnceLock;
use std::time::SystemTime;

use bstr::{BString, ByteSlice};
use vigil_engine::session::ToldUntil;

/// Who is told: the words are not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// git's own client of its builtin monitor.
    Builtin,
    /// The hook, whose words mean nothing to git.
    Hook,
}

/// What is in a token that came with the word that everything may have changed.
const WITHOUT_LISTINGS: &str = "-all";

/// The longest token that is looked at.
const LEN_MAX: usize = 256;

/// Up to where somebody was told, by this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) ToldUntil);

/// This process, of all that ever were: its number, and when it began, in nanoseconds.
fn process() -> &'static (u32, u128) {
    static PROCESS: OnceLock<(u32, u128)> = OnceLock::new();
    PROCESS.get_or_init(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        (std::process::id(), now.map_or(0, |now| now.as_nanos()))
    })
}

impl Form {
    /// How its tokens begin.
    pub(super) fn begin(self) -> &'static str {
        match self {
            Self::Builtin => "builtin:",
            Self::Hook => "vigil:",
        }
    }
}

impl Token {
    /// As it is told: `<form>:<instance>.<process>.<time>:<number>`.
    pub(crate) fn to_text(self, form: Form) -> BString {
        let (begin, (pid, time)) = (form.begin(), process());
        let ToldUntil { ground, number, .. } = self.0;
        let mark = match self.0.has_right_listings {
            true => "",
            false => WITHOUT_LISTINGS,
        };
        format!("{begin}{ground:032x}{mark}.{pid}.{time}:{number}").into()
    }

    /// What `text` says, if this process said it.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = text.get(..LEN_MAX.min(text.len()))?.to_str().ok()?;
        let forms = [Form::Builtin, Form::Hook];
        // Of either form: a user may go from one to the other.
        let rest = forms
            .iter()
            .find_map(|form| text.strip_prefix(form.begin()))?;
        let (instance, number) = rest.split_once(':')?;
        let mut parts = instance.split('.');
        let ground = parts.next()?;
        let has_right_listings = !ground.ends_with(WITHOUT_LISTINGS);
        let ground = ground.trim_end_matches(WITHOUT_LISTINGS);
        let ground = u128::from_str_radix(ground, 16).ok()?;
        let (pid, time) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let number = number.parse().ok()?;
        let token = Self(ToldUntil {
            ground,
            number,
            has_right_listings,
        });
        // Signs and zeros in front are nobody's.
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
                ground: 7,
                number: u64::MAX,
                has_right_listings,
            })
        };
        let forms = [Form::Builtin, Form::Hook];
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
