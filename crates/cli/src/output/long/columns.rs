//! Lists in columns (git-column(1), `column.ui` in git-config(1)).

use super::width;

/// The direction in which columns are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Down each column.
    #[default]
    Down,
    /// Along each row.
    Along,
    /// There is one column.
    One,
}

/// How lists are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    /// Which way the columns are filled.
    pub direction: Direction,
    /// Columns are as narrow as their contents.
    pub is_dense: bool,
    /// The terminal's width, in cells.
    pub terminal_width: usize,
}

/// What stands before and after each row.
pub(super) struct Frame<'a> {
    pub(super) indent: &'a [u8],
    pub(super) end: &'a [u8],
}

/// The spaces between two columns.
const PADDING: usize = 1;

/// Where each text goes.
struct ColumnLayout {
    direction: Direction,
    widths: Vec<usize>,
    rows: usize,
    columns: usize,
}

impl Columns {
    /// Appends the rows.
    pub(super) fn append(&self, out: &mut Vec<u8>, texts: &[Vec<u8>], frame: &Frame<'_>) {
        if self.direction == Direction::One {
            for text in texts {
                for part in [frame.indent, text, frame.end] {
                    out.extend_from_slice(part);
                }
            }
            return;
        }
        let widths: Vec<usize> = texts.iter().map(|text| width::of(text)).collect();
        let cell = widths.iter().max().map_or(PADDING, |max| max + PADDING);
        // As in git, a terminal too narrow for the indent counts as unlimited.
        let room = self
            .terminal_width
            .saturating_sub(1)
            .checked_sub(frame.indent.len())
            .unwrap_or(usize::MAX);
        let columns = (room / cell).clamp(1, texts.len().max(1));
        let mut layout = ColumnLayout {
            direction: self.direction,
            rows: texts.len().div_ceil(columns),
            columns,
            widths,
        };
        let mut column_widths = None;
        if self.is_dense {
            let room = self.terminal_width.saturating_sub(1);
            layout.shrink(room, frame.indent.len());
            column_widths = Some(layout.column_widths());
        }
        for row in 0..layout.rows {
            layout.append_row(out, texts, row, frame, |column| {
                column_widths
                    .as_ref()
                    .and_then(|widths| widths.get(column))
                    .map_or(cell, |width| width + PADDING)
            });
        }
    }
}

impl ColumnLayout {
    fn position(&self, column: usize, row: usize) -> usize {
        match self.direction {
            Direction::Down => column * self.rows + row,
            Direction::Along | Direction::One => row * self.columns + column,
        }
    }

    fn column_widths(&self) -> Vec<usize> {
        let width = |column, row| self.widths.get(self.position(column, row)).copied();
        (0..self.columns)
            .map(|column| {
                let widths = (0..self.rows).filter_map(|row| width(column, row));
                widths.max().unwrap_or(0)
            })
            .collect()
    }

    /// Reduces the number of rows as long as the columns fit into `room` after the indent.
    fn shrink(&mut self, room: usize, indent: usize) {
        while self.rows > 1 {
            let (rows, columns) = (self.rows, self.columns);
            self.rows -= 1;
            self.columns = self.widths.len().div_ceil(self.rows);
            let total: usize = self
                .column_widths()
                .iter()
                .map(|width| width + PADDING)
                .sum();
            if indent + total > room {
                (self.rows, self.columns) = (rows, columns);
                break;
            }
        }
    }

    fn append_row(
        &self,
        out: &mut Vec<u8>,
        texts: &[Vec<u8>],
        row: usize,
        frame: &Frame<'_>,
        cell: impl Fn(usize) -> usize,
    ) {
        for column in 0..self.columns {
            let position = self.position(column, row);
            let (Some(text), Some(width)) = (texts.get(position), self.widths.get(position)) else {
                break;
            };
            let is_last = match self.direction {
                Direction::Down => position + self.rows >= texts.len(),
                Direction::Along | Direction::One => {
                    column + 1 == self.columns || position + 1 == texts.len()
                }
            };
            if column == 0 {
                out.extend_from_slice(frame.indent);
            }
            out.extend_from_slice(text);
            if is_last {
                out.extend_from_slice(frame.end);
            } else {
                let spaces = cell(column).saturating_sub(*width);
                out.resize(out.len().saturating_add(spaces), b' ');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(texts: &[&str], direction: Direction, is_dense: bool, width: usize) -> String {
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        let columns = Columns {
            direction,
            is_dense,
            terminal_width: width,
        };
        let mut out = Vec::new();
        let frame = Frame {
            indent: b"\t",
            end: b"\n",
        };
        columns.append(&mut out, &texts, &frame);
        String::from_utf8(out).unwrap()
    }

    /// The expectations are what `git column --indent=TAB --width` prints.
    #[test]
    fn columns_are_those_of_git() {
        let texts = ["a", "bb", "ccc", "d", "eeeeeeee", "f", "g"];
        assert_eq!(
            laid_out(&texts, Direction::Down, false, 30),
            "\ta        d        g\n\tbb       eeeeeeee\n\tccc      f\n"
        );
        assert_eq!(
            laid_out(&texts, Direction::Along, false, 30),
            "\ta        bb       ccc\n\td        eeeeeeee f\n\tg\n"
        );
        assert_eq!(
            laid_out(&texts, Direction::Down, true, 16),
            "\ta   eeeeeeee\n\tbb  f\n\tccc g\n\td\n"
        );
        assert_eq!(
            laid_out(&texts, Direction::Along, true, 16),
            "\ta        bb\n\tccc      d\n\teeeeeeee f\n\tg\n"
        );
        assert_eq!(
            laid_out(&texts, Direction::Down, true, 30),
            "\ta bb ccc d eeeeeeee f g\n"
        );
        assert_eq!(
            laid_out(&texts[..2], Direction::One, false, 30),
            "\ta\n\tbb\n"
        );
    }
}
