//! `vigil prompt` and `vigil init` as commands.

use std::fs;

use vigil_testkit::sandbox::{Sandbox, TextOutput};

use crate::shell::VIGIL;

fn run_vigil(sandbox: &Sandbox, folder: &str, arguments: &[&str]) -> TextOutput {
    let mut command = sandbox.command(VIGIL, folder, arguments);
    command.env("TERM", "xterm").output().unwrap().into()
}

fn prompt_text(sandbox: &Sandbox, folder: &str, options: &[&str]) -> String {
    let output = run_vigil(sandbox, folder, &[&["prompt"], options].concat());
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (0, ""),
        "{options:?}"
    );
    output.stdout
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
            assert_eq!(prompt_text(&sandbox, folder, options), want, "{options:?}");
        }
    }
    assert_eq!(prompt_text(&sandbox, "../home", &[]), "");
}

#[test]
fn variables_configure_the_prompt() {
    let mut sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.write("new", "");
    sandbox.set_variable("VIGIL_PROMPT_FORMAT", "on {branch}, {untracked}");
    sandbox.set_variable("VIGIL_PROMPT_SYMBOL_UNTRACKED", "…");
    sandbox.set_variable("VIGIL_PROMPT_COLOR_CLEAN", "bright-blue");
    assert_eq!(prompt_text(&sandbox, "", &[]), "on main, …1\n");
    assert_eq!(
        prompt_text(&sandbox, "", &["--color=always", "--format={where}"]),
        "\x1b[38;5;12mmain\x1b[39m\n"
    );
    sandbox.set_variable("NO_COLOR", "1");
    assert_eq!(
        prompt_text(&sandbox, "", &["--shell=fish"]),
        "on main, …1\n"
    );
    sandbox.set_variable("GIT_DIR", "work/.git");
    assert_eq!(prompt_text(&sandbox, "..", &[]), "on main, …1\n");
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
        (&["help", "--bogus"], 129, "error: unknown option `bogus'"),
        (&["help", "status", "x"], 129, "error: too many arguments"),
        (&["init"], 129, "error: need a shell"),
        (&["init", "zsh", "x"], 129, "error: too many arguments"),
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
        let output = run_vigil(&sandbox, "", arguments);
        assert_eq!(output.code, code, "{arguments:?}");
        assert!(output.stderr.starts_with(complaint), "{}", output.stderr);
        // A usage text ends in one empty line, as git's.
        assert!(!output.stderr.ends_with("\n\n\n"), "{}", output.stderr);
        assert_eq!(output.stdout, "");
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
        let printed = TextOutput::from(command.output().unwrap());
        assert!(printed.stdout.contains(want), "{}", &printed.stdout[..2000]);
    }
}
