//! Configuration, and the small files that lead to a repository.

use std::path::Path;

use bstr::{BStr, ByteSlice};
use vigil_git::environment::Environment;
use vigil_git::fuzzing;

use crate::input::Input;

/// The limit on the length of all keys, as a multiple of the file's length. Each key contains its section's name.
const KEYS_GROWTH_MAX: usize = 64;
/// The keys may always have this length.
const KEYS_LEN_MIN: usize = 1 << 20;

/// Entries come in order, up to any damage. A truncated file has the same entries, except perhaps the last.
pub(crate) fn config_text(data: &[u8]) {
    let mut input = Input(data);
    let cut = input.up_to(0xffff);
    let (entries, bad_line) = fuzzing::config_text(input.0);
    let lines = input.0.iter().filter(|byte| **byte == b'\n').count() + 1;
    let mut last = 1;
    let mut keys_len = 0;
    for ((key, value), number) in &entries {
        assert!((last..=lines + 1).contains(number));
        last = *number;
        keys_len += key.len();
        assert!(!key.contains(&0));
        if let Some(value) = value {
            assert!(!value.contains(&0) && value.len() <= input.0.len());
        }
    }
    assert!(
        keys_len <= KEYS_LEN_MIN.max(input.0.len() * KEYS_GROWTH_MAX),
        "keys fill the memory"
    );
    if let Some(bad_line) = bad_line {
        assert!((last.saturating_sub(1)..=lines + 1).contains(&bad_line));
    }
    // At most one message per word of a value.
    let said = fuzzing::said_of_fsync(input.0)
        + vigil_history::fuzzing::said_of_settings(input.0, "main".into());
    assert!(said <= input.0.len() + 1);
    let (cut_entries, _) = fuzzing::config_text(&input.0[..cut.min(input.0.len())]);
    let same = cut_entries
        .iter()
        .zip(&entries)
        .take_while(|(a, b)| a == b)
        .count();
    assert!(same + 1 >= cut_entries.len());
}

/// What `git -c` passes on is read back, and no content of the environment breaks the reader.
pub(crate) fn config_parameters(data: &[u8]) {
    let mut input = Input(data);
    let list = input.field();
    let variables = [
        ("GIT_CONFIG_PARAMETERS".into(), list.into()),
        ("GIT_CONFIG_COUNT".into(), input.field().into()),
        ("GIT_CONFIG_KEY_0".into(), input.field().into()),
        ("GIT_CONFIG_VALUE_0".into(), input.field().into()),
    ];
    let mut environment = Environment::new(variables, "/");
    let before = fuzzing::config_parameters(&environment);
    if let Ok(pairs) = &before {
        assert!(pairs.len() <= list.len() + 1);
    }
    environment.remove("GIT_CONFIG_COUNT");
    let before = fuzzing::config_parameters(&environment);
    let value = input.field();
    environment.push_config_parameter([b"Section.Sub.Name=", value.as_bytes()].concat().as_bstr());
    if let Ok(mut pairs) = before {
        // After a list that ends within white space or `=`, an appended entry is parsed differently.
        if list.is_empty() || list.ends_with(b"'") {
            pairs.push(("section.Sub.name".into(), Some(value.into())));
            assert_eq!(fuzzing::config_parameters(&environment), Ok(pairs));
        }
    }
}

/// Numbers and booleans are parsed as in C.
pub(crate) fn config_value(data: &[u8]) {
    let value = BStr::new(data);
    let number = fuzzing::config_number(value, i64::MAX);
    if let Some(number) = number {
        let sign = if number < 0 { "-" } else { "" };
        let hex = format!("{sign}0x{:x}", number.unsigned_abs());
        for text in [number.to_string(), hex] {
            assert_eq!(
                fuzzing::config_number(text.as_str().into(), i64::MAX),
                Some(number)
            );
        }
    }
    for max in [0, i64::from(i32::MAX)] {
        let small = fuzzing::config_number(value, max);
        assert_eq!(
            small,
            number.filter(|number| (-max - 1..=max).contains(number))
        );
    }
    let is_int = number.filter(|number| i32::try_from(*number).is_ok());
    if let Some(number) = is_int {
        assert_eq!(fuzzing::config_boolean(value), Some(number != 0));
    }
}

/// The folder named is part of the file, without the end of line.
pub(crate) fn gitfile(data: &[u8]) {
    if let Some(target) = fuzzing::gitfile(data) {
        assert!(!target.is_empty() && !target.contains(&0));
        assert!(data.starts_with(&[b"gitdir: ", target].concat()));
    }
    if let Some(folder) = fuzzing::common_dir(Path::new("/nonexistent/.git"), data) {
        assert!(folder.is_absolute());
    }
}
