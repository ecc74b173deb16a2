//! Explanations of why there is no state.

use vigil_git::state_place::Unkept;

/// Says in a line why a working copy has no state.
pub(crate) fn why_unkept(reason: Unkept) -> &'static str {
    match reason {
        Unkept::Off => "vigil.stateFile is false: no state is kept or used\n",
        Unkept::NoWorkTree => "there is no working tree, and so no state\n",
        Unkept::Borrowed => {
            "no state is kept or used with an index or working tree that is not the repository's own\n"
        }
        Unkept::Unknown => {
            "repository or working tree cannot be looked at: no state is kept or used\n"
        }
    }
}

/// The reason's name for programs.
pub(super) fn name_of(reason: Unkept) -> &'static str {
    match reason {
        Unkept::Off => "off",
        Unkept::NoWorkTree => "no_work_tree",
        Unkept::Borrowed => "borrowed",
        Unkept::Unknown => "unknown",
    }
}
