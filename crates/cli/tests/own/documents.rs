//! The objects that Vigil's own commands print, and what `docs/` says of them.

use serde_json::Value;
use vigil_testkit::sandbox::{TextOutput, vigil_program};

use crate::sandbox::Sandbox;

const STATUS: &str = include_str!("../../../../docs/json-status.md");
const STATE: &str = include_str!("../../../../docs/json-state.md");
const DOCTOR: &str = include_str!("../../../../docs/json-doctor.md");
const DAEMON: &str = include_str!("../../../../docs/json-daemon.md");
const WHY: &str = include_str!("../../../../docs/json-why.md");

/// Asserts that `description` names every member of `value`, or of the objects in it.
#[track_caller]
fn assert_described(value: &Value, description: &str) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let is_named = ['`', '.']
                    .iter()
                    .any(|before| description.contains(&format!("{before}{name}`")));
                assert!(is_named, "{name} is not described");
                assert_described(value, description);
            }
        }
        Value::Array(values) => {
            for value in values {
                assert_described(value, description);
            }
        }
        _ => {}
    }
}

#[test]
fn every_member_of_an_object_is_described() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.c", "int a = 1;\n");
    sandbox.write("a.o", "");
    let run = tempfile::tempdir().unwrap();
    let vigil = |arguments: &[&str]| -> TextOutput {
        let mut command = sandbox.command(vigil_program(), "", arguments);
        command
            .env("VIGIL_RUNTIME_DIR", run.path().join("vigil"))
            .env("VIGIL_DAEMON_PATIENCE_MS", "60000")
            .env_remove("VIGIL_NO_DAEMON");
        command.output().unwrap().into()
    };
    let object =
        |arguments: &[&str]| -> Value { serde_json::from_str(&vigil(arguments).stdout).unwrap() };
    assert_eq!(vigil(&["daemon", "start"]).code, 0);
    let status = object(&["status", "--ignored", "--format=json"]);
    let daemon = object(&["daemon", "status", "--json"]);
    let why = [
        "why",
        "--format=json",
        "src",
        "src/a.c",
        "src/deep/b.c",
        "new",
        "a.o",
        "absent",
    ];
    let why = object(&why);
    let doctor = object(&["doctor", "--json"]);
    assert_eq!(vigil(&["daemon", "stop"]).code, 0);
    // Without a daemon, the state is written as soon as there is an answer.
    assert_eq!(vigil(&["status"]).code, 0);
    let state = object(&["state", "show", "--directories", "--format=json"]);

    assert_ne!(daemon["repositories"], Value::Array(Vec::new()));
    assert!(why["paths"][0]["daemon"].is_object());
    assert_ne!(state["directories"], Value::Array(Vec::new()));
    assert_described(&status, STATUS);
    assert_described(&daemon, DAEMON);
    assert_described(&doctor, DOCTOR);
    assert_described(&state, STATE);
    assert_described(&why, &[WHY, STATUS, STATE].concat());
}

#[test]
fn the_operation_in_progress_is_told() {
    let sandbox = Sandbox::new();
    let operation = || -> Value {
        let output = sandbox.vigil(&["status", "--format=json"]);
        let status: Value = serde_json::from_str(&output.stdout).unwrap();
        status["operation"].clone()
    };
    assert_eq!(operation(), Value::Null);
    sandbox.git(["bisect", "start"]);
    assert_eq!(operation(), "bisect");
}
