//! Explanations of why there is no state.

use vigil_git::state_place::NoStateReason;

/// Says in a line why a working copy has no state.
pub(crate) fn why_unkept(reason: NoStateReason) -> &'static str {
    match reason {
        NoStateReason::Off => "vigil.stateFile is false: no state is kept or used\n",
        NoStateReason::NoWorkTree => "there is no working tree, and so no state\n",
        NoStateReason::ForeignIndexOrTree => {
            "no state is kept or used with an index or working tree that is not the repository's own\n"
        }
        NoStateReason::Unknown => {
            "repository or working tree cannot be looked at: no state is kept or used\n"
        }
    }
}

/// The reason's name for programs.
pub(super) fn name_of(reason: NoStateReason) -> &'static str {
    match reason {
        NoStateReason::Off => "off",
        NoStateReason::NoWorkTree => "no_work_tree",
        NoStateReason::ForeignIndexOrTree => "borrowed",
        NoStateReason::Unknown => "unknown",
    }
}
