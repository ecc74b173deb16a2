//! The command lines of the testers: named options, each with at most one value.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

/// The words of a command line, read option by option.
#[derive(Debug)]
pub struct Words {
    rest: std::vec::IntoIter<String>,
    /// The option whose value comes next.
    name: String,
}

/// Reads the command line of this process with `parse`. Prints `usage` if asked to, or the error of `parse`, prefixed with the
/// program name `name`.
///
/// # Errors
/// The process should end with this code.
pub fn read<T>(
    name: &str,
    usage: &str,
    parse: impl FnOnce(&mut Words) -> Result<T, String>,
) -> Result<T, ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{usage}");
        return Err(ExitCode::SUCCESS);
    }
    parse(&mut Words::new(words)).map_err(|message| {
        eprint!("{name}: {message}\n{usage}");
        ExitCode::from(2)
    })
}

impl Words {
    /// Starts with these words.
    pub fn new(words: Vec<String>) -> Self {
        Self {
            rest: words.into_iter(),
            name: String::new(),
        }
    }

    /// The name of the next option. `None` at the end.
    pub fn option(&mut self) -> Option<String> {
        self.name = self.rest.next()?;
        Some(self.name.clone())
    }

    /// The value of the option.
    ///
    /// # Errors
    /// The value is missing.
    pub fn value(&mut self) -> Result<String, String> {
        let value = self.rest.next();
        value.ok_or_else(|| format!("{} needs a value", self.name))
    }

    /// The value of the option, as a number.
    ///
    /// # Errors
    /// The value is missing, or is not a number of this type.
    pub fn number<T: FromStr>(&mut self) -> Result<T, String> {
        let text = self.value()?;
        text.parse().map_err(|_| format!("{text} is no number"))
    }

    /// The value of the option, as a number of seconds.
    ///
    /// # Errors
    /// Those of [`Words::number`].
    pub fn seconds(&mut self) -> Result<Duration, String> {
        Ok(Duration::from_secs(self.number()?))
    }

    /// The value of the option, as a number of minutes.
    ///
    /// # Errors
    /// Those of [`Words::number`].
    pub fn minutes(&mut self) -> Result<Duration, String> {
        let minutes: u64 = self.number()?;
        Ok(Duration::from_secs(minutes.saturating_mul(60)))
    }

    /// The value of the option, which is a program: either a name, or a path, which is made absolute and resolved so that it
    /// works from any directory.
    ///
    /// # Errors
    /// The value is missing.
    pub fn program(&mut self) -> Result<PathBuf, String> {
        self.program_at(|path| path.canonicalize())
    }

    /// Same as [`Words::program`], but keeps symbolic links: a program's behaviour may depend on the name it is called by.
    ///
    /// # Errors
    /// The value is missing.
    pub fn program_as_called(&mut self) -> Result<PathBuf, String> {
        self.program_at(|path| std::path::absolute(path))
    }

    /// The value of the option: a name, or a path, which `absolute` makes absolute.
    fn program_at(
        &mut self,
        absolute: impl Fn(&Path) -> io::Result<PathBuf>,
    ) -> Result<PathBuf, String> {
        let name = self.value()?;
        let path = PathBuf::from(&name);
        Ok(match name.contains('/') {
            true => absolute(&path).unwrap_or(path),
            false => path,
        })
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn words(words: &[&str]) -> Words {
        Words::new(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn options_come_with_their_values() {
        let mut words = words(&["--seed", "7", "--keep", "--minutes", "2", "--git", "git"]);
        assert_eq!(words.option().as_deref(), Some("--seed"));
        assert_eq!(words.number(), Ok(7u64));
        assert_eq!(words.option().as_deref(), Some("--keep"));
        assert_eq!(words.option().as_deref(), Some("--minutes"));
        assert_eq!(words.minutes(), Ok(Duration::from_secs(120)));
        assert_eq!(words.option().as_deref(), Some("--git"));
        assert_eq!(words.program(), Ok("git".into()));
        assert_eq!(words.option(), None);
    }

    #[test]
    fn errors_name_the_option() {
        let mut words = words(&["--seed", "x", "--jobs"]);
        words.option();
        assert_eq!(words.number::<u64>(), Err("x is no number".to_owned()));
        words.option();
        assert_eq!(words.value(), Err("--jobs needs a value".to_owned()));
    }

    #[test]
    fn a_program_with_a_path_is_absolute() {
        let mut words = words(&["--git", "./no-such", "--git", "/usr/bin/../bin"]);
        words.option();
        assert!(words.program_as_called().unwrap().is_absolute());
        words.option();
        assert_eq!(
            words.program(),
            Path::new("/usr/bin")
                .canonicalize()
                .map_err(|error| error.to_string())
        );
    }
}
