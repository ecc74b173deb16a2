//! Advice that git gives on stderr, and that users may turn off (git-config(1), "advice.*").

use bstr::BString;
use vigil_model::config_value;

use super::config::Error;
use super::repository::Repository;

/// One piece of advice.
pub struct Advice {
    /// What turns it off, below `advice.`.
    pub name: &'static str,
    /// What it says.
    pub lines: &'static [&'static str],
    /// git adds how to turn it off, for whom has not said either way.
    pub is_explained: bool,
}

impl Advice {
    /// The lines that git writes, without line feeds; none where the user does not want them.
    ///
    /// # Errors
    /// A configured value that is no boolean.
    pub fn say(&self, repository: &Repository) -> Result<Vec<BString>, Error> {
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
