//! Common encodings of one byte for each character, converted to and from UTF-8 as iconv(3) of the GNU C library does:
//! running a program for each file takes a hundred times as long.

/// An encoding in which most bytes are the characters with their numbers.
#[derive(Debug)]
pub(super) struct Encoding {
    names: &'static [&'static str],
    /// The bytes that are another character, or none.
    others: &'static [(u8, Option<char>)],
}

static ENCODINGS: [Encoding; 3] = [
    Encoding {
        names: &[
            "ISO-8859-1",
            "ISO8859-1",
            "ISO_8859-1",
            "ISO88591",
            "LATIN1",
            "L1",
        ],
        others: &[],
    },
    Encoding {
        names: &[
            "ISO-8859-15",
            "ISO8859-15",
            "ISO_8859-15",
            "ISO885915",
            "LATIN-9",
            "LATIN9",
        ],
        others: &[
            (0xa4, Some('€')),
            (0xa6, Some('Š')),
            (0xa8, Some('š')),
            (0xb4, Some('Ž')),
            (0xb8, Some('ž')),
            (0xbc, Some('Œ')),
            (0xbd, Some('œ')),
            (0xbe, Some('Ÿ')),
        ],
    },
    Encoding {
        names: &["WINDOWS-1252", "CP1252", "MS-ANSI"],
        others: &[
            (0x80, Some('€')),
            (0x81, None),
            (0x82, Some('‚')),
            (0x83, Some('ƒ')),
            (0x84, Some('„')),
            (0x85, Some('…')),
            (0x86, Some('†')),
            (0x87, Some('‡')),
            (0x88, Some('ˆ')),
            (0x89, Some('‰')),
            (0x8a, Some('Š')),
            (0x8b, Some('‹')),
            (0x8c, Some('Œ')),
            (0x8d, None),
            (0x8e, Some('Ž')),
            (0x8f, None),
            (0x90, None),
            (0x91, Some('‘')),
            (0x92, Some('’')),
            (0x93, Some('“')),
            (0x94, Some('”')),
            (0x95, Some('•')),
            (0x96, Some('–')),
            (0x97, Some('—')),
            (0x98, Some('˜')),
            (0x99, Some('™')),
            (0x9a, Some('š')),
            (0x9b, Some('›')),
            (0x9c, Some('œ')),
            (0x9d, None),
            (0x9e, Some('ž')),
            (0x9f, Some('Ÿ')),
        ],
    },
];

impl Encoding {
    /// Returns the encoding called `name`, if it is one of these.
    pub(super) fn named(name: &[u8]) -> Option<&'static Self> {
        let is_it = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
        let mut encodings = ENCODINGS.iter();
        encodings.find(|encoding| encoding.names.iter().any(is_it))
    }

    /// Decodes `text` from this encoding to UTF-8. `None` if a byte is no character.
    pub(super) fn decode(&self, text: &[u8]) -> Option<String> {
        text.iter().map(|&byte| self.character(byte)).collect()
    }

    /// Encodes `text` from UTF-8. `None` if it is not UTF-8, or a character has no byte.
    pub(super) fn encode(&self, text: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(text).ok()?;
        // Like the C library, which leaves out tags of languages.
        let shown = text
            .chars()
            .filter(|c| !matches!(c, '\u{e0000}'..='\u{e007f}'));
        shown.map(|character| self.byte(character)).collect()
    }

    fn character(&self, byte: u8) -> Option<char> {
        let mut others = self.others.iter();
        match others.find(|(other, _)| *other == byte) {
            Some((_, character)) => *character,
            None => Some(char::from(byte)),
        }
    }

    fn byte(&self, character: char) -> Option<u8> {
        if character.is_ascii() {
            return u8::try_from(character).ok();
        }
        let mut others = self.others.iter();
        if let Some((byte, _)) = others.find(|(_, other)| *other == Some(character)) {
            return Some(*byte);
        }
        let byte = u8::try_from(character).ok()?;
        (self.character(byte) == Some(character)).then_some(byte)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::program::iconv;
    use super::*;

    fn is_decoded_as_by_iconv(name: &str, text: &[u8]) {
        let encoding = Encoding::named(name.as_bytes()).unwrap();
        let utf8 = encoding.decode(text).map(String::into_bytes);
        assert_eq!(utf8, iconv(name, "UTF-8", text), "{name}, {text:?}");
    }

    fn is_encoded_as_by_iconv(name: &str, text: &[u8]) {
        let encoding = Encoding::named(name.as_bytes()).unwrap();
        let encoded = encoding.encode(text);
        assert_eq!(encoded, iconv("UTF-8", name, text), "{name}, {text:?}");
    }

    #[test]
    fn each_byte_and_character_is_converted_as_iconv_does() {
        for encoding in &ENCODINGS {
            for name in encoding.names {
                is_decoded_as_by_iconv(&name.to_lowercase(), b"plain \xe4\n");
                is_encoded_as_by_iconv(name, "plain ä\n".as_bytes());
            }
            let name = encoding.names[0];
            is_decoded_as_by_iconv(name, &(0..0x80).collect::<Vec<u8>>());
            for byte in 0x80..=u8::MAX {
                is_decoded_as_by_iconv(name, &[b'a', byte]);
            }
            let of_any = ENCODINGS.iter().flat_map(|encoding| encoding.others);
            let of_any = of_any.filter_map(|(_, character)| *character);
            let odd =
                "\u{101}\u{feff}\u{fffd}\u{dffff}\u{e0000}\u{e0041}\u{e007f}\u{e0080}😀".chars();
            for character in ('\u{80}'..='\u{ff}').chain(of_any).chain(odd) {
                is_encoded_as_by_iconv(name, format!("a{character}b").as_bytes());
            }
            for invalid in [&b"\xe4"[..], b"\xc3", b"a\xed\xa0\x80"] {
                is_encoded_as_by_iconv(name, invalid);
            }
        }
    }

    #[test]
    fn other_names_are_none_of_these_encodings() {
        for name in [
            "ISO-8859-2",
            "ISO-8859-1//TRANSLIT",
            "latin",
            "LATIN-1",
            "",
            "CP125",
        ] {
            assert!(Encoding::named(name.as_bytes()).is_none(), "{name}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn any_text_is_converted_as_iconv_does(
            at in 0..ENCODINGS.len(),
            text in prop::collection::vec(any::<u8>(), 1..60),
        ) {
            let name = ENCODINGS[at].names[0];
            is_decoded_as_by_iconv(name, &text);
            is_encoded_as_by_iconv(name, &text);
        }
    }
}
