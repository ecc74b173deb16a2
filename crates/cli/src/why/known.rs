//! How the daemon knows about a path, as a sentence and as an object.

use bstr::BString;
use serde::Serialize;
use vigil_daemon::protocol::KnownBy;
use vigil_model::timestamp::Timestamp;

use crate::output::json::Text;
use crate::reply::bytes;
use crate::time::{TimeDocument, span};

/// A sentence about `path` at the time `now`, with paths written by `shown`.
pub(super) fn sentence(
    path: &BString,
    known: &KnownBy,
    now: Timestamp,
    shown: impl Fn(&BString) -> Vec<u8>,
) -> Vec<u8> {
    let ago = |then: Timestamp| {
        let s = now.s.saturating_sub(then.s);
        let s = s.saturating_sub(i64::from(now.ns < then.ns));
        bytes![span(s.max(0).cast_unsigned()), " ago"]
    };
    if let Some(reason) = &known.each_time {
        return bytes!["the daemon looks at it for every question: ", reason];
    }
    let Some(heard) = &known.heard else {
        let then = ago(known.looked_at_all);
        return bytes![
            "the daemon looked at everything ",
            then,
            ", and was told of no change to it since"
        ];
    };
    let what = match heard.path == *path {
        true => b"it".to_vec(),
        false => shown(&heard.path),
    };
    let then = match heard.is_looked_at {
        true => "and looked at it then",
        false => "and looks at it for the next question",
    };
    bytes![
        "the daemon was told ",
        ago(heard.at),
        " that ",
        what,
        " changed, ",
        then
    ]
}

#[derive(Serialize)]
pub(super) struct KnownDocument<'a> {
    looked_at_all: TimeDocument,
    heard: Option<HeardDocument<'a>>,
    each_time: Option<Text<'a>>,
}

#[derive(Serialize)]
struct HeardDocument<'a> {
    path: Text<'a>,
    at: TimeDocument,
    is_looked_at: bool,
}

impl<'a> KnownDocument<'a> {
    pub(super) fn of(known: &'a KnownBy) -> Self {
        Self {
            looked_at_all: known.looked_at_all.into(),
            heard: known.heard.as_ref().map(|heard| HeardDocument {
                path: Text::of(&heard.path),
                at: heard.at.into(),
                is_looked_at: heard.is_looked_at,
            }),
            each_time: known.each_time.as_ref().map(Text::of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_seconds_count() {
        let known = KnownBy {
            looked_at_all: Timestamp {
                s: 10,
                ns: 900_000_000,
            },
            heard: None,
            each_time: None,
        };
        let ago_at = |s, ns| {
            let sentence = sentence(&"a".into(), &known, Timestamp { s, ns }, |_| Vec::new());
            String::from_utf8(sentence).unwrap()
        };
        for (s, ns, ago) in [
            (10, 900_000_000, "0 s ago"),
            (11, 300_000_000, "0 s ago"),
            (11, 900_000_000, "1 s ago"),
            (9, 0, "0 s ago"),
        ] {
            let sentence = ago_at(s, ns);
            assert!(sentence.contains(&format!(" {ago},")), "{sentence}");
        }
    }
}
