//! Completions in zsh, on a terminal, since zsh does not complete elsewhere.

use std::path::Path;

use crate::sandbox::{
    COMPLETIONS, ELSEWHERE, Sandbox, make_another_repository, repository, script, sorted,
};

/// Run before the completions are loaded; none of it may change an answer.
const SETTINGS_BEFORE: [&str; 3] = [
    "",
    "setopt ksh_arrays sh_word_split no_glob err_exit no_unset no_bare_glob_qual; IFS=aeiou",
    "path=(/nowhere)",
];

/// The possible completions of each of `lines`, after `setup`.
fn ask(sandbox: &Sandbox, setup: &str, lines: &[&str]) -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shells");
    let home = sandbox.root().join("zsh");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::copy(here.join("ask.zsh"), home.join(".zshrc")).unwrap();
    let file = |name: &str| home.join(name);
    std::fs::write(file("setup"), setup).unwrap();
    std::fs::write(file("ask"), lines.join("\n")).unwrap();
    let _ = std::fs::remove_file(file("answers"));
    let mut command = sandbox.isolated("zsh", b"work");
    command
        .env("ZDOTDIR", &home)
        .env("SETUP", file("setup"))
        .env("ASK", file("ask"))
        .env("ANSWERS", file("answers"))
        .env("TERM", "dumb");
    let shown = command
        .arg("-f")
        .arg(here.join("../../../../tests/plugins/on-a-terminal.zsh"))
        .args(["zsh", "-d", "-i"])
        .output()
        .expect("zsh is installed (make test-tools)");
    let answers = std::fs::read_to_string(file("answers")).unwrap_or_default();
    let answers: Vec<String> = answers
        .lines()
        .map(|line| line.split_once(" => ").unwrap().1.to_owned())
        .collect();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert_eq!(answers.len(), lines.len(), "{shown}");
    for complaint in ["_vigil:", "not found", "_arguments:", "error"] {
        assert!(!shown.contains(complaint), "{shown}");
    }
    answers
}

#[test]
fn commands_options_and_values_are_completed() {
    let sandbox = repository();
    let file = script(&sandbox, "zsh");
    let lines: Vec<&str> = COMPLETIONS.iter().map(|case| case.0).collect();
    for before in SETTINGS_BEFORE {
        let answers = ask(
            &sandbox,
            &format!("{before}\nsource {}", file.display()),
            &lines,
        );
        for ((line, words), answer) in COMPLETIONS.iter().zip(answers) {
            let is_of_git = *line == "vigil describe v" && before.contains("path");
            let words = if is_of_git { "" } else { words };
            let plain = |text: &str| sorted(text.replace("= ", " ").trim_end_matches('='));
            assert_eq!(plain(&answer), plain(words), "{line} after {before}");
        }
    }
}

#[test]
fn paths_and_folders_are_completed_where_they_belong() {
    let sandbox = repository();
    let setup = format!("source {}", script(&sandbox, "zsh").display());
    let lines = [
        "vigil status so",
        "vigil -C so",
        "vigil --git-dir=so",
        "vigil doctor so",
    ];
    let answers = ask(&sandbox, &setup, &lines);
    assert_eq!(
        answers
            .iter()
            .map(|answer| sorted(answer))
            .collect::<Vec<_>>(),
        [
            sorted("some\\ file some-folder"),
            sorted("some-folder"),
            sorted("some-folder"),
            vec![]
        ]
    );
}

#[test]
fn paths_and_commits_are_those_of_the_directory_that_an_option_leads_to() {
    let sandbox = repository();
    make_another_repository(&sandbox);
    let lines: Vec<&str> = ELSEWHERE.iter().map(|case| case.0).collect();
    for before in &SETTINGS_BEFORE[..2] {
        let setup = format!("{before}\nsource {}", script(&sandbox, "zsh").display());
        let answers = ask(&sandbox, &setup, &lines);
        for ((line, words), answer) in ELSEWHERE.iter().zip(answers) {
            // zsh adds a name without the folders before it, quotes it, and marks folders by itself.
            let shown = |word: &&str| {
                let word = word.trim_end_matches('/').replace(' ', "\\ ");
                word.rsplit('/').next().unwrap_or_default().to_owned()
            };
            let wanted = words.iter().map(shown).collect::<Vec<_>>().join(" ");
            assert_eq!(sorted(&answer), sorted(&wanted), "{line} after {before}");
        }
    }
}

#[test]
fn the_script_may_lie_where_zsh_looks_for_functions() {
    let sandbox = repository();
    let functions = sandbox.root().join("functions");
    std::fs::create_dir(&functions).unwrap();
    std::fs::rename(script(&sandbox, "zsh"), functions.join("_vigil")).unwrap();
    let setup = format!("fpath=({} $fpath)\ncompinit -u -D", functions.display());
    let answers = ask(&sandbox, &setup, &["vigil wa", "vigil wa"]);
    assert_eq!(answers, ["watch", "watch"]);
}

#[test]
fn nothing_else_is_defined() {
    let sandbox = Sandbox::empty();
    let file = script(&sandbox, "zsh");
    let list = "{ print -l ${(ok)functions} ${(ok)aliases}; setopt; typeset +m '[a-z]*' }";
    let text = format!(
        "zmodload zsh/parameter; {list} >before; source {}; {list} >after; diff before after",
        file.display()
    );
    let mut command = sandbox.isolated("zsh", b"");
    let output = command.args(["-f", "-c", &text]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let added: Vec<&str> = stdout
        .lines()
        .filter(|line| line.starts_with(['<', '>']))
        .collect();
    assert_eq!(added, ["> _vigil", "> _vigil_paths", "> _vigil_revisions"]);
}
