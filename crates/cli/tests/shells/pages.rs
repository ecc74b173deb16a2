//! Manual pages, and the programs that show them.

use std::path::Path;

use vigil_testkit::process::copy_program;
use vigil_testkit::sandbox::TextOutput;

use crate::sandbox::{Sandbox, VIGIL};

/// The output of Vigil for `arguments`, with `path` as its `PATH`.
fn run_vigil(sandbox: &Sandbox, path: &str, arguments: &[&str]) -> TextOutput {
    let mut command = sandbox.isolated(VIGIL, b"");
    command
        .env("PATH", path)
        .args(arguments)
        .output()
        .unwrap()
        .into()
}

fn page_names() -> Vec<String> {
    let output = run_vigil(&Sandbox::empty(), "", &["man", "--list"]);
    assert_eq!(output.code, 0);
    output.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn every_command_says_how_it_is_used() {
    let sandbox = Sandbox::empty();
    for name in page_names() {
        let short = run_vigil(&sandbox, "", &[&name, "-h"]);
        let text = short.stdout.to_lowercase() + &short.stderr;
        assert!(text.starts_with("usage: "), "{name}: {text}");
    }
    let of_hg = run_vigil(&sandbox, "", &["hg", "-h"]);
    assert!(of_hg.stdout.contains("\n    --change <REV>"), "{of_hg:?}");
    for line in [["hg", "status", "-h"], ["hg", "status", "--help"]] {
        assert_eq!(run_vigil(&sandbox, "", &line), of_hg);
    }
    for (name, call) in [
        ("help", "vigil help [<command>]"),
        ("hg", "vigil hg status [<option>...] [<file>...]"),
    ] {
        let page = run_vigil(&sandbox, "", &["help", name]).stdout;
        assert!(page.contains(&format!("\n       {call}\n")), "{page}");
    }
}

#[test]
fn every_command_has_a_page_with_all_sections() {
    let sandbox = Sandbox::empty();
    let overview = run_vigil(&sandbox, "", &["help"]).stdout;
    let names = page_names();
    assert!(names.len() > 10);
    for name in names {
        assert!(overview.contains(&format!("\n   {name} ")), "{name}");
        let text = run_vigil(&sandbox, "", &["help", &name]);
        assert_eq!((text.code, text.stderr.as_str()), (0, ""), "{name}");
        let headings: Vec<&str> = text
            .stdout
            .lines()
            .filter(|line| line.starts_with(char::is_alphabetic))
            .collect();
        assert_eq!(headings[..3], ["NAME", "SYNOPSIS", "DESCRIPTION"], "{name}");
        let rest = [
            "ENVIRONMENT",
            "FILES",
            "EXIT STATUS",
            "EXAMPLES",
            "SEE ALSO",
        ];
        assert!(headings.ends_with(&rest), "{name}: {headings:?}");
        let named = format!("       vigil-{name} - ");
        assert!(text.stdout.lines().nth(1).unwrap().starts_with(&named));
        let call = format!("\n       vigil {name}");
        assert!(text.stdout.contains(&call), "{}", text.stdout);
        assert!(
            text.stdout
                .lines()
                .all(|line| line.len() <= 90 && !line.ends_with(' ')),
            "{}",
            text.stdout
        );
    }
}

#[test]
fn the_options_of_a_page_are_those_of_the_usage() {
    let sandbox = Sandbox::empty();
    for name in ["status", "cat-file", "describe", "why", "doctor"] {
        let usage = run_vigil(&sandbox, "", &[name, "-h"]).stdout;
        let page = run_vigil(&sandbox, "", &["help", name]).stdout;
        let options = usage.lines().filter_map(|line| line.strip_prefix("    -"));
        let mut count = 0;
        for option in options {
            let words = option.split(['=', ' ', '[', ',']).next().unwrap();
            count += 1;
            assert!(page.contains(&format!("-{words}")), "{option}");
        }
        assert!(count > 0, "{usage}");
    }
}

#[test]
fn man_renders_each_page_without_a_warning() {
    let sandbox = Sandbox::empty();
    let pages = page_names()
        .into_iter()
        .map(|name| vec!["man".to_owned(), name]);
    for arguments in pages.chain([vec!["man".to_owned()]]) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let page = run_vigil(&sandbox, "", &arguments);
        assert_eq!(page.code, 0);
        let file = sandbox.root().join("page.1");
        std::fs::write(&file, &page.stdout).unwrap();
        let mut command = sandbox.isolated("man", b"");
        command.args(["--warnings", "-E", "UTF-8", "-P", "cat", "-l"]);
        let shown = command.arg(&file).output();
        let shown = shown.expect("man is installed (make test-tools)");
        assert_eq!(String::from_utf8_lossy(&shown.stderr), "", "{arguments:?}");
        assert!(shown.status.success(), "{arguments:?}");
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("SYNOPSIS") && shown.contains("SEE ALSO"));
        // What a reader may have to type consists of characters on a keyboard.
        assert!(shown.is_ascii(), "{arguments:?}: {shown}");
    }
}

/// A folder with a man(1) that finds the pages in the folder `pages`, and says what it shows.
fn fake_man(sandbox: &Sandbox, text: &str) -> String {
    let folder = sandbox.root().join("programs");
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("man");
    std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    folder.to_str().unwrap().to_owned()
}

#[test]
fn man_shows_a_page_that_it_finds() {
    let sandbox = Sandbox::empty();
    let path = fake_man(
        &sandbox,
        "case $1 in\n-w) echo /bin/sh ;;\n*) echo \"shows $*\"; exit 3 ;;\nesac",
    );
    for arguments in [["help", "status"], ["--help", "status"]] {
        let shown = run_vigil(&sandbox, &path, &arguments);
        assert_eq!(
            (shown.code, shown.stdout.as_str()),
            (3, "shows vigil-status\n")
        );
    }
    let shown = run_vigil(&sandbox, &path, &["help", "vigil"]);
    assert_eq!(shown.stdout, "shows vigil\n");
}

#[test]
fn where_man_finds_nothing_the_text_is_shown() {
    let sandbox = Sandbox::empty();
    let plain = run_vigil(&sandbox, "", &["help", "status"]);
    assert!(
        plain
            .stdout
            .starts_with("NAME\n       vigil-status - Show what changed")
    );
    for text in [
        "exit 16",
        "echo This system has no pages.; exit 0",
        "echo /nowhere/vigil-status.1; exit 0",
        "exit 0",
    ] {
        let path = fake_man(&sandbox, text);
        assert_eq!(
            run_vigil(&sandbox, &path, &["help", "status"]),
            plain,
            "{text}"
        );
    }
}

#[test]
fn a_page_beside_the_program_is_shown_first() {
    let sandbox = Sandbox::empty();
    let prefix = sandbox.root().join("prefix");
    let place = |path: &str| {
        let path = prefix.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    let program = place("bin/vigil");
    if std::fs::hard_link(VIGIL, &program).is_err() {
        copy_program(Path::new(VIGIL), &program).unwrap();
    }
    let page = place("share/man/man1/vigil-status.1");
    std::fs::write(&page, "").unwrap();
    let text = "case $1 in\n-w) echo \"$2\" ;;\n*) echo \"shows $*\" ;;\nesac";
    let path = fake_man(&sandbox, text);
    let run = |program: &Path| {
        let mut command = sandbox.isolated(program, b"");
        let output = command.env("PATH", &path).args(["help", "status"]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(run(&program), format!("shows {}\n", page.display()));
    // A symbolic link works, too, as long as the program is there.
    let link = sandbox.root().join("link");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    assert_eq!(run(&link), format!("shows {}\n", page.display()));
}

#[test]
fn a_wrong_command_line_is_refused() {
    let sandbox = Sandbox::empty();
    let usage = "usage: vigil man [--list | <command>]\n";
    for arguments in [&["man", "nonsense"][..], &["man", "status", "why"]] {
        let refused = run_vigil(&sandbox, "", arguments);
        assert_eq!((refused.code, refused.stderr.as_str()), (129, usage));
    }
    for (arguments, complaint) in [
        (&["completions"][..], "error: need a shell\n"),
        (&["completions", "csh"], "error: no script for 'csh'\n"),
        (
            &["completions", "zsh", "bash"],
            "error: too many arguments\n",
        ),
    ] {
        let refused = run_vigil(&sandbox, "", arguments);
        let usage = "usage: vigil completions (bash | fish | zsh)\n\n";
        assert_eq!(
            (refused.code, refused.stderr),
            (129, format!("{complaint}{usage}"))
        );
    }
}
