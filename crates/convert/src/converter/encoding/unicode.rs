//! The encodings of Unicode, converted to and from UTF-8 as iconv(3) of the GNU C library does.

use super::utf_suffix;

/// UTF-16 or UTF-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding {
    unit: Unit,
    order: Order,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Two,
    Four,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The order given by a mark at the start, or this machine's if there is none. Encoded text begins with a mark.
    Marked,
    Little,
    Big,
}

#[cfg(target_endian = "little")]
const OWN_ORDER: Order = Order::Little;
#[cfg(target_endian = "big")]
const OWN_ORDER: Order = Order::Big;

/// The byte order mark at the start of a text.
const MARK: char = '\u{feff}';

impl Encoding {
    /// Returns the encoding called `name`, if it is one of these.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let (width, order) = utf_suffix(name)?.split_at_checked(2)?;
        Some(Self {
            unit: match width {
                b"16" => Unit::Two,
                b"32" => Unit::Four,
                _ => return None,
            },
            order: match order.to_ascii_lowercase().as_slice() {
                b"" => Order::Marked,
                b"le" => Order::Little,
                b"be" => Order::Big,
                _ => return None,
            },
        })
    }

    /// Decodes `text` from this encoding to UTF-8. `None` if it is invalid or cut off.
    pub(super) fn decode(self, text: &[u8]) -> Option<String> {
        let (order, text) = self.order_of(text);
        match self.unit {
            Unit::Two => {
                let units = units(text, order)?.map(u16::from_le_bytes);
                char::decode_utf16(units).collect::<Result<_, _>>().ok()
            }
            Unit::Four => {
                let units = units(text, order)?.map(u32::from_le_bytes);
                units.map(char::from_u32).collect()
            }
        }
    }

    /// Encodes `text` from UTF-8. `None` if it is not UTF-8.
    pub(super) fn encode(self, text: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(text).ok()?;
        let (mark, order) = match self.order {
            Order::Marked => (Some(MARK), OWN_ORDER),
            order => (None, order),
        };
        let mut encoded = Vec::with_capacity(text.len().saturating_mul(2).saturating_add(4));
        for character in mark.into_iter().chain(text.chars()) {
            match (self.unit, order) {
                (Unit::Two, order) => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        encoded.extend(match order {
                            Order::Big => unit.to_be_bytes(),
                            _ => unit.to_le_bytes(),
                        });
                    }
                }
                (Unit::Four, Order::Big) => encoded.extend(u32::from(character).to_be_bytes()),
                (Unit::Four, _) => encoded.extend(u32::from(character).to_le_bytes()),
            }
        }
        Some(encoded)
    }

    /// Returns the byte order of `text`, and the text without the mark that gave it.
    fn order_of(self, text: &[u8]) -> (Order, &[u8]) {
        let (little, big): (&[u8], &[u8]) = match self.unit {
            Unit::Two => (b"\xff\xfe", b"\xfe\xff"),
            Unit::Four => (b"\xff\xfe\0\0", b"\0\0\xfe\xff"),
        };
        if self.order != Order::Marked {
            (self.order, text)
        } else if let Some(text) = text.strip_prefix(little) {
            (Order::Little, text)
        } else if let Some(text) = text.strip_prefix(big) {
            (Order::Big, text)
        } else {
            (OWN_ORDER, text)
        }
    }
}

/// Splits `text` into units, each with its lowest byte first. `None` if the last one is cut off.
fn units<const N: usize>(text: &[u8], order: Order) -> Option<impl Iterator<Item = [u8; N]>> {
    let (units, []) = text.as_chunks() else {
        return None;
    };
    Some(units.iter().map(move |unit| {
        let mut unit = *unit;
        if order == Order::Big {
            unit.reverse();
        }
        unit
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::program::iconv;
    use super::*;

    const NAMES: [&str; 8] = [
        "UTF-16", "utf-16le", "UTF-16BE", "UTF16", "UTF-32", "UTF-32LE", "utf32be", "Utf32",
    ];

    fn is_as_iconv(name: &str, text: &[u8]) {
        let encoding = Encoding::named(name.as_bytes()).unwrap();
        let utf8 = encoding.decode(text).map(String::into_bytes);
        assert_eq!(
            utf8,
            iconv(name, "UTF-8", text),
            "{name} to UTF-8, {text:?}"
        );
        let encoded = encoding.encode(text);
        assert_eq!(
            encoded,
            iconv("UTF-8", name, text),
            "UTF-8 to {name}, {text:?}"
        );
    }

    #[test]
    fn other_names_are_no_encodings_of_unicode() {
        for name in [
            "UTF-8",
            "utf8",
            "UTF-7",
            "UTF-16LE-BOM",
            "UTF--16",
            "UTF-160",
            "UT",
            "",
            "16",
        ] {
            assert_eq!(Encoding::named(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn text_is_converted_as_iconv_does() {
        let texts: [&[u8]; 20] = [
            b"a\n",
            b"\xff\xfea\0\n\0",
            b"\xfe\xff\0a\0\n",
            b"\xff\xfe",
            b"\xff\xfe\xff\xfe",
            b"\xff\xfe\0\0a\0\0\0",
            b"\0\0\xfe\xff\0\0\0a",
            b"\0\0\xfe\xff\0\x11\0\0",
            b"\0\0\xd8\0",
            b"\0\xd8\0\xdc",
            b"\xd8\0\xdc\0",
            b"\0\xdc\0\xd8",
            b"a",
            b"abc",
            b"a\0\0",
            "\u{feff}a\u{e0041}\u{10ffff}\u{fffe}".as_bytes(),
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xc0\x80",
            b"\xe4",
        ];
        for name in NAMES {
            for text in texts {
                is_as_iconv(name, text);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn any_text_is_converted_as_iconv_does(
            name in prop::sample::select(&NAMES[..]),
            text in prop_oneof![
                any::<String>().prop_map(String::into_bytes),
                any::<String>().prop_map(|text| text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
                any::<String>().prop_map(|text| text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
                any::<String>().prop_map(|text| text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()),
                prop::collection::vec(any::<u8>(), 1..12),
            ],
        ) {
            prop_assume!(!text.is_empty());
            is_as_iconv(name, &text);
        }
    }
}
