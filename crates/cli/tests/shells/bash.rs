//! Completions in bash.

use crate::sandbox::{
    COMPLETIONS, ELSEWHERE, EVIL_BRANCH, Sandbox, make_another_repository, repository, script,
    sorted,
};
use crate::shell::{Session, Shell};

/// Run before the questions; none of it may change an answer.
const SETTINGS_BEFORE: [&str; 4] = [
    "",
    "set -euo pipefail; IFS=xyzaeiou; shopt -s nullglob failglob nocaseglob nocasematch; set -f",
    "set -o posix; set -u; shopt -s extglob failglob; alias local=false",
    "PATH=/nowhere",
];

/// Completes `line` as readline would: `=` and `:` are words of their own, unless `breaks` is false.
fn completion_call(line: &str, breaks: bool) -> String {
    let parted = if breaks {
        line.replace('=', " = ").replace(':', " : ")
    } else {
        line.to_owned()
    };
    // An escaped space parts no words.
    let parted = parted.replace("\\ ", "\0");
    let words: Vec<String> = parted
        .split_whitespace()
        .map(|word| word.replace('\0', "\\ "))
        .collect();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    if line.ends_with([' ', '=']) && (breaks || line.ends_with(' ')) && !line.ends_with('=') {
        words.push("");
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let current = words.last().copied().unwrap_or_default();
    format!(
        "COMP_WORDS=({}); COMP_CWORD={}; COMPREPLY=(); _vigil vigil '{current}' x; \
         printf '%s\\n' \"${{COMPREPLY[*]-}}\"\n",
        quoted.join(" "),
        words.len() - 1
    )
}

fn ask(sandbox: &Sandbox, before: &str, questions: &[String]) -> Vec<String> {
    let file = script(sandbox, "bash");
    let text = format!(
        "{before}\n. '{}'\nIFS=' '\n{}",
        file.display(),
        questions.concat()
    );
    let bash = std::process::Command::new("sh")
        .args(["-c", "command -v bash"])
        .output();
    let bash = String::from_utf8(bash.unwrap().stdout).unwrap();
    let mut command = sandbox.isolated(bash.trim(), b"work");
    let output = command
        .args(["--norc", "--noprofile", "-c", &text])
        .output();
    let output = output.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{before}");
    assert!(output.status.success(), "{before}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    stdout.lines().map(str::to_owned).collect()
}

#[test]
fn commands_options_and_values_are_completed() {
    let sandbox = repository();
    for before in SETTINGS_BEFORE {
        for breaks in [true, false] {
            let questions: Vec<String> = COMPLETIONS
                .iter()
                .map(|case| completion_call(case.0, breaks))
                .collect();
            let answers = ask(&sandbox, before, &questions);
            assert_eq!(answers.len(), COMPLETIONS.len());
            for ((line, words), answer) in COMPLETIONS.iter().zip(answers) {
                let is_of_git = *line == "vigil describe v" && before.contains("PATH");
                let words = if is_of_git { "" } else { words };
                let prefix = line.rsplit(' ').next().unwrap_or_default();
                let joined = match prefix.split_once('=') {
                    Some((name, _)) if !breaks && name.starts_with("--") => format!("{name}="),
                    _ => String::new(),
                };
                let wanted: Vec<String> = sorted(words)
                    .iter()
                    .map(|word| format!("{joined}{word}"))
                    .collect();
                assert_eq!(sorted(&answer), wanted, "{line} after {before}");
            }
        }
    }
}

#[test]
fn a_name_that_is_inserted_runs_nothing() {
    let sandbox = repository();
    let answers = ask(
        &sandbox,
        "",
        &[completion_call("vigil describe evil", true)],
    );
    let [answer] = answers.as_slice() else {
        panic!("{answers:?}");
    };
    let unquoted = sandbox
        .isolated("bash", b"work")
        .args(["-c", &format!("printf %s {answer}")])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&unquoted.stdout), EVIL_BRANCH);
    assert!(!sandbox.root().join("work/ran").exists());
}

/// As far as the names agree, bash has inserted them quoted.
#[test]
fn a_name_that_is_inserted_in_part_is_completed_further() {
    let sandbox = repository();
    sandbox.git(["branch", "it's"]);
    sandbox.git(["branch", "it(s)"]);
    for (line, word) in [
        (r"vigil describe it\(", r"it\(s\)"),
        (
            r"vigil describe evil-\$\(t",
            r"evil-\$\(touch\$\{IFS\}ran\)",
        ),
    ] {
        let answers = ask(&sandbox, "", &[completion_call(line, true)]);
        assert_eq!(answers, [word], "{line}");
    }
    let answers = ask(
        &sandbox,
        "",
        &[completion_call(r"vigil describe it\", true)],
    );
    assert_eq!(answers, [r"it\'s it\(s\)"]);
}

#[test]
fn paths_and_commits_are_those_of_the_directory_that_an_option_leads_to() {
    let sandbox = repository();
    make_another_repository(&sandbox);
    for before in &SETTINGS_BEFORE[..3] {
        for (line, words) in ELSEWHERE {
            let call = completion_call(line, true);
            let answers = ask(&sandbox, before, &[call]);
            // The separator is a space.
            let words: Vec<String> = words.iter().map(|word| word.replace(' ', "\\ ")).collect();
            assert_eq!(answers, [words.join(" ")], "{line} after {before}");
        }
    }
}

/// bash would look in the current directory for what it takes for names of files, and expand those that are not there.
#[test]
fn names_in_the_directory_that_an_option_leads_to_run_nothing() {
    let sandbox = repository();
    let elsewhere = sandbox.root().join("elsewhere");
    let folders = [
        "u$((a[$(touch ran)]))",
        "v${x:=`touch ran`}",
        "w:$((a[$(touch ran)]))",
        "x\ny",
        "~z",
    ];
    for folder in folders {
        std::fs::create_dir_all(elsewhere.join(folder)).unwrap();
        std::fs::write(elsewhere.join(folder).join("it's \"a\" $file"), "").unwrap();
    }
    let rc = format!(
        "source '{}'\nvigil() {{ printf '%s\\0' \"${{@:4}}\" >\"$OUT\"; echo as''ked; }}\n",
        script(&sandbox, "bash").display()
    );
    let out = sandbox.root().join("out");
    let mut session = Session::start(&sandbox, Shell::Bash, &rc);
    for begun in [
        "u",
        "v",
        "w",
        "\"u",
        "\"v",
        "'u",
        "'v",
        "x",
        "\\~",
        "\"v\"\\$'{'",
    ] {
        session.send(&format!("vigil -C elsewhere status {begun}\t\t"));
        session.wait_for("asked");
        let letter = begun.trim_start_matches(['"', '\'', '\\']);
        let mut folders = folders.iter();
        let folder = folders.find(|name| name.as_bytes()[..1] == letter.as_bytes()[..1]);
        let folder = folder.unwrap();
        // How bash quotes a newline is not understood when it stands in the word to complete.
        let file = if begun == "x" { "" } else { "it's \"a\" $file" };
        let wanted = format!("{folder}/{file}\0");
        assert_eq!(std::fs::read_to_string(&out).unwrap(), wanted, "{begun}");
    }
    session.send("exit");
    session.end();
    for folder in ["", "elsewhere"] {
        assert!(!sandbox.root().join(folder).join("ran").exists());
    }
}

/// A path follows the colon, not another commit.
#[test]
fn no_commit_is_inserted_behind_a_colon() {
    let sandbox = repository();
    for line in ["vigil cat-file -p v1:v", "vigil cat-file -p :v"] {
        let questions = [true, false].map(|breaks| completion_call(line, breaks));
        assert_eq!(ask(&sandbox, "", &questions), ["", ""], "{line}");
    }
}

#[test]
fn nothing_else_is_defined() {
    let sandbox = Sandbox::empty();
    let file = script(&sandbox, "bash");
    let list = "{ declare -F; alias; shopt; set -o; declare -p | grep -v ' [A-Z_]*='; }";
    let text = format!(
        "{list} >before; . '{}'; {list} >after; diff before after",
        file.display()
    );
    let mut command = sandbox.isolated("bash", b"");
    let output = command
        .args(["--norc", "--noprofile", "-c", &text])
        .output();
    let output = output.unwrap();
    let added: Vec<&str> = std::str::from_utf8(&output.stdout)
        .unwrap()
        .lines()
        .collect();
    let added: Vec<&&str> = added
        .iter()
        .filter(|line| line.starts_with(['<', '>']))
        .collect();
    let functions = ["__vigil_list_paths", "__vigil_unquote", "_vigil"];
    let wanted = functions.map(|name| format!("> declare -f {name}"));
    assert!(added.iter().copied().eq(&wanted), "{added:?}");
}
