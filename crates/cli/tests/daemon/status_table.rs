//! What `vigil daemon status` shows of the repositories.

use std::time::Instant;

use super::sandbox::{Sandbox, TIME_LIMIT};

#[test]
fn each_repository_has_a_row_however_it_was_asked_about() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.make_repository("odd\nname", &[]);
    sandbox.write("odd\nname/more", "");
    sandbox.git_in("odd\nname", &["add", "more"]);
    let mut shell = sandbox.shell();
    shell.ask(&sandbox, "odd\nname");
    shell.ask(&sandbox, "work");
    sandbox.vigil("work/dir", &["status"]);
    sandbox.vigil("odd\nname", &["status"]);
    shell.ask(&sandbox, "odd\nname");
    let daemon = sandbox.daemon_status();
    let rows: Vec<(&str, u64, u64)> = daemon["repositories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            assert!(row["last_us"].as_u64().unwrap() > 0);
            assert!(row["median_us"].as_u64().unwrap() > 0);
            let count = |key: &str| row[key].as_u64().unwrap();
            (
                row["path"].as_str().unwrap(),
                count("files"),
                count("questions"),
            )
        })
        .collect();
    let [odd, work] = ["odd\nname", "work"].map(|name| sandbox.path(name));
    let want = [
        (odd.to_str().unwrap(), 3, 3),
        (work.to_str().unwrap(), 2, 2),
    ];
    assert_eq!(rows, want);
    assert_eq!(daemon["files"], 5);
    assert_eq!(daemon["questions"], 5);
    let (code, table) = sandbox.vigil_daemon(&["status"]);
    assert_eq!(code, Some(0));
    // Between these lines there may be others, about what is scanned for each question.
    let mut lines = table.lines();
    for end in ["/odd\\nname\"", &format!("  {}", work.display()), "  total"] {
        assert!(lines.any(|line| line.ends_with(end)), "{end} in {table}");
    }
}

#[test]
fn changes_are_scanned_before_anybody_asks() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let mut shell = sandbox.shell();
    shell.ask(&sandbox, "work");
    sandbox.vigil("work/dir", &["status"]);
    let ahead = || {
        sandbox.daemon_status()["repositories"][0]["ahead"]
            .as_u64()
            .unwrap()
    };
    let before = ahead();
    sandbox.write("work/new", "");
    let deadline = Instant::now() + TIME_LIMIT;
    while ahead() == before {
        assert!(
            Instant::now() < deadline,
            "the daemon scans nothing until it is asked"
        );
    }
    let questions = sandbox.daemon_status()["questions"].clone();
    assert_eq!(questions, 2, "nobody asked");
    let status = sandbox.vigil("work", &["status", "--porcelain"]);
    assert!(status.stdout.ends_with(b"?? new\n"));
}

#[test]
fn no_name_controls_the_terminal() {
    let sandbox = Sandbox::new();
    let name = "a\x1b[2J\u{9b}1m\u{202e}b";
    sandbox.make_repository(name, &[]);
    let _serving = sandbox.serve();
    sandbox.vigil(name, &["status"]);
    for what in ["status", "audit"] {
        let (_, text) = sandbox.vigil_daemon(&[what]);
        let is_fit = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
        assert!(text.chars().all(is_fit), "{text:?}");
        assert!(text.contains("\\342\\200\\256"), "{text:?}");
    }
    let served = sandbox.vigil(name, &["fsmonitor", "start"]);
    let text = String::from_utf8(served.stdout).unwrap();
    assert!(text.contains("\\342\\200\\256"), "{text:?}");
    assert!(!text.contains('\u{202e}'), "{text:?}");
}
