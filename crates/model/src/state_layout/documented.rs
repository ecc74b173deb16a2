//! Checks that a structure matches its table in the description of the format.

const DESCRIPTION: &str = include_str!("../../../../docs/state-file.md");

/// A field: its name, its offset and its size in bytes.
pub(crate) type Field = (&'static str, usize, usize);

/// The fields of a structure, in the given order.
macro_rules! fields {
    ($of:ident { $($field:ident),+ $(,)? }) => {
        [$((
            stringify!($field),
            std::mem::offset_of!($of, $field),
            $crate::state_layout::documented::size_of_field(|it: &$of| &it.$field),
        )),+]
    };
}
pub(crate) use fields;

/// The size in bytes of the field that `_field` returns a reference to.
pub(crate) fn size_of_field<T, F>(_field: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// The rows of the table `offset | size | field` below the heading `title`.
fn rows(title: &str) -> Vec<(String, usize, usize)> {
    let is_title =
        |line: &&str| line.starts_with('#') && line.trim_start_matches('#').trim() == title;
    let lines = DESCRIPTION
        .lines()
        .skip_while(|line| !is_title(line))
        .skip(1);
    let lines = lines.take_while(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
            let offset = cells.next()?.parse().ok()?;
            let size = cells.next()?.parse().ok()?;
            Some((cells.next()?.trim_matches('`').to_owned(), offset, size))
        })
        .collect()
}

/// Fails unless the table below the heading `title` lists exactly `fields`, without gaps.
pub(crate) fn assert_documented(title: &str, fields: &[Field]) {
    let described = rows(title);
    let described: Vec<_> = described
        .iter()
        .map(|(name, offset, size)| (name.as_str(), *offset, *size))
        .collect();
    assert_eq!(described, fields, "the table {title:?} and the code differ");
    let mut end = 0;
    for (name, offset, size) in fields {
        assert_eq!(*offset, end, "a gap before {name}");
        end = offset + size;
    }
}
