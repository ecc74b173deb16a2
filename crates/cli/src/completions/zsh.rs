//! The script for zsh. It also works as a file in a folder of `fpath`, from which zsh autoloads the function.

use super::position::{Position, REVISIONS, described, quoted};
use crate::options::{Argument, OptionEntry, Value};

/// The whole script.
pub(super) fn script(root: &Position) -> String {
    let values_follow = root.values_follow().join("|");
    let mut body = String::new();
    push_position(&mut body, root, root, 1);
    format!(
        r#"#compdef vigil
# Completions of vigil for zsh, made by `vigil completions zsh`.

_vigil() {{
  local curcontext="$curcontext" state state_descr line ret=1
  local -a commands opposites
  local -A opt_args
  # The directory that -C leads to.
  local folder='' next
  local -i at
  for (( at = 2; at < CURRENT; ++at )); do
    case "${{words[at]}}" in
    ({values_follow})
      if [[ "${{words[at++]}}" == -C ]] && (( at < CURRENT )); then
        next="${{(Q)words[at]}}"
        next="${{next/#(#b)\~(\/*|)(#e)/$HOME$match[1]}}"
        # _files takes a relative directory for the name of a variable.
        [[ "$next" == /* ]] || next="${{folder:-$PWD}}/$next"
        folder="$next"
      fi
      ;;
    (-*) ;;
    (*) break ;;
    esac
  done
{body}  return ret
}}

_vigil_paths() {{
  _files ${{folder:+-W}} ${{folder:+"$folder"}} "$@"
}}

_vigil_revisions() {{
  local expl
  local -a revisions
  revisions=(${{(f)"$({REVISIONS})"}})
  _wanted revisions expl revision compadd -a revisions
}}

if [[ "${{funcstack[1]:-}}" == _vigil ]]; then
  _vigil "$@"
elif typeset -f compdef >/dev/null 2>&1; then
  compdef _vigil vigil
fi
"#
    )
}

/// Appends what completes `position`, once the words before it are removed.
fn push_position(out: &mut String, position: &Position, root: &Position, depth: usize) {
    let indent = "  ".repeat(depth);
    let opposites: Vec<String> = position.options.iter().filter_map(opposite).collect();
    if !opposites.is_empty() {
        out.push_str(&format!("{indent}opposites=()\n"));
        // Only offer them to a user who types `--no`.
        out.push_str(&format!("{indent}[[ $PREFIX == --no* ]] && opposites=(\n"));
        for one in &opposites {
            out.push_str(&format!("{indent}  {one}\n"));
        }
        out.push_str(&format!("{indent})\n"));
    }
    let is_plain = position.commands.is_empty();
    let flags = if is_plain { "-s -S" } else { "-C -s -S" };
    out.push_str(&format!("{indent}_arguments {flags}"));
    for spec in position.options.iter().flat_map(|entry| specs(entry, root)) {
        out.push_str(&format!(" \\\n{indent}  {spec}"));
    }
    if !opposites.is_empty() {
        out.push_str(&format!(" \\\n{indent}  $opposites"));
    }
    if is_plain {
        if let Some(value) = position.arguments {
            let message = name_of(value);
            let spec = quoted(&format!("*:{message}:{}", action(value, root)));
            out.push_str(&format!(" \\\n{indent}  {spec}"));
        }
        out.push_str(" && ret=0\n");
        return;
    }
    // After the command, `(-)` leaves its options to it: some have the names of those before it.
    out.push_str(&format!(
        " \\\n{indent}  '(-)1: :->command' \\\n{indent}  '(-)*:: :->argument' && ret=0\n"
    ));
    out.push_str(&format!("{indent}case $state in\n{indent}(command)\n"));
    out.push_str(&format!("{indent}  commands=(\n"));
    for command in &position.commands {
        let item = quoted(&format!("{}:{}", command.name(), command.summary));
        out.push_str(&format!("{indent}    {item}\n"));
    }
    out.push_str(&format!("{indent}  )\n"));
    out.push_str(&format!(
        "{indent}  _describe -t commands command commands && ret=0\n{indent}  ;;\n"
    ));
    out.push_str(&format!(
        "{indent}(argument)\n{indent}  curcontext=\"${{curcontext%:*}}-$words[1]:\"\n"
    ));
    out.push_str(&format!("{indent}  case $words[1] in\n"));
    for command in &position.commands {
        out.push_str(&format!("{indent}  ({})\n", command.name()));
        push_position(out, command, root, depth.saturating_add(2));
        out.push_str(&format!("{indent}    ;;\n"));
    }
    out.push_str(&format!("{indent}  esac\n{indent}  ;;\n{indent}esac\n"));
}

/// An option as specs for `_arguments`, one for each of its names.
fn specs(entry: &OptionEntry<()>, root: &Position) -> Vec<String> {
    let all: Vec<String> = entry
        .short_name()
        .into_iter()
        .chain(entry.long_name())
        .collect();
    let excluded = all.join(" ");
    let help = in_brackets(&described(entry));
    let action = action(entry.value, root);
    let spec = |name: &String| {
        let is_long = name.starts_with("--");
        let (how, value) = match entry.argument {
            Argument::None => ("", String::new()),
            // The value is attached, or there is none.
            Argument::Optional(name) => (
                if is_long { "=-" } else { "-" },
                format!("::<{}>:{action}", in_message(name)),
            ),
            Argument::Attached(name) => ("=-", format!(":<{}>:{action}", in_message(name))),
            Argument::Required(name) => (
                if is_long { "=" } else { "+" },
                format!(":<{}>:{action}", in_message(name)),
            ),
        };
        // The value of an option that must not be there again would count as an argument.
        let again = if entry.takes_next() {
            "*".to_owned()
        } else {
            format!("({excluded})")
        };
        quoted(&format!("{again}{name}{how}[{help}]{value}"))
    };
    all.iter().map(spec).collect()
}

fn opposite(entry: &OptionEntry<()>) -> Option<String> {
    let name = entry.opposite()?;
    let help = format!("the opposite of --{}", entry.long);
    Some(quoted(&format!("{name}[{help}]")))
}

fn in_brackets(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('[', "\\[")
        .replace(']', "\\]")
}

fn in_message(text: &str) -> String {
    text.replace('\\', "\\\\").replace(':', "\\:")
}

fn name_of(value: Value) -> &'static str {
    match value {
        Value::Any => "argument",
        Value::Path => "path",
        Value::Folder => "directory",
        Value::Revision => "revision",
        Value::Command => "command",
        Value::Words(_) => "word",
    }
}

/// The action that adds the matches for `value`.
fn action(value: Value, root: &Position) -> String {
    match value {
        Value::Any => " ".to_owned(),
        Value::Path => "_vigil_paths".to_owned(),
        Value::Folder => "_vigil_paths -/".to_owned(),
        Value::Revision => "_vigil_revisions".to_owned(),
        Value::Command => format!("({})", root.command_names().join(" ")),
        Value::Words(words) => format!("({})", words.join(" ")),
    }
}
