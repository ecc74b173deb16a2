//! The style of lists in columns (`--column`, `column.ui`, `column.status`).

use bstr::BStr;

use crate::output::long::columns::Direction;

/// When columns are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ColumnUse {
    /// Never.
    #[default]
    Never,
    /// Always.
    Always,
    /// If the output is a terminal.
    Auto,
}

/// The style from all places combined: each word replaces earlier words of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ColumnStyle {
    pub(super) when: ColumnUse,
    pub(super) direction: Direction,
    pub(super) is_dense: bool,
}

impl ColumnStyle {
    /// Applies the words of `style`, which are separated by spaces or commas. A direction alone implies `always`.
    ///
    /// # Errors
    /// The rest of `style` from the first unknown word on.
    pub(super) fn apply<'s>(&mut self, style: &'s BStr) -> Result<(), &'s BStr> {
        let mut names_direction = false;
        let mut names_use = false;
        let mut rest: &[u8] = style;
        while !rest.is_empty() {
            let is_separator = |byte: &u8| matches!(byte, b' ' | b',');
            let end = rest.iter().position(is_separator).unwrap_or(rest.len());
            let (word, tail) = rest.split_at_checked(end).unwrap_or((rest, b""));
            match word {
                b"" => {}
                b"dense" => self.is_dense = true,
                b"nodense" => self.is_dense = false,
                word => {
                    if let Some(when) = parse_use(word) {
                        self.when = when;
                        names_use = true;
                    } else if let Some(direction) = parse_direction(word) {
                        self.direction = direction;
                        names_direction = true;
                    } else {
                        return Err(rest.into());
                    }
                }
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        if names_direction && !names_use {
            self.when = ColumnUse::Always;
        }
        Ok(())
    }
}

fn parse_use(word: &[u8]) -> Option<ColumnUse> {
    match word {
        b"always" => Some(ColumnUse::Always),
        b"never" => Some(ColumnUse::Never),
        b"auto" => Some(ColumnUse::Auto),
        _ => None,
    }
}

fn parse_direction(word: &[u8]) -> Option<Direction> {
    match word {
        b"plain" => Some(Direction::One),
        b"column" => Some(Direction::Down),
        b"row" => Some(Direction::Along),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_replace_those_of_their_kind() {
        let mut style = ColumnStyle::default();
        style.apply("auto, row dense".into()).unwrap();
        assert_eq!(style.when, ColumnUse::Auto);
        assert_eq!(style.direction, Direction::Along);
        assert!(style.is_dense);
        style.apply("column,nodense".into()).unwrap();
        assert_eq!(style.when, ColumnUse::Always);
        assert_eq!(style.direction, Direction::Down);
        assert!(!style.is_dense);
        assert_eq!(style.apply("never x,auto".into()), Err("x,auto".into()));
    }
}
