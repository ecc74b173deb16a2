//! The script for fish.

use super::position::{Position, REVISIONS, described, takes_value};
use crate::options::{OptionEntry, Value};

/// The whole script.
pub(super) fn script(root: &Position) -> String {
    let values_follow = root.values_follow().join(" ");
    let mut lines = String::new();
    push_position(&mut lines, root, root);
    format!(
        r#"# Completions of vigil for fish, made by `vigil completions fish`.

function __vigil_command_is -d 'Whether the command line names this command (exactly), or it or one below it (below)'
    set -l tokens (commandline -opc)
    set -e tokens[1]
    set -l found
    while set -q tokens[1]
        switch $tokens[1]
            case {values_follow}
                # Its value is the next word.
                set -q found[1]; or set -e tokens[1]
            case '-*'
            case '*'
                set -a found $tokens[1]
        end
        set -e tokens[1]
    end
    set -l how $argv[1]
    set -e argv[1]
    set -l length (count $argv)
    if test $how = exactly
        test (count $found) -eq $length; or return 1
    end
    test $length -eq 0; and return 0
    set -q found[$length]; and test "$found[1..$length]" = "$argv"
end

function __vigil_negates -d 'Whether an option that begins with --no is being typed'
    string match -q -- '--no*' (commandline -ct)
end

function __vigil_value_is_attached -d 'Whether a value is being typed behind an equals sign'
    string match -q -- '-*=*' (commandline -ct)
end

function __vigil_folder -d 'The directory that -C leads to, if any'
    set -l tokens (commandline -opc)
    set -e tokens[1]
    set -l folder
    while set -q tokens[1]
        switch $tokens[1]
            case {values_follow}
                if test "$tokens[1]" = -C; and set -q tokens[2]
                    set -l next (string replace -r -- '^~(?=/|$)' "$HOME" $tokens[2])
                    string match -q -- '/*' "$next"; or test -z "$folder"
                    and set folder "$next"
                    or set folder "$folder/$next"
                end
                set -e tokens[1]
            case '-*'
            case '*'
                break
        end
        set -e tokens[1]
    end
    test -n "$folder"; and echo "$folder"
end

function __vigil_list_folders -d 'Folders that complete what is typed, or the value that is attached to an option'
    set -l typed (commandline -ct | string replace -r -- '^--[^=]*=' '')
    __fish_complete_directories "$typed"
end

function __vigil_list_paths -d 'Paths that complete what is typed, below the directory that -C leads to'
    set -l folder (__vigil_folder)
    set -l typed (commandline -ct | string replace -r -- '^--[^=]*=' '')
    if test -z "$folder"; or string match -qr -- '^[/~]' "$typed"
        complete -C "'' $typed"
    else
        set -l length (string length -- "$folder/")
        complete -C "'' "(string escape -- "$folder/")"$typed" | string sub -s (math $length + 1)
    end
end

function __vigil_list_revisions -d 'Names of commits'
    set -l folder (__vigil_folder)
    command -q git; and {REVISIONS}
end

complete -c vigil -e
complete -c vigil -f
{lines}"#
    )
}

/// Appends the completions of `position` and of all positions below it.
fn push_position(out: &mut String, position: &Position, root: &Position) {
    let words = position.words.join(" ");
    // The options of a command are valid anywhere after it; those that precede a command are not valid after it.
    let how = match position.commands.is_empty() {
        true => "below",
        false => "exactly",
    };
    let here = format!("__vigil_command_is {how} {words}")
        .trim_end()
        .to_owned();
    for entry in &position.options {
        push_option(out, entry, &here, root);
    }
    for command in &position.commands {
        out.push_str(&format!(
            "complete -c vigil -n {} -a {} -d {}\n",
            quote(&here),
            command.name(),
            quote(command.summary)
        ));
    }
    if let (Some(value), true) = (position.arguments, position.commands.is_empty()) {
        let here = format!("not __vigil_value_is_attached; and {here}");
        out.push_str(&format!(
            "complete -c vigil -n {} {}\n",
            quote(&here),
            values(value, root)
        ));
    }
    for command in &position.commands {
        push_position(out, command, root);
    }
}

fn push_option(out: &mut String, entry: &OptionEntry<()>, here: &str, root: &Position) {
    let mut line = format!("complete -c vigil -n {}", quote(here));
    if let Some(letter) = entry.short {
        line.push_str(&format!(" -s {}", char::from(letter)));
    }
    if !entry.long.is_empty() {
        line.push_str(&format!(" -l {}", entry.long));
    }
    if entry.takes_next() {
        line.push_str(" -r");
    }
    if takes_value(entry) {
        let values = values(entry.value, root);
        if !values.is_empty() {
            line.push_str(&format!(" {values}"));
        }
    }
    out.push_str(&format!("{line} -d {}\n", quote(&described(entry))));
    if let Some(name) = entry.opposite() {
        out.push_str(&format!(
            "complete -c vigil -n {} -l {} -d {}\n",
            quote(&format!("__vigil_negates; and {here}")),
            name.trim_start_matches('-'),
            quote(&format!("the opposite of --{}", entry.long))
        ));
    }
}

/// The arguments of fish's `complete` that add the matches for `value`.
fn values(value: Value, root: &Position) -> String {
    match value {
        Value::Any => "-f".to_owned(),
        // Before fish 3.2, -F does not bring back what -f takes from the whole command.
        Value::Path => "-f -a '(__vigil_list_paths)'".to_owned(),
        Value::Folder => "-f -a '(__vigil_list_folders)'".to_owned(),
        Value::Revision => "-f -a '(__vigil_list_revisions)'".to_owned(),
        Value::Command => format!("-f -a '{}'", root.command_names().join(" ")),
        Value::Words(words) => format!("-f -a '{}'", words.join(" ")),
    }
}

/// Quotes `text` as one word: within single quotes fish knows two escapes.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
