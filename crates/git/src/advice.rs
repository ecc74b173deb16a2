//! Advice that git gives on stderr, and that users may turn off (git-config(1), "advice.*").

use bstr::BString;
use vigil_model::config_value;

use super::config::Error;
use super::repository::Repository;

/// What git says when it replaces the directories of a sparse index by their files.
pub const SPARSE_INDEX_IS_EXPANDED: Advice = Advice {
    name: "sparseIndexExpanded",
    lines: &[
        "The sparse index is expanding to a full index, a slow operation.",
        "Your working directory likely has contents that are outside of",
        "your sparse-checkout patterns. Use 'git sparse-checkout list' to",
        "see your sparse-checkout definition and compare it to your working",
        "directory contents. Cleaning up any merge conflicts or staged",
        "changes before running 'git sparse-checkout clean' or 'git",
        "sparse-checkout reapply' may assist in this cleanup.",
    ],
    is_explained: true,
};

/// One piece of advice.
pub struct Advice {
    /// The variable that turns it off, below `advice.`.
    pub name: &'static str,
    /// The text, line by line.
    pub lines: &'static [&'static str],
    /// Whether git adds how to turn the advice off, if the user has not set its variable.
    pub is_explained: bool,
}

impl Advice {
    /// Returns the lines that git writes, without line feeds; none if the user has turned the
    /// advice off.
    ///
    /// # Errors
    /// A configured value is not a boolean.
    pub fn messages(&self, repository: &Repository) -> Result<Vec<BString>, Error> {
        let variable = repository.environment.get("GIT_ADVICE");
        let wanted = repository
            .config
            .boolean(&format!("advice.{}", self.name))?;
        if wanted == Some(false)
            || variable.and_then(|value| config_value::boolean(Some(value))) == Some(false)
        {
            return Ok(Vec::new());
        }
        let mut lines: Vec<BString> = self.lines.iter().copied().map(hint).collect();
        if self.is_explained && wanted.is_none() {
            let name = self.name;
            lines.push(hint(&format!(
                "Disable this message with \"git config set advice.{name} false\""
            )));
        }
        Ok(lines)
    }
}

fn hint(line: &str) -> BString {
    match line {
        "" => "hint:".into(),
        _ => ["hint: ", line].concat().into_bytes().into(),
    }
}
