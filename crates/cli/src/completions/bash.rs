//! The script for bash.

use super::position::{Position, REVISIONS, takes_value};
use crate::options::{Argument, OptionEntry, Value};

/// The whole script. In bash `=` and `:` separate words, unless the user has changed `COMP_WORDBREAKS`.
pub(super) fn script(root: &Position) -> String {
    let values_follow = root.values_follow().join("|");
    let mut cases = String::new();
    push_case(&mut cases, root, root);
    for command in &root.commands {
        push_case(&mut cases, command, root);
        for below in &command.commands {
            push_case(&mut cases, below, root);
        }
    }
    let with_commands: Vec<&str> = root
        .commands
        .iter()
        .filter(|command| !command.commands.is_empty())
        .map(Position::name)
        .collect();
    let with_commands = with_commands.join("|");
    format!(
        r#"# Completions of vigil for bash, made by `vigil completions bash`.

_vigil() {{
    \local IFS=$' \t\n' word current option='' before='' place='' command='' at=1 only_arguments=''
    \local options='' opposites='' words='' kind='' value_words='' value_kind='' takes_next='' quoted='' unquoted='' folder=''
    \local opened='' outside=''
    COMPREPLY=()
    current=${{COMP_WORDS[COMP_CWORD]-}}
    # A value may be joined to its option, or be the next word.
    if [[ $current == --*=* ]]; then
        option=${{current%%=*}}
        before=$option=''
        current=${{current#*=}}
    elif [[ $current == '=' && $COMP_CWORD -ge 2 ]]; then
        option=${{COMP_WORDS[COMP_CWORD - 1]}}
        current=''
    elif [[ $COMP_CWORD -ge 3 && ${{COMP_WORDS[COMP_CWORD - 1]}} == '=' ]]; then
        option=${{COMP_WORDS[COMP_CWORD - 2]}}
    elif [[ $COMP_CWORD -ge 2 ]]; then
        option=${{COMP_WORDS[COMP_CWORD - 1]}}
        takes_next=1
    fi
    while [[ $at -lt $COMP_CWORD ]]; do
        word=${{COMP_WORDS[at]}}
        if [[ -z $command ]]; then
            case $word in
            {values_follow})
                if [[ ${{COMP_WORDS[at + 1]-}} != '=' ]]; then
                    at=$((at + 1))
                    # Not by `[[`, which takes -c for it if nocasematch is set.
                    if \test "$word" = -C && [[ $at -lt $COMP_CWORD ]]; then
                        __vigil_unquote "${{COMP_WORDS[at]}}"
                        if [[ $unquoted == /* || -z $folder ]]; then
                            folder=$unquoted
                        else
                            folder+=/$unquoted
                        fi
                    fi
                fi
                ;;
            -*) ;;
            *) command=$word place=$word ;;
            esac
        elif [[ $word == -- ]]; then
            only_arguments=1
        elif [[ $word != -* && $place == "$command" ]]; then
            case $command in
            {with_commands}) place="$command $word" ;;
            esac
        fi
        while [[ ${{COMP_WORDS[at + 1]-}} == '=' ]]; do
            at=$((at + 2))
        done
        at=$((at + 1))
    done
    case $place in
{cases}    *) \return 0 ;;
    esac
    if [[ -n $value_words || -n $value_kind ]]; then
        words=$value_words kind=$value_kind
    elif [[ -n $before || ( -n $option && -z $takes_next ) ]]; then
        words='' kind=''
    elif [[ $current == --no* && -z $only_arguments ]]; then
        words="$options $opposites" kind=''
    elif [[ $current == -* && -z $only_arguments ]]; then
        words=$options kind=''
    fi
    for word in $words; do
        if [[ $word == "$current"* ]]; then
            COMPREPLY+=("$before$word")
        fi
    done
    if [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *= ]]; then
        \compopt -o nospace 2>/dev/null || \true
    fi
    # bash itself completes paths, but not from where -C leads to.
    if [[ -n $folder && -z $before && $current != [/~]* ]]; then
        case $kind in
        path | folder)
            __vigil_unquote "$current"
            # Not as file names (-o filenames): bash looks for those here, and expands the names of those that it does not find.
            \compopt +o default +o bashdefault 2>/dev/null || \true
            while IFS= \read -r word; do
                if [[ -n $word ]]; then
                    COMPREPLY+=("$word")
                fi
            done <<<"$(__vigil_list_paths)"
            if [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == */ ]]; then
                \compopt -o nospace 2>/dev/null || \true
            fi
            \return 0
            ;;
        esac
    fi
    case $kind in
    path) ;;
    folder) \compopt -o dirnames +o default +o bashdefault 2>/dev/null || \true ;;
    revision)
        \compopt +o default +o bashdefault 2>/dev/null || \true
        # Behind a colon, which is a word of its own in bash, stands a path.
        if [[ ${{COMP_WORDS[COMP_CWORD - 1]}} == *: ]]; then
            \return 0
        fi
        while IFS= \read -r word; do
            \printf -v quoted %q "$word"
            # What is typed may be the beginning of several names, which was inserted quoted.
            if [[ -n $word && ( $word == "$current"* || $quoted == "$current"* ) ]]; then
                COMPREPLY+=("$before$quoted")
            fi
        done <<<"$({REVISIONS})"
        ;;
    *) \compopt +o default +o bashdefault 2>/dev/null || \true ;;
    esac
    \return 0
}}

# Sets `unquoted` to the word $1 without its quotes, and with the home directory in place of a tilde. If a quote is still open at
# the end, `opened` is that, and `outside` what stands before it.
__vigil_unquote() {{
    \local rest="$1" first=''
    unquoted='' opened='' outside=''
    case $rest in
    '~' | '~/'*) unquoted=${{HOME-}} rest=${{rest:1}} ;;
    esac
    while [[ -n $rest ]]; do
        first=${{rest:0:1}} rest=${{rest:1}}
        case $opened$first in
        \' | \") opened=$first outside=$unquoted ;;
        \'\' | \"\") opened='' ;;
        \\ | \"\\)
            if [[ -z $opened || $rest == [\$\`\"\\]* ]]; then
                first=${{rest:0:1}} rest=${{rest:1}}
            fi
            unquoted+=$first
            ;;
        *) unquoted+=$first ;;
        esac
    done
}}

# Prints the paths below `folder` that begin with `unquoted`, only folders if that is the `kind`, quoted, one to a line. Call
# this in a subshell.
__vigil_list_paths() {{
    \local word='' rest='' first='' quoted=''
    # A lone dash would mean the former directory.
    [[ $folder == /* ]] || folder=./$folder
    CDPATH='' \builtin cd -- "$folder" >/dev/null 2>&1 || \return 0
    # Not with compgen, which expands variables in the names of folders.
    \unset -v GLOBIGNORE
    \set +f
    \shopt -s nullglob dotglob
    \shopt -u failglob nocaseglob
    for word in "$unquoted"*; do
        if [[ $word == . || $word == .. || $word == */. || $word == */.. ]]; then
            \continue
        elif [[ -d $word ]]; then
            word+=/
        elif [[ $kind == folder ]]; then
            \continue
        fi
        if [[ -z $opened ]]; then
            \printf -v quoted %q "$word"
            case $quoted in
            \$\'*) ;;
            *)
                # bash ends a word at these, and old releases leave a tilde as it is.
                quoted=${{quoted//:/\\:}} quoted=${{quoted//=/\\=}}
                if [[ $quoted == '~'* ]]; then
                    quoted=\\$quoted
                fi
                ;;
            esac
            \printf '%s\n' "$quoted"
        elif [[ $word != *$'\n'* ]]; then
            # bash replaces only what is behind the quote.
            rest=${{word#"$outside"}} word=''
            while [[ -n $rest ]]; do
                first=${{rest:0:1}} rest=${{rest:1}}
                case $opened$first in
                \"[\$\`\"\\]) word+=\\$first ;;
                \'\') word+="'\\''" ;;
                *) word+=$first ;;
                esac
            done
            \printf '%s\n' "$word"
        fi
    done
}}

if \type complete >/dev/null 2>&1; then
    \complete -o bashdefault -o default -F _vigil vigil
fi
"#
    )
}

fn names<K>(entry: &OptionEntry<K>) -> Vec<String> {
    let names = entry.short_name().into_iter().chain(entry.long_name());
    names.collect()
}

/// Appends the case for one position.
fn push_case(out: &mut String, position: &Position, root: &Position) {
    let mut options = Vec::new();
    let mut opposites = Vec::new();
    for entry in &position.options {
        options.extend(entry.short_name());
        if let Some(long) = entry.long_name() {
            match entry.argument {
                Argument::None => options.push(long),
                Argument::Optional(_) => options.extend([format!("{long}="), long]),
                Argument::Attached(_) | Argument::Required(_) => options.push(format!("{long}=")),
            }
        }
        opposites.extend(entry.opposite());
    }
    out.push_str(&format!("    '{}')\n", position.words.join(" ")));
    assign(out, "options", &options.join(" "));
    assign(out, "opposites", &opposites.join(" "));
    if !position.commands.is_empty() {
        assign(out, "words", &position.command_names().join(" "));
    } else if let Some(value) = position.arguments {
        let (words, kind) = shown(value, root);
        assign(out, "words", &words);
        assign(out, "kind", kind);
    }
    let valued = position.options.iter().filter(|entry| takes_value(entry));
    let mut values = String::new();
    for entry in valued {
        let (words, kind) = shown(entry.value, root);
        let pattern = |names: &[String]| names.join("|");
        let joined = pattern(&entry.long_name().into_iter().collect::<Vec<_>>());
        // An option that takes the next word as well is never completed behind `=` alone.
        let next = match entry.takes_next() {
            true => pattern(&names(entry)),
            false => String::new(),
        };
        let kind = if kind.is_empty() && words.is_empty() {
            "any"
        } else {
            kind
        };
        let assigned = format!("value_words='{words}' value_kind='{kind}'");
        if !joined.is_empty() {
            values.push_str(&format!("        {joined}:) {assigned} ;;\n"));
        }
        if !next.is_empty() {
            let next: Vec<String> = next.split('|').map(|name| format!("{name}:1")).collect();
            values.push_str(&format!("        {}) {assigned} ;;\n", next.join("|")));
        }
    }
    if !values.is_empty() {
        out.push_str("        case $option:$takes_next in\n");
        out.push_str(&values);
        out.push_str("        esac\n");
    }
    out.push_str("        ;;\n");
}

fn assign(out: &mut String, name: &str, words: &str) {
    if !words.is_empty() {
        out.push_str(&format!("        {name}='{words}'\n"));
    }
}

/// The words that complete `value`, and the kind of further matches.
fn shown(value: Value, root: &Position) -> (String, &'static str) {
    match value {
        Value::Any => (String::new(), ""),
        Value::Path => (String::new(), "path"),
        Value::Folder => (String::new(), "folder"),
        Value::Revision => (String::new(), "revision"),
        Value::Command => (root.command_names().join(" "), ""),
        Value::Words(words) => (words.join(" "), ""),
    }
}
