//! `vigil daemon status`: how the daemon is.

use serde::Serialize;
use vigil_daemon::client::Client;
use vigil_daemon::protocol::{Description, Request, Response};
use vigil_git::environment::Environment;

use super::others::PATIENCE;
use crate::reply::Reply;

/// Raised when a reader of the former schema could misunderstand the new one.
const SCHEMA: u32 = 1;

pub(super) fn run(environment: &Environment, json: bool) -> Reply {
    let client = Client::of_daemon(environment, PATIENCE);
    let refused = |text: &str| Reply::complained(format!("error: {text}\n"), 1);
    match client.ask_any(&Request::Describe) {
        Ok(said) => match said.response {
            Response::Description(daemon) if json => Reply::printed(document(&daemon), 0),
            Response::Description(daemon) => Reply::printed(table(&daemon), 0),
            _ => refused("the daemon says something else"),
        },
        Err(error) => refused(&error.to_string()),
    }
}

fn table(daemon: &Description) -> String {
    let mebibytes = daemon.memory as f64 / f64::from(1 << 20);
    let ms = |us: u64| format!("{}.{:03} ms", us / 1000, us % 1000);
    let rows = [
        ("version", version(daemon)),
        ("running", format!("{} s", daemon.running_s)),
        ("repositories", daemon.repositories.to_string()),
        ("files", daemon.files.to_string()),
        ("watches", daemon.watches.to_string()),
        ("memory", format!("{mebibytes:.1} MiB")),
        ("questions", daemon.questions.to_string()),
        ("left to others", daemon.declined.to_string()),
        ("median time", ms(daemon.median_us)),
        ("last time", ms(daemon.last_us)),
    ];
    let mut table = format!("pid {}\n", daemon.pid);
    for (name, value) in rows {
        table.push_str(&format!("  {name:<16}{value}\n"));
    }
    table
}

/// The version of its program, without what tells builds apart.
fn version(daemon: &Description) -> String {
    let words = daemon.program.to_string();
    words.split(' ').next().unwrap_or_default().to_owned()
}

#[derive(Serialize)]
struct Document {
    schema: u32,
    pid: u32,
    version: String,
    running_s: u64,
    repositories: u64,
    files: u64,
    watches: u64,
    memory: u64,
    questions: u64,
    declined: u64,
    median_us: u64,
    last_us: u64,
}

/// The object, and a line feed.
fn document(daemon: &Description) -> Vec<u8> {
    let document = Document {
        schema: SCHEMA,
        pid: daemon.pid,
        version: version(daemon),
        running_s: daemon.running_s,
        repositories: daemon.repositories,
        files: daemon.files,
        watches: daemon.watches,
        memory: daemon.memory,
        questions: daemon.questions,
        declined: daemon.declined,
        median_us: daemon.median_us,
        last_us: daemon.last_us,
    };
    // Serialization fails only on maps whose keys are no strings; there is no map here.
    let mut out = serde_json::to_vec(&document).unwrap_or_default();
    out.push(b'\n');
    out
}
