//! Vigil's own commands, such as `vigil status`, inside a Mercurial working copy.

use std::path::Path;

use bstr::{BString, ByteSlice};
use vigil_engine::hg_session::is_innermost;
use vigil_git::environment::Environment;

/// An output format of Vigil's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnFormat {
    Json,
    Line,
    /// The record from which a prompt is drawn.
    Prompt,
}

impl OwnFormat {
    /// Returns the name of the format.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Line => "line",
            Self::Prompt => "prompt",
        }
    }

    /// Returns the format of this name.
    pub(super) fn by_name(name: &[u8]) -> Option<Self> {
        match name {
            b"json" => Some(Self::Json),
            b"line" => Some(Self::Line),
            b"prompt" => Some(Self::Prompt),
            _ => None,
        }
    }
}

/// Returns whether the innermost repository around the working directory is Mercurial's. git wins if both are in the
/// same folder, or if `GIT_DIR` names a repository.
pub(crate) fn is_mercurial(environment: &Environment) -> bool {
    is_mercurial_at(environment.working_directory(), environment)
}

/// Does the same for `directory`.
pub(super) fn is_mercurial_at(directory: &Path, environment: &Environment) -> bool {
    environment.get("GIT_DIR").is_none() && is_innermost(directory)
}

/// Turns the command line of `vigil status` into one of `hg status`, and takes out the format of Vigil's own. Returns
/// `None` if that format is unknown.
pub(super) fn to_hg_arguments(arguments: &[BString]) -> Option<(Vec<BString>, Option<OwnFormat>)> {
    let mut hg_arguments = vec![BString::from("status")];
    let mut own = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            hg_arguments.push(argument.clone());
            hg_arguments.extend(rest.by_ref().cloned());
        } else if argument == "--format" {
            own = Some(OwnFormat::by_name(rest.next()?)?);
        } else if let Some(name) = argument.strip_prefix(b"--format=") {
            own = Some(OwnFormat::by_name(name)?);
        } else {
            hg_arguments.push(argument.clone());
        }
    }
    Some((hg_arguments, own))
}

/// Returns whether `vigil status` is asked for its help, which is the same everywhere.
pub(super) fn asks_for_help(arguments: &[BString]) -> bool {
    let is_help = |argument: &BString| matches!(argument.as_bytes(), b"--help" | b"--help-all");
    arguments == ["-h"] || arguments.first().is_some_and(is_help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_of_vigils_own_is_taken_out() {
        let words = |text: &str| text.split(' ').map(BString::from).collect::<Vec<_>>();
        let taken = |text: &str| to_hg_arguments(&words(text));
        let json = Some(OwnFormat::Json);
        assert_eq!(
            taken("-A --format=json x"),
            Some((words("status -A x"), json))
        );
        assert_eq!(
            taken("--format json -- --format=line"),
            Some((words("status -- --format=line"), json))
        );
        assert_eq!(taken("-A"), Some((words("status -A"), None)));
        for wrong in ["--format", "--format=", "--format=xml"] {
            assert_eq!(taken(wrong), None, "{wrong}");
        }
    }
}
