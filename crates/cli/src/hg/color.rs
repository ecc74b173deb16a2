//! The colours of a status.

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::bytes::{bytes, is_space};
use vigil_hg::config::{Config, boolean};

/// Effects by name, each with its number in an escape sequence. Magenta as a background is called purple.
const EFFECTS: [(&str, &str); 22] = [
    ("none", "0"),
    ("black", "30"),
    ("red", "31"),
    ("green", "32"),
    ("yellow", "33"),
    ("blue", "34"),
    ("magenta", "35"),
    ("cyan", "36"),
    ("white", "37"),
    ("bold", "1"),
    ("italic", "3"),
    ("underline", "4"),
    ("inverse", "7"),
    ("dim", "2"),
    ("black_background", "40"),
    ("red_background", "41"),
    ("green_background", "42"),
    ("yellow_background", "43"),
    ("blue_background", "44"),
    ("purple_background", "45"),
    ("cyan_background", "46"),
    ("white_background", "47"),
];

/// The sequence that ends effects.
const RESET: &[u8] = b"\x1b[0m";

/// The default effects of the labels that a status uses.
const DEFAULTS: [(&str, &str); 9] = [
    ("status.modified", "blue bold"),
    ("status.added", "green bold"),
    ("status.removed", "red bold"),
    ("status.deleted", "cyan bold underline"),
    ("status.unknown", "magenta bold underline"),
    ("status.ignored", "black bold"),
    ("status.clean", "none"),
    ("status.copied", "none"),
    ("ui.error", "red"),
];

/// The colours of labels.
#[derive(Debug)]
pub(super) struct Colors<'c> {
    config: Option<&'c Config>,
    /// A way to show colours that only Mercurial knows.
    other_mode: Option<&'c BStr>,
}

impl<'c> Colors<'c> {
    /// Decides whether to use colours. `wanted` is the value of `--color`. By default, formatted output has colours. A
    /// pager may have a way of its own to show them.
    pub(super) fn new(
        config: &'c Config,
        wanted: Option<&BString>,
        is_plain: bool,
        is_formatted: bool,
        is_paged: bool,
    ) -> Self {
        let by_config = config.get("ui", "color");
        let setting = wanted.map(|wanted| wanted.as_bstr()).or(by_config);
        let setting = setting.unwrap_or(BStr::new("auto"));
        let own_mode = config.get("color", "mode").unwrap_or(BStr::new("auto"));
        let of_pager = config.get("color", "pagermode").filter(|_| is_paged);
        let mode = of_pager.unwrap_or(own_mode);
        let is_wanted = match setting.as_bytes() {
            b"always" => true,
            b"auto" => is_formatted,
            other => match boolean(other) {
                // A plain yes means always only on the command line.
                Some(true) => wanted.is_some() || is_formatted,
                _ => false,
            },
        };
        let is_wanted = is_wanted && !is_plain;
        let may = matches!(mode.as_bytes(), b"auto" | b"ansi");
        Self {
            config: (is_wanted && may).then_some(config),
            // Mercurial sets up the terminal's own mode first, in any case.
            other_mode: [own_mode, mode].into_iter().find(|mode| {
                let is_other = matches!(mode.as_bytes(), b"terminfo" | b"win32");
                is_wanted && is_other
            }),
        }
    }

    /// Returns what is configured that only Mercurial can do.
    pub(super) fn unsupported_setting(&self) -> Option<BString> {
        if let Some(mode) = self.other_mode {
            return Some(bytes!("the setting color.mode=", mode));
        }
        let is_known = |word: &[u8]| EFFECTS.iter().any(|(name, _)| name.as_bytes() == word);
        let mut styles = self
            .config?
            .section("color")
            .filter(|item| is_style(&item.name));
        let odd = styles.find(|item| !words(&item.value).all(is_known))?;
        Some(
            [b"the colour '".as_slice(), &odd.value, b"'"]
                .concat()
                .into(),
        )
    }

    /// Returns the effects of `label`, which may be several labels with spaces between; `None` if there are none.
    pub(super) fn effects(&self, label: &str) -> Option<Vec<&'static str>> {
        let each = |config| move |label| effects(config, label);
        let effects: Option<Vec<_>> = self
            .config
            .map(|config| labels(label).flat_map(each(config)).collect());
        effects.filter(|effects| !effects.is_empty())
    }

    /// Returns the first of these labels that may have default effects which only Mercurial knows.
    pub(super) fn unknown_label<'l>(&self, all: &'l str) -> Option<&'l str> {
        let config = self.config?;
        labels(all).find(|label| {
            let is_of_status = label.starts_with("status.") || *label == "ui.error";
            label.contains('.') && !is_of_status && configured(config, label).is_none()
        })
    }

    /// Writes the text in the colours of `label`, line by line.
    pub(super) fn paint(&self, out: &mut Vec<u8>, text: &[u8], label: &str) {
        paint_pieces(out, &[text], self.effects(label).as_deref());
    }
}

/// Writes the text, given in pieces, with `effects` if there are some, line by line.
pub(super) fn paint_pieces(out: &mut Vec<u8>, text: &[&[u8]], effects: Option<&[&str]>) {
    match effects {
        Some(effects) => paint_with(out, &text.concat(), effects),
        None => text.iter().for_each(|piece| out.extend_from_slice(piece)),
    }
}

/// Writes the text with `effects`, line by line.
pub(super) fn paint_with(out: &mut Vec<u8>, text: &[u8], effects: &[&str]) {
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        // Where effects within the line end, those of the line begin again.
        for piece in line.split_str(RESET).filter(|piece| !piece.is_empty()) {
            out.extend_from_slice(b"\x1b[0");
            for effect in effects {
                out.push(b';');
                out.extend_from_slice(effect.as_bytes());
            }
            out.push(b'm');
            out.extend_from_slice(piece);
            out.extend_from_slice(RESET);
        }
    }
}

/// Splits several labels.
fn labels(all: &str) -> impl Iterator<Item = &str> {
    let is_between = |letter| u8::try_from(letter).is_ok_and(is_space);
    all.split(is_between).filter(|label| !label.is_empty())
}

/// Whether a setting of this name is about a label. Others name colours, or say how to show them.
fn is_style(name: &[u8]) -> bool {
    name.contains(&b'.') && !name.starts_with(b"color.") && !name.starts_with(b"terminfo.")
}

/// Returns the effects that are configured for a label.
fn configured<'c>(config: &'c Config, label: &str) -> Option<&'c BStr> {
    let setting = config.get("color", label);
    let setting = setting.filter(|_| is_style(label.as_bytes()));
    setting.filter(|setting| words(setting).next().is_some())
}

fn effects(config: &Config, label: &str) -> Vec<&'static str> {
    let words = match configured(config, label) {
        Some(words) => BString::from(words),
        None => {
            let default = DEFAULTS.iter().find(|(known, _)| *known == label);
            // A label without a default may itself be the name of an effect.
            default.map_or(label, |(_, words)| words).into()
        }
    };
    let known = |word: &[u8]| {
        let known = EFFECTS.iter().find(|(name, _)| name.as_bytes() == word);
        known.map(|(_, code)| *code)
    };
    self::words(&words).filter_map(known).collect()
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = text.split(|byte| is_space(*byte) || *byte == b',');
    words.filter(|word| !word.is_empty())
}
