//! Writing text and colours so that a shell's prompt and the terminal show them and do nothing else.

use bstr::{BStr, ByteSlice};

use super::visible::columns;

/// The destination of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shell {
    Zsh,
    Bash,
    Fish,
    Tmux,
    None,
}

impl Shell {
    pub(super) fn by_name(name: &BStr) -> Option<Self> {
        Some(match name.as_bytes() {
            b"zsh" => Self::Zsh,
            b"bash" => Self::Bash,
            b"fish" => Self::Fish,
            b"tmux" => Self::Tmux,
            b"none" => Self::None,
            _ => return None,
        })
    }

    /// Returns whether `vigil init` has a script for it.
    pub(super) fn has_script(self) -> bool {
        matches!(self, Self::Zsh | Self::Bash | Self::Fish)
    }

    /// Appends `letter` to `text`.
    ///
    /// In zsh and bash the result looks the same whether the prompt reads it from a variable, as it should, or contains it, where
    /// `$` and backquotes would be expanded, and in bash a backslash and the digits of any of them. An empty unprinted sequence
    /// separates `$` or a backslash from what follows, and a backquote becomes an apostrophe.
    fn write(self, letter: char, text: &mut String) {
        match (self, letter) {
            (Self::Zsh, '%') => text.push_str("%%"),
            (Self::Zsh, '$') => text.push_str("$%{%}"),
            (Self::Bash, '$' | '\\') => {
                text.push(letter);
                text.push_str("\x01\x02");
            }
            (Self::Zsh | Self::Bash, '`') => text.push('\''),
            (_, letter) => text.push(letter),
        }
    }
}

/// A colour of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Color {
    /// The default colour of text.
    Plain,
    /// One of the terminal's 256 colours.
    Index(u8),
    /// Red, green, blue.
    Mixed(u8, u8, u8),
}

/// The names of the first eight colours; the next eight are their bright forms.
const NAMES: [&str; 8] = [
    "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
];

/// The distance of a bright colour from its dark one.
const BRIGHT: u8 = 8;

impl Color {
    /// Parses a colour: `plain`, a number, a name, `bright-` and a name, or `#rrggbb`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        if name == "plain" {
            return Some(Self::Plain);
        }
        if let Some(digits) = name.strip_prefix('#') {
            let is_hex = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let mixed = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
            let [_, red, green, blue] = mixed.to_be_bytes();
            return Some(Self::Mixed(red, green, blue));
        }
        if let Ok(number) = name.parse() {
            return Some(Self::Index(number));
        }
        let (plain, step) = match name.strip_prefix("bright-") {
            Some(plain) => (plain, BRIGHT),
            None => (name, 0),
        };
        let at = NAMES.iter().position(|known| *known == plain)?;
        let number = u8::try_from(at).ok()?;
        Some(Self::Index(number.saturating_add(step)))
    }

    /// The escape sequence that selects it (ECMA-48, and xterm's extensions).
    fn sequence(self) -> String {
        match self {
            Self::Plain => "\x1b[39m".to_owned(),
            Self::Index(number) => format!("\x1b[38;5;{number}m"),
            Self::Mixed(red, green, blue) => format!("\x1b[38;2;{red};{green};{blue}m"),
        }
    }
}

/// Visible text and its colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) color: Color,
    pub(super) text: String,
}

/// Text ready to be shown by a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Painted {
    /// The text in the shell's notation.
    pub(super) text: String,
    /// Its width in columns.
    pub(super) columns: usize,
}

/// Writes for one shell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Painter {
    pub(super) shell: Shell,
    pub(super) has_color: bool,
}

impl Painter {
    /// Writes `pieces` one after the other. After any colour, resets to the plain one at the end.
    pub(super) fn paint(&self, pieces: &[Piece]) -> Painted {
        let mut painted = Painted::default();
        let mut current = Color::Plain;
        let mut hashes = 0;
        for piece in pieces {
            // Blanks keep the colour of what precedes them.
            if piece.color != current && !piece.text.trim().is_empty() {
                current = piece.color;
                self.write_hashes(&mut hashes, self.has_color, &mut painted.text);
                self.take(current, &mut painted.text);
            }
            for letter in piece.text.chars() {
                if self.shell == Shell::Tmux && letter == '#' {
                    hashes += 1;
                    continue;
                }
                self.write_hashes(&mut hashes, letter == '[', &mut painted.text);
                self.shell.write(letter, &mut painted.text);
            }
            painted.columns = painted.columns.saturating_add(columns(&piece.text));
        }
        let is_colored = self.has_color && current != Color::Plain;
        self.write_hashes(&mut hashes, is_colored, &mut painted.text);
        if current != Color::Plain {
            self.take(Color::Plain, &mut painted.text);
        }
        painted
    }

    /// Writes a run of `#` for tmux. Before what looks like a style, tmux halves a run once; elsewhere it halves twice, and the
    /// second time rounds up. A single `#` is written for versions before 3.2, which halve once.
    fn write_hashes(&self, count: &mut usize, is_before_style: bool, text: &mut String) {
        let written = match (*count, is_before_style) {
            (count, true) => count.saturating_mul(2),
            (count, false) => count.saturating_mul(4).saturating_sub(2),
        };
        text.push_str(&"#".repeat(written));
        *count = 0;
    }

    fn take(&self, color: Color, text: &mut String) {
        if !self.has_color {
            return;
        }
        let written = match (self.shell, color) {
            (Shell::Zsh, Color::Plain) => "%f".to_owned(),
            // Not `%76F`: if a name that begins with a brace followed, that would be taken for the colour.
            (Shell::Zsh, Color::Index(number)) => format!("%F{{{number}}}"),
            (Shell::Zsh, mixed) => format!("%{{{}%}}", mixed.sequence()),
            (Shell::Bash, color) => format!("\x01{}\x02", color.sequence()),
            (Shell::Tmux, Color::Plain) => "#[fg=default]".to_owned(),
            (Shell::Tmux, Color::Index(number)) => format!("#[fg=colour{number}]"),
            (Shell::Tmux, Color::Mixed(red, green, blue)) => {
                format!("#[fg=#{red:02x}{green:02x}{blue:02x}]")
            }
            (Shell::Fish | Shell::None, color) => color.sequence(),
        };
        text.push_str(&written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(shell: Shell, color: Color, text: &str) -> Painted {
        let has_color = true;
        let text = text.to_owned();
        Painter { shell, has_color }.paint(&[Piece { color, text }])
    }

    #[test]
    fn what_a_shell_would_expand_is_written_so_that_it_does_not() {
        let name = "$(x)`y`%F{1}#[z]\\w!{a,b}";
        for (shell, want) in [
            (Shell::Zsh, "$%{%}(x)'y'%%F{1}#[z]\\w!{a,b}"),
            (Shell::Bash, "$\x01\x02(x)'y'%F{1}#[z]\\\x01\x02w!{a,b}"),
            (Shell::Fish, name),
            (Shell::None, name),
            (Shell::Tmux, "$(x)`y`%F{1}##[z]\\w!{a,b}"),
        ] {
            let painted = painted(shell, Color::Plain, name);
            assert_eq!(
                (painted.text.as_str(), painted.columns),
                (want, 24),
                "{shell:?}"
            );
        }
    }

    #[test]
    fn as_many_hashes_are_shown_by_tmux_as_stand_in_a_row() {
        for (name, want) in [
            ("#x", "##x"),
            ("##x###", "######x######"),
            ("##[z]#[", "####[z]##["),
            ("a##", "a####"),
        ] {
            let color = Color::Index(1);
            let text = match want.strip_suffix('#') {
                // The text is followed by a style.
                Some(_) => painted(Shell::Tmux, color, name).text,
                None => painted(Shell::Tmux, Color::Plain, name).text,
            };
            let text = text.replace("#[fg=colour1]", "");
            assert_eq!(text.replace("#[fg=default]", ""), want, "{name}");
        }
    }

    #[test]
    fn colours_are_written_as_each_wants_them_and_end() {
        for (shell, index, mixed) in [
            (Shell::Zsh, "%F{76}a%f", "%{\x1b[38;2;1;2;255m%}a%f"),
            (
                Shell::Bash,
                "\x01\x1b[38;5;76m\x02a\x01\x1b[39m\x02",
                "\x01\x1b[38;2;1;2;255m\x02a\x01\x1b[39m\x02",
            ),
            (
                Shell::Fish,
                "\x1b[38;5;76ma\x1b[39m",
                "\x1b[38;2;1;2;255ma\x1b[39m",
            ),
            (
                Shell::Tmux,
                "#[fg=colour76]a#[fg=default]",
                "#[fg=#0102ff]a#[fg=default]",
            ),
        ] {
            assert_eq!(painted(shell, Color::Index(76), "a").text, index);
            assert_eq!(painted(shell, Color::Mixed(1, 2, 255), "a").text, mixed);
            let has_color = false;
            let pieces = [Piece {
                color: Color::Index(1),
                text: "a".to_owned(),
            }];
            assert_eq!(Painter { shell, has_color }.paint(&pieces).text, "a");
        }
    }

    #[test]
    fn colours_have_numbers_names_and_parts() {
        for (name, want) in [
            ("plain", Some(Color::Plain)),
            ("76", Some(Color::Index(76))),
            ("red", Some(Color::Index(1))),
            ("bright-red", Some(Color::Index(9))),
            ("#01Ff00", Some(Color::Mixed(1, 255, 0))),
            ("256", None),
            ("#12345", None),
            ("#+12345", None),
            ("pink", None),
            ("", None),
        ] {
            assert_eq!(Color::parse(name), want, "{name}");
        }
    }
}
