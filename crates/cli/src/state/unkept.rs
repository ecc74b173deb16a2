//! Why there is no state, in words.

use vigil_git::state_place::Unkept;

/// Why a working copy has no state, as a line.
pub(crate) fn why_unkept(reason: Unkept) -> &'static str {
    match reason {
        Unkept::Off => "vigil.stateFile is false: no state is kept or used\n",
        Unkept::NoWorkTree => "there is no working tree, and so no state\n",
        Unkept::Borrowed => {
            "with another index or working tree than the repository's own, no state is kept or used\n"
        }
        Unkept::Unknown => {
            "repository or working tree cannot be looked at: no state is kept or used\n"
        }
    }
}

/// The name of the same for programs.
pub(super) fn name_of(reason: Unkept) -> &'static str {
    match reason {
        Unkept::Off => "off",
        Unkept::NoWorkTree => "no_work_tree",
        Unkept::Borrowed => "borrowed",
        Unkept::Unknown => "unknown",
    }
}
