//! `vigil init`: prints the script that a shell's rc file evaluates.

mod quote;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use vigil_git::environment::Environment;
use vigil_linux::stat::stat_path;

use crate::command::Command;
use crate::options::{
    Given, OptionEntry, OptionTable, OwnOptions, Value, parse, usage, with_usage,
};
use crate::reply::{Reply, bytes};

/// The scripts. They ask, and set variables to the answer; all else is done by this program.
const ZSH: &str = include_str!("../../../../shell/vigil.zsh");
const BASH: &str = include_str!("../../../../shell/vigil.bash");
const FISH: &str = include_str!("../../../../shell/vigil.fish");

/// The scripts' placeholder for the program's path, and
const PROGRAM: &str = "@program@";
/// the line before what is left out without `--prompt`.
const PROMPT: &str = "# --prompt\n";
/// The line after which the script goes on.
const END: &str = "# --end\n";
/// The line before what zsh evaluates under the user's own options.
const OUTSIDE: &str = "# outside\n";
/// The line there before what sets options, which is left out without `--prompt`.
const OPTIONS: &str = "# options\n";

#[derive(Clone, Copy)]
enum Key {
    Prompt,
}

const TABLE: OptionTable<Key> = OptionTable {
    synopsis: "vigil init [--prompt] (zsh | bash | fish)",
    headings: &[],
    entries: &[OptionEntry::flag(
        Key::Prompt,
        "prompt",
        "also set a prompt",
    )],
};

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "init",
    summary: "Print the script that zsh, bash or fish evaluate for prompts",
    options: &TABLE,
    arguments: Some(Value::Words(&["bash", "fish", "zsh"])),
    subcommands: &[],
    prose: include_str!("../../pages/init.txt"),
};

/// Runs the command with `arguments`, the words after its name.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> Reply {
    answer(arguments, environment).unwrap_or_else(|complaint| complaint)
}

fn answer(arguments: &[BString], environment: &Environment) -> Result<Reply, Reply> {
    if arguments == ["--help"] {
        return Ok(Reply::printed(usage(&TABLE, OwnOptions::IfVigil), 0));
    }
    let mut has_prompt = false;
    let shells = parse(&TABLE, arguments, |Key::Prompt, given| {
        has_prompt = given != Given::Negated;
        Ok(())
    })?;
    let [shell] = shells.as_slice() else {
        let error: &[u8] = match shells.is_empty() {
            true => b"need a shell",
            false => b"too many arguments",
        };
        return Err(with_usage(&TABLE, error));
    };
    let program = std::env::args_os().next().unwrap_or_default();
    let program = place(&program, environment)?;
    let program = program.as_os_str().as_bytes();
    let script = match shell.as_slice() {
        b"zsh" => zsh(program, has_prompt),
        b"bash" => {
            let script = without_comments(&cut(BASH, has_prompt));
            filled(&script, &quote::posix(program))
        }
        b"fish" => filled(&cut(FISH, has_prompt), &quote::fish(program)),
        _ => return Err(with_usage(&TABLE, &bytes!["no script for '", shell, "'"])),
    };
    Ok(Reply::printed(script, 0))
}

/// The whole script, or without the part for the prompt.
fn cut(script: &str, has_prompt: bool) -> String {
    match script.split_once(PROMPT) {
        Some((plain, rest)) if !has_prompt => {
            let (_, end) = rest.split_once(END).unwrap_or_default();
            format!("{plain}{end}")
        }
        _ => script.to_owned(),
    }
}

/// Returns `script` with the quoted path of the program in place of the placeholder.
fn filled(script: &str, program: &[u8]) -> Vec<u8> {
    script.as_bytes().replace(PROGRAM, program)
}

/// Returns `script` without comments, since it depends on options, and in zsh on `histchars`, whether the shell recognizes them.
fn without_comments(script: &str) -> String {
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let lines = script.lines().filter(|line| !is_comment(line));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The script for zsh. There, options affect even parsing. So the script is a single word, in a form of quotes that no option
/// affects, and zsh evaluates it under its default options, which also hold in the functions defined there.
fn zsh(program: &[u8], has_prompt: bool) -> Vec<u8> {
    let (inside, outside) = ZSH.split_once(OUTSIDE).unwrap_or((ZSH, ""));
    let inside = without_comments(&cut(inside, has_prompt));
    let inside = filled(&inside, &quote::posix(program));
    let (functions, options) = outside.split_once(OPTIONS).unwrap_or((outside, ""));
    let functions = without_comments(&cut(functions, has_prompt));
    let (again, options) = match has_prompt {
        true => (at_top_level(&functions), options),
        false => (Vec::new(), ""),
    };
    bytes![
        "'builtin' 'emulate' '-R' 'zsh' '-o' 'no_aliases' '-c' ",
        quote::zsh(&inside),
        "\n",
        functions,
        again,
        options,
    ]
}

/// A line that has zsh define `functions` once more at its top level, right before the next prompt, and set the options of that
/// prompt. Functions that are defined below an `emulate -c` have its options whenever they are called, and those that they set last
/// only as long.
fn at_top_level(functions: &str) -> Vec<u8> {
    let options = "'_vigil_prompt_is_shown' && 'builtin' 'setopt' 'prompt_percent' 'prompt_subst' || 'builtin' 'true'";
    let code = quote::zsh(&bytes![functions, options]);
    // A zsh that is too old has defined nothing, and no name of the program.
    bytes![
        "'builtin' 'test' \"${_vigil_program-}\" && 'builtin' 'zmodload' 'zsh/sched' 2>/dev/null && 'builtin' 'sched' '+0' ",
        code,
        "\n",
    ]
}

/// The absolute path this program was called by, so that an upgrade takes effect there. If that path leads to another file, or
/// its name would select another program, the path of the program's file.
fn place(program: &OsStr, environment: &Environment) -> Result<PathBuf, Reply> {
    const SELF: &str = "/proc/self/exe";
    let itself = stat_path(Path::new(SELF));
    let is_itself = |path: &PathBuf| {
        let found = stat_path(path).ok().zip(itself.as_ref().ok());
        path.is_absolute()
            && path.file_name() == Some(OsStr::new("vigil"))
            && found.is_some_and(|(one, other)| (one.dev, one.ino) == (other.dev, other.ino))
    };
    let here = environment.working_directory();
    let called = match program.as_bytes().contains(&b'/') {
        true => vec![here.join(program)],
        false => {
            let path = environment.get("PATH").unwrap_or_default();
            let folders = path.split(|byte| *byte == b':');
            let file = |folder: &[u8]| here.join(OsStr::from_bytes(folder)).join(program);
            folders.map(file).collect()
        }
    };
    if let Some(path) = called.into_iter().find(is_itself) {
        return Ok(path);
    }
    std::fs::read_link(SELF).map_err(|error| {
        let reason = vigil_linux::errno::text_of(&error);
        Reply::fatal(format!("cannot tell where this program is: {reason}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_have_their_parts_and_the_program() {
        for script in [ZSH, BASH, FISH] {
            assert!(script.contains(PROGRAM) && script.contains(PROMPT));
        }
        assert!(ZSH.contains(OUTSIDE));
        let plain = zsh(b"/a'b", false);
        let text = String::from_utf8(plain).unwrap();
        // Everything is in one word but what has to run under the user's own options.
        assert!(text.lines().count() < 5, "{text}");
        assert!(
            !text.contains(PROGRAM) && text.contains(r"/a\'\\\'\'b"),
            "{text}"
        );
        let whole = zsh(b"/vigil", true);
        assert!(whole.len() > text.len());
        assert_ne!(cut(BASH, true), cut(BASH, false));
    }

    #[test]
    fn a_program_that_was_not_called_by_its_name_is_its_file() {
        let environment = Environment::new([("PATH".into(), "/nowhere".into())], "/");
        let file = std::env::current_exe().unwrap();
        for name in [&b"vigil"[..], b"./vigil", b"/nowhere/vigil"] {
            assert_eq!(place(OsStr::from_bytes(name), &environment).unwrap(), file);
        }
    }
}
