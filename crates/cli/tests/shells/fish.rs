//! Completions in fish.

use crate::sandbox::{
    COMPLETIONS, ELSEWHERE, EVIL_BRANCH, Sandbox, make_another_repository, repository, script,
    sorted,
};

fn ask(sandbox: &Sandbox, before: &str, lines: &[&str]) -> Vec<Vec<String>> {
    let file = script(sandbox, "fish");
    let questions: String = lines
        .iter()
        .map(|line| format!("complete -C '{}'; echo ==\n", line.replace('\\', "\\\\")))
        .collect();
    let text = format!("source '{}'\n{before}\n{questions}", file.display());
    let mut command = sandbox.isolated("fish", b"work");
    let output = command.args(["--no-config", "-c", &text]).output();
    let output = output.expect("fish is installed (make test-tools)");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let answers = stdout.split("==\n").map(|answer| {
        let words = answer.lines().map(|line| line.split('\t').next().unwrap());
        words.map(str::to_owned).collect()
    });
    let mut answers: Vec<Vec<String>> = answers.collect();
    assert_eq!(answers.pop(), Some(Vec::new()));
    answers
}

#[test]
fn commands_options_and_values_are_completed() {
    let sandbox = repository();
    let lines: Vec<&str> = COMPLETIONS.iter().map(|case| case.0).collect();
    for before in ["", "set -g PATH /nowhere"] {
        let answers = ask(&sandbox, before, &lines);
        assert_eq!(answers.len(), COMPLETIONS.len());
        for ((line, words), mut answer) in COMPLETIONS.iter().zip(answers) {
            let is_of_git = *line == "vigil describe v" && !before.is_empty();
            let words = if is_of_git { "" } else { words };
            let last = line.rsplit(' ').next().unwrap_or_default();
            // Some versions of fish also print words that have the letters somewhere.
            answer.retain(|word| word.starts_with(last));
            let joined = match last.split_once('=') {
                Some((name, _)) => format!("{name}="),
                None => String::new(),
            };
            let mut wanted: Vec<String> = sorted(words)
                .iter()
                .map(|word| format!("{joined}{word}"))
                .collect();
            wanted.sort();
            // fish shows a name without the `=` that attaches a value.
            let answer: Vec<String> = sorted(&answer.join(" "));
            let wanted: Vec<String> = match joined.is_empty() {
                true => wanted
                    .iter()
                    .map(|word| word.trim_end_matches('=').to_owned())
                    .collect(),
                false => wanted,
            };
            let answer: Vec<String> = match joined.is_empty() {
                true => sorted(answer.join(" ").replace("= ", " ").trim_end_matches('=')),
                false => answer,
            };
            assert_eq!(answer, wanted, "{line} after {before}");
        }
    }
}

#[test]
fn paths_and_folders_are_completed_where_they_belong() {
    let sandbox = repository();
    let lines = [
        "vigil status so",
        "vigil -C so",
        "vigil --git-dir=so",
        "vigil --git-dir=",
        "vigil doctor so",
    ];
    assert_eq!(
        ask(&sandbox, "", &lines),
        [
            vec!["some file", "some-folder/"],
            vec!["some-folder/"],
            vec!["--git-dir=some-folder/"],
            vec!["--git-dir=some-folder/"],
            vec![]
        ]
    );
}

#[test]
fn paths_and_commits_are_those_of_the_directory_that_an_option_leads_to() {
    let sandbox = repository();
    make_another_repository(&sandbox);
    let lines: Vec<&str> = ELSEWHERE.iter().map(|case| case.0).collect();
    let answers = ask(&sandbox, "", &lines);
    for ((line, words), answer) in ELSEWHERE.iter().zip(answers) {
        assert_eq!(answer, *words, "{line}");
    }
}

#[test]
fn a_name_is_inserted_as_it_is() {
    let sandbox = repository();
    let answers = ask(&sandbox, "", &["vigil describe evil"]);
    assert_eq!(answers, [[EVIL_BRANCH]]);
    assert!(!sandbox.root().join("work/ran").exists());
}

#[test]
fn nothing_else_is_defined() {
    let sandbox = Sandbox::empty();
    let file = script(&sandbox, "fish");
    let list = "begin; functions -na; set -gx; set -Un; end";
    let text = format!(
        "{list} >before; source '{}'; {list} >after; diff before after",
        file.display()
    );
    let mut command = sandbox.isolated("fish", b"");
    let output = command.args(["--no-config", "-c", &text]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let added: Vec<&str> = stdout
        .lines()
        .filter(|line| line.starts_with(['<', '>']))
        .collect();
    assert!(
        added.len() == 7 && added.iter().all(|line| line.starts_with("> __vigil_")),
        "{stdout}"
    );
}
