//! Advice that git gives on stderr, and that users may turn off (git-config(1), "advice.*").

use bstr::BString;
use vigil_model::config_value;

use super::config::Error;
use super::repository::Repository;

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
