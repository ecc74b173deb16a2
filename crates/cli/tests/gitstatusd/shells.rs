//! The process as shells start it, greet it, ask it and stop it.

use std::fs;
use std::path::Path;

use super::daemon::VIGIL;
use super::sandbox::Sandbox;

#[test]
fn zsh_starts_greets_asks_and_stops_the_process() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/plugins");
    let sandbox = Sandbox::with_repository();
    sandbox.write("file", "changed and longer\n");
    sandbox.write("new", "");
    let daemon = sandbox.path("gitstatusd");
    std::os::unix::fs::symlink(VIGIL, &daemon).unwrap();
    let output = sandbox.path("output");
    let mut command = sandbox.isolated("zsh", b"");
    let shown = command
        .arg("-f")
        .arg(scripts.join("on-a-terminal.zsh"))
        .args(["zsh", "-f"])
        .arg(scripts.join("handshake.zsh"))
        .args([&output, &daemon, &sandbox.top()])
        .arg(sandbox.root())
        .arg(sandbox.top())
        .output()
        .expect("zsh is installed (make test-tools)");
    let written = fs::read_to_string(&output).unwrap_or_default();
    assert!(shown.status.success(), "{shown:?}\n{written}");
    let answers: Vec<Vec<&str>> = written
        .split("answer for ")
        .skip(1)
        .map(|answer| answer.lines().collect())
        .collect();
    let [first, none, again] = answers.as_slice() else {
        panic!("{written}");
    };
    // A line for the directory, then the fields.
    assert_eq!(none.len(), 1 + 2, "{written}");
    assert_eq!(none[2], "0");
    assert_eq!(first.len(), 1 + 29, "{written}");
    let work = sandbox.top();
    assert_eq!(first[2..4], ["1", work.to_str().unwrap()]);
    assert_eq!(first[5], "main");
    assert_eq!(first[10..15], ["1", "0", "1", "0", "1"]);
    assert_eq!(first[29], "first");
    assert_eq!(first[2..], again[2..30]);
    assert_eq!(again[30..], ["all is gone"]);
}
