//! `vigil prompt` and `vigil init` as commands.

use std::fs;

use vigil_testkit::sandbox::{Sandbox, TextOutput};

use crate::shell::VIGIL;

fn said(sandbox: &Sandbox, folder: &str, arguments: &[&str]) -> TextOutput {
    let mut command = sandbox.command(VIGIL, folder, arguments);
    command.env("TERM", "xterm").output().unwrap().into()
}

fn shown(sandbox: &Sandbox, folder: &str, options: &[&str]) -> String {
    let said = said(sandbox, folder, &[&["prompt"], options].concat());
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{options:?}");
    said.stdout
}

#[test]
fn a_segment_is_printed_for_each_shell() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.write("in/new", "");
    fs::write(sandbox.git_dir().join("HEAD"), "ref: refs/heads/a#%$b\n").unwrap();
    for (options, want) in [
        (&["--format={where} {untracked}"][..], "a#%$b ?1\n"),
        (
            &["--color=always", "--format={where}"],
            "\x1b[38;5;76ma#%$b\x1b[39m\n",
        ),
        (&["--shell=zsh", "--format={where}"], "%F{76}a#%%$%{%}b%f\n"),
        (
            &["--shell=zsh", "--no-color", "--format={where}"],
            "a#%%$%{%}b\n",
        ),
        (
            &["--shell=bash", "--format={where}"],
            "\x01\x1b[38;5;76m\x02a#%$\x01\x02b\x01\x1b[39m\x02\n",
        ),
        (
            &["--shell=fish", "--format={where}"],
            "\x1b[38;5;76ma#%$b\x1b[39m\n",
        ),
        (
            &["--shell=tmux", "--format={where}"],
            "#[fg=colour76]a##%$b#[fg=default]\n",
        ),
        (&["--format={tag}"], ""),
    ] {
        for folder in ["", "in"] {
            assert_eq!(shown(&sandbox, folder, options), want, "{options:?}");
        }
    }
    assert_eq!(shown(&sandbox, "../home", &[]), "");
}

#[test]
fn variables_say_what_it_looks_like() {
    let mut sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.write("new", "");
    sandbox.set_variable("VIGIL_PROMPT_FORMAT", "on {branch}, {untracked}");
    sandbox.set_variable("VIGIL_PROMPT_SYMBOL_UNTRACKED", "…");
    sandbox.set_variable("VIGIL_PROMPT_COLOR_CLEAN", "bright-blue");
    assert_eq!(shown(&sandbox, "", &[]), "on main, …1\n");
    assert_eq!(
        shown(&sandbox, "", &["--color=always", "--format={where}"]),
        "\x1b[38;5;12mmain\x1b[39m\n"
    );
    sandbox.set_variable("NO_COLOR", "1");
    assert_eq!(shown(&sandbox, "", &["--shell=fish"]), "on main, …1\n");
    sandbox.set_variable("GIT_DIR", "work/.git");
    assert_eq!(shown(&sandbox, "..", &[]), "on main, …1\n");
}

#[test]
fn wrong_command_lines_are_refused() {
    let sandbox = Sandbox::new();
    for (arguments, code, complaint) in [
        (
            &["prompt", "--shell=csh"][..],
            128,
            "fatal: unknown shell 'csh'",
        ),
        (
            &["prompt", "--format={nope}"],
            128,
            "fatal: unknown element '{nope}' in the format",
        ),
        (
            &["prompt", "--color=pink"],
            129,
            "error: option `color' expects",
        ),
        (&["prompt", "more"], 129, "error: too many arguments"),
        (&["init"], 129, "error: need one shell"),
        (&["init", "csh"], 129, "error: no script for 'csh'"),
        (
            &["gitstatusd", "--prompt-for=csh"],
            10,
            "no such shell: csh",
        ),
        // gitstatusd accepts abbreviated options, but not abbreviations of Vigil's own.
        (
            &["gitstatusd", "--prompt=zsh"],
            10,
            "gitstatusd: unrecognized option '--prompt=zsh'",
        ),
    ] {
        let said = said(&sandbox, "", arguments);
        assert_eq!(said.code, code, "{arguments:?}");
        assert!(said.stderr.starts_with(complaint), "{}", said.stderr);
        assert_eq!(said.stdout, "");
    }
}

#[test]
fn a_script_has_the_path_by_which_the_program_was_found() {
    let sandbox = Sandbox::empty();
    let folder = sandbox.root().join("it's a folder");
    fs::create_dir(&folder).unwrap();
    let link = folder.join("vigil");
    std::os::unix::fs::symlink(VIGIL, &link).unwrap();
    let path = std::env::join_paths([&folder]).unwrap();
    for (shell, want) in [
        ("zsh", r"it\'\\\'\'s a folder/vigil\'"),
        ("bash", r"it'\''s a folder/vigil'"),
        ("fish", r"it\'s a folder/vigil'"),
    ] {
        let mut command = sandbox.isolated("vigil", b"");
        command.env("PATH", &path).args(["init", shell]);
        let said = TextOutput::from(command.output().unwrap());
        assert!(said.stdout.contains(want), "{}", &said.stdout[..2000]);
    }
}
