//! Progress on a terminal, while a filter blocks the scan.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::sandbox::{Sandbox, VIGIL};

/// A repository in which examining one file blocks until somebody writes to the pipe `gate`.
fn blocked_repository() -> Sandbox {
    let sandbox = Sandbox::empty();
    let gate = sandbox.make_pipe("gate");
    sandbox.write(".gitattributes", "held filter=gate\n");
    sandbox.write("held", "1\n");
    sandbox.git(["add", "."]);
    let filter = format!("cat '{}' >/dev/null; cat", gate.display());
    sandbox.git(["config", "filter.gate.clean", &filter]);
    // With another mtime and the old size, so that its contents must be compared.
    sandbox.write("held", "2\n");
    let file = OpenOptions::new()
        .write(true)
        .open(sandbox.top().join("held"))
        .unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    sandbox
}

/// Everything a terminal shows for `arguments`, and the part before the gate was opened: up to a line or carriage return that
/// contains `mark`.
fn terminal_output(arguments: &str, mark: Option<&str>) -> String {
    let sandbox = blocked_repository();
    let command = format!("{VIGIL} {arguments}");
    let mut terminal = sandbox
        .on_a_terminal("", &command)
        .env("GIT_PROGRESS_DELAY", "0")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(terminal.stdout.take().unwrap());
    let mut shown = Vec::new();
    if let Some(mark) = mark {
        while !String::from_utf8_lossy(&shown).contains(mark) {
            let read = output.read_until(b'\r', &mut shown).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&shown));
        }
    }
    // Opening blocks until the filter reads.
    drop(
        OpenOptions::new()
            .write(true)
            .open(sandbox.root().join("gate")),
    );
    output.read_to_end(&mut shown).unwrap();
    assert!(terminal.wait().unwrap().success());
    String::from_utf8(shown).unwrap()
}

#[test]
fn a_long_scan_shows_its_progress() {
    for arguments in ["status", "status --short"] {
        let shown = terminal_output(arguments, Some("Refreshing index: "));
        assert!(
            shown.contains("Refreshing index: 100% (2/2), done."),
            "{shown:?}"
        );
        assert!(shown.contains("held"), "{shown:?}");
    }
}

#[test]
fn formats_for_programs_show_no_progress() {
    for arguments in ["status --porcelain", "status -z", "status --format=json"] {
        let shown = terminal_output(arguments, None);
        assert!(!shown.contains("Refreshing"), "{shown:?}");
    }
}
