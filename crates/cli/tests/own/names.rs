//! No name from a repository controls the terminal on which Vigil's own commands print it.

use std::fs;

use vigil_testkit::sandbox::vigil_program;

use crate::sandbox::Sandbox;

/// A name that clears the screen, changes colors and turns the text after it.
const HOSTILE: &str = "a\x1b[2J\u{9b}1m\u{202e}b";

#[track_caller]
fn assert_harmless(printed: &[u8]) {
    let text = std::str::from_utf8(printed).unwrap();
    let is_fit = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
    assert!(text.chars().all(is_fit), "{text:?}");
    assert!(text.contains("\\342\\200\\256"), "{text:?}");
}

#[test]
fn no_command_for_people_prints_what_a_terminal_obeys() {
    let sandbox = Sandbox::new();
    let name = HOSTILE;
    let top = sandbox.path(name);
    fs::create_dir(&top).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = sandbox.command(vigil_program(), &top, arguments);
        let output = command.output().unwrap();
        [output.stdout, output.stderr].concat()
    };
    sandbox.git_in(&top, ["init", "-q"]);
    sandbox.git_in(&top, ["config", "core.quotePath", "false"]);
    fs::create_dir(top.join(name)).unwrap();
    fs::write(top.join(name).join("f"), "").unwrap();
    fs::write(top.join(".gitignore"), format!("x{name}*\n")).unwrap();
    fs::write(top.join(format!("x{name}")), "").unwrap();
    sandbox.git_in(&top, ["add", "."]);
    for path in [format!("x{name}"), format!("{name}/f")] {
        assert_harmless(&run(&["why", &path]));
    }
    assert_harmless(&run(&["state", "show"]));
    run(&["status"]);
    assert_harmless(&run(&["state", "show", "-v"]));
    assert_harmless(&run(&["state", "drop"]));
    sandbox.git_in(&top, ["config", "core.fsmonitor", name]);
    assert_harmless(&run(&["fsmonitor", "status"]));
    let hook = format!("'{name}/vigil-fsmonitor-hook'");
    sandbox.git_in(&top, ["config", "core.fsmonitor", &hook]);
    assert_harmless(&run(&["fsmonitor", "status"]));
}
