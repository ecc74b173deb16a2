//! Names as a terminal can show them. A question mark replaces any character that would control the terminal, hide or reverse
//! text, or be wider or narrower than it seems.

use bstr::ByteSlice;
use unicode_width::UnicodeWidthChar;

/// The replacement for a character that is not shown.
const REPLACEMENT: char = '?';

/// At most this many marks are shown above and below a letter.
const MARKS_MAX: usize = 4;

/// The characters that the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charset {
    Ascii,
    Unicode,
}

/// Characters that are invisible and affect the display of others (general category Cf), and those that break lines.
const FORMATS: [(u32, u32); 21] = [
    (0x00ad, 0x00ad),
    (0x034f, 0x034f),
    (0x0600, 0x0605),
    (0x061c, 0x061c),
    (0x06dd, 0x06dd),
    (0x070f, 0x070f),
    (0x0890, 0x0891),
    (0x08e2, 0x08e2),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x202f),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffd),
    (0x110bd, 0x110cd),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
];

/// The last planes: tags, further variation selectors, and private use.
const LAST_PLANES: u32 = 0xe_0000;

/// They choose between coloured and plain pictures. Dropping them loses nothing.
const SELECTORS: [char; 2] = ['\u{fe0e}', '\u{fe0f}'];

/// Returns the visible form of `text`.
pub(super) fn visible(text: &[u8], charset: Charset) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut marks = MARKS_MAX;
    for letter in text.chars() {
        if SELECTORS.contains(&letter) && charset == Charset::Unicode {
            continue;
        }
        let letter = match charset {
            Charset::Ascii if !letter.is_ascii() => REPLACEMENT,
            _ if is_hidden(letter) => REPLACEMENT,
            _ => letter,
        };
        match width(letter) {
            // A mark needs a letter to go with.
            0 if marks >= MARKS_MAX => {
                shown.push(REPLACEMENT);
            }
            0 => {
                marks = marks.saturating_add(1);
                shown.push(letter);
            }
            _ => {
                marks = 0;
                shown.push(letter);
            }
        }
    }
    shown
}

fn is_hidden(letter: char) -> bool {
    let number = u32::from(letter);
    letter.is_control()
        || number >= LAST_PLANES
        || FORMATS
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&number))
}

fn width(letter: char) -> usize {
    letter.width().unwrap_or_default()
}

/// The width of `text`, which is all visible, in terminal columns.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// The longest prefix of `text` that is at most `most` columns wide.
pub(super) fn head(text: &str, most: usize) -> &str {
    let mut taken = 0usize;
    let end = text.char_indices().find(|(_, letter)| {
        taken = taken.saturating_add(width(*letter));
        taken > most
    });
    match end {
        Some((at, _)) => text.get(..at).unwrap_or_default(),
        None => text,
    }
}

/// The longest suffix of `text` that is at most `most` columns wide and does not begin with a mark.
pub(super) fn tail(text: &str, most: usize) -> &str {
    let mut taken = 0usize;
    let mut start = text.len();
    for (at, letter) in text.char_indices().rev() {
        taken = taken.saturating_add(width(letter));
        if taken > most {
            break;
        }
        if width(letter) > 0 {
            start = at;
        }
    }
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: impl AsRef<[u8]>) -> String {
        visible(text.as_ref(), Charset::Unicode)
    }

    #[test]
    fn what_controls_hides_or_turns_is_a_question_mark() {
        assert_eq!(shown("a\u{9b}31m\u{85}b"), "a?31m?b");
        assert_eq!(shown(b"a\x9b31m\xff\xc3"), "a?31m??");
        assert_eq!(shown("\u{202e}x\u{2066}y\u{200b}z\u{feff}"), "?x?y?z?");
        assert_eq!(shown("a\u{e0041}\u{10ffff}\u{2028}"), "a???");
        assert_eq!(shown("a\x1b\x07\x7f"), "a???");
    }

    #[test]
    fn letters_of_all_scripts_stay_and_their_marks_within_measure() {
        for text in ["über", "u\u{308}ber", "日本語", "ветка", "🚀", "ไม้", "שלום"]
        {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("\u{2764}\u{fe0f}"), "\u{2764}");
        assert_eq!(shown("\u{301}a"), "?a");
        let many = format!("a{}", "\u{301}".repeat(6));
        assert_eq!(shown(&many), format!("a{}??", "\u{301}".repeat(4)));
        assert_eq!(visible("ü%".as_bytes(), Charset::Ascii), "?%");
    }

    #[test]
    fn columns_are_those_of_the_terminal() {
        for (text, want) in [
            ("main", 4),
            ("日本", 4),
            ("u\u{308}", 1),
            ("🚀", 2),
            ("", 0),
        ] {
            assert_eq!(columns(text), want, "{text}");
        }
        assert_eq!(head("日本語", 5), "日本");
        assert_eq!(tail("日本語", 5), "本語");
        assert_eq!(tail("au\u{308}", 1), "u\u{308}");
        assert_eq!(tail("au\u{308}", 0), "");
        assert_eq!((head("ab", 2), tail("ab", 2)), ("ab", "ab"));
    }
}
