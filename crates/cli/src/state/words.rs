//! Words and numbers that all forms of a report share.

use vigil_engine::state::PublishedReport;
use vigil_store::StateTable;

/// The dead part of the used length, in whole percent, rounded down.
pub(super) fn dead_percent(state: &PublishedReport) -> u64 {
    let percent = state
        .dead_len
        .saturating_mul(100)
        .checked_div(state.used_len);
    percent.unwrap_or_default()
}

/// The name of a table.
pub(super) fn table_name(table: StateTable) -> &'static str {
    match table {
        StateTable::General => "general",
        StateTable::Tracked => "tracked",
        StateTable::Seen => "seen",
        StateTable::Files => "files",
    }
}

/// What is said of a state that was compared with the disk, and the exit code.
pub(super) fn verdict(is_right: bool) -> (&'static str, u8) {
    match is_right {
        true => ("the state is right", 0),
        false => ("the state is wrong: 'vigil state drop' removes it", 1),
    }
}
