//! Tests filters: how they convert files, and the messages when they fail.

use super::*;

fn command(clean: &str) -> Driver {
    Driver {
        clean: Some(clean.into()),
        ..Driver::default()
    }
}

fn as_required(driver: Driver) -> Driver {
    Driver {
        required: true,
        ..driver
    }
}

#[test]
fn clean_commands_run_as_in_git() {
    let upper = "tr a-z A-Z";
    let cases: [(&str, Driver, &[u8]); 17] = [
        ("works", command(upper), b"HELLO\n"),
        ("works-required", as_required(command(upper)), b"HELLO\n"),
        ("differs", command("tr a-z b-za"), b"hello\n"),
        ("fails", command("tr a-z A-Z; exit 3"), b"hello\n"),
        ("dies", command("kill -9 $$"), b"hello\n"),
        ("silent", command("cat >/dev/null"), b""),
        ("closes", command("exec <&-; echo HELLO"), b"HELLO\n"),
        ("reads-nothing", command("echo HELLO"), b"HELLO\n"),
        ("missing", command("no-such-program"), b"hello\n"),
        ("missing-in-shell", command("no-such-program x"), b"hello\n"),
        ("plain-program", command("cat"), b"hello\n"),
        (
            "named it's",
            command("cat >/dev/null; echo %f %% %x"),
            b"named it's % %x\n",
        ),
        (
            "where",
            command("cat >/dev/null; test -d .git && echo $GIT_PREFIX here"),
            b"here\n",
        ),
        ("empty-command", command(""), b"hello\n"),
        (
            "empty-process",
            Driver {
                process: Some("".into()),
                ..command(upper)
            },
            b"hello\n",
        ),
        ("then-text", command("printf 'a\\r\\n$Id: x$'"), b"a\n$Id$"),
        ("then-encoding", command("printf 'a\\0b\\0'"), b"ab"),
    ];
    let fixture = Fixture::new();
    let mut lines = String::new();
    let mut files = Vec::new();
    let mut drivers = Vec::new();
    for (at, (path, driver, recorded)) in cases.into_iter().enumerate() {
        fixture.write(path, "hello\n");
        let extra = match path {
            "then-text" => "text ident",
            "then-encoding" => "working-tree-encoding=UTF-16LE",
            _ => "",
        };
        lines += &format!("\"{path}\" filter=d{at} {extra}\n");
        files.push((path.to_owned(), recorded.to_vec()));
        drivers.push((format!("d{at}"), driver));
    }
    let drivers: Vec<(&str, Driver)> = drivers
        .iter()
        .map(|(name, driver)| (name.as_str(), driver.clone()))
        .collect();
    fixture.write(".gitattributes", &lines);
    let ids = fixture.record(&files);
    let converter = fixture.converter(fixture.settings(&drivers));
    let (modified, messages) = fixture.ours(&converter, &files, &ids).unwrap();
    assert_eq!(modified, BTreeSet::from(["differs".to_owned()]));
    assert!(!messages.is_empty());
    assert_eq!(
        Ok((modified, messages)),
        without_stderr_of_filters(fixture.status())
    );
}

/// What git itself writes, not a filter.
type Answer = Result<(BTreeSet<String>, BTreeSet<String>), String>;

fn without_stderr_of_filters(answer: Answer) -> Answer {
    answer.map(|(modified, messages)| {
        let by_git = |line: &String| {
            ["error: ", "warning: ", "hint: "]
                .iter()
                .any(|prefix| line.starts_with(prefix))
        };
        (modified, messages.into_iter().filter(by_git).collect())
    })
}

#[test]
fn a_required_filter_that_fails_ends_the_run() {
    for (driver, attributes) in [
        (as_required(command("exit 1")), "filter=d"),
        (as_required(command("no-such-program")), "filter=d"),
        (as_required(Driver::default()), "filter=d"),
        (as_required(command("")), "filter=d"),
        (command("cat"), "working-tree-encoding"),
    ] {
        let fixture = Fixture::new();
        fixture.write("f", "hello\n");
        fixture.write(".gitattributes", format!("f {attributes}\n"));
        let files = [("f".to_owned(), b"hello\n".to_vec())];
        let ids = fixture.record(&files);
        let converter = fixture.converter(fixture.settings(&[("d", driver)]));
        let ours = fixture.ours(&converter, &files, &ids);
        assert!(ours.is_err());
        assert_eq!(ours, fixture.status());
    }
}

#[test]
fn much_data_passes_a_filter_both_ways() {
    let contents = b"some text\n".repeat(100_000);
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* filter=d\n");
    fixture.write("f", &contents);
    let file = File::open(fixture.path("f")).unwrap();
    for (driver, expected) in [
        (command("cat"), contents.clone()),
        (as_required(command("cat")), contents.clone()),
        (command("head -c 5"), contents[..5].to_vec()),
        (as_required(command("head -c 5")), contents[..5].to_vec()),
    ] {
        let converter = fixture.converter(fixture.settings(&[("d", driver)]));
        let size = contents.len() as u64;
        let ours = converter.read_file("f".into(), &file, size).unwrap();
        assert!(ours == expected);
        assert!(converter.messages.take().is_empty());
    }
}

/// A filter process in shell. What it does with a file depends on the first letter of the path. It writes a
/// line to `starts` when it starts, to `ends` when it ends by itself, and its requests to `asked`.
pub(super) const SERVER: &str = r#"
echo start >>starts
packet() {
    head=$(dd bs=1 count=4 2>/dev/null)
    test -n "$head" || { echo end >>ends; exit 0; }
    size=$((0x$head - 4))
    test $size -gt 0 || return 1
    data=$(dd bs=1 count=$size 2>/dev/null)
}
line() { printf '%04x%s\n' $((${#1} + 5)) "$1"; }
raw() { printf '%04x%s' $((${#1} + 4)) "$1"; }
flush() { printf 0000; }
skip() { while packet; do :; done; }
skip
line ${GREETING-git-filter-server}; line version=${VERSION-2}; flush
skip
for word in ${CAPABILITIES-clean smudge}; do line capability=$word; done; flush
while :; do
    while packet; do
        echo "$data" >>asked
        case $data in pathname=*) path=${data#pathname=};; esac
    done
    all=
    while packet; do all=$all$data; done
    case $path in
    e*) line status=error; flush;;
    a*) line status=abort; flush;;
    x*) exit 1;;
    g*) printf zzzz;;
    l*) printf ffff;;
    s*) line status=strange; flush;;
    t*) line status=success; flush; raw "tail"; flush; line status=error; flush;;
    n*) flush; raw AB; flush; flush;;
    *) line status=success; flush; raw "$(printf %s "$all" | tr a-z A-Z)"; raw .; flush; flush;;
    esac
done
"#;

fn server(fixture: &Fixture, prefix: &str) -> Driver {
    fixture.write("server.sh", SERVER);
    Driver {
        clean: Some("echo not used".into()),
        process: Some(format!("{prefix} sh server.sh").into()),
        ..Driver::default()
    }
}

#[test]
fn filter_processes_are_spoken_to_as_by_git() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "? filter=d\n?? filter=d\n");
    let driver = server(&fixture, "");
    let names = ["b", "b2", "e", "n", "q", "s", "t", "u", "x", "y"];
    let mut files: Vec<(String, Vec<u8>)> = names
        .iter()
        .map(|name| (name.to_string(), b"HELLO.".to_vec()))
        .collect();
    files[2].1 = b"hello".to_vec();
    for (path, _) in &files {
        fixture.write(path, "hello");
    }
    let ids = fixture.record(&files);
    let converter = fixture.converter(fixture.settings(&[("d", driver)]));
    let ours = fixture.ours(&converter, &files, &ids);
    assert_eq!(ours, fixture.status());
}

#[test]
fn a_filter_process_serves_until_the_converter_ends() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "* filter=d\n");
    let driver = server(&fixture, "");
    let converter = fixture.converter(fixture.settings(&[("d", driver)]));
    let count = |name: &str| {
        std::fs::read_to_string(fixture.path(name)).map_or(0, |text| text.lines().count())
    };
    let clean = |path: &str| {
        fixture.write(path, "hello");
        let file = File::open(fixture.path(path)).unwrap();
        converter.read_file(path.into(), &file, 5).unwrap()
    };
    std::thread::scope(|scope| {
        for path in ["b1", "b2", "b3"] {
            scope.spawn(move || assert_eq!(clean(path), b"HELLO."));
        }
    });
    assert_eq!((count("starts"), count("ends")), (1, 0));

    // A filter that gives up is not asked again in this run, but in the next one.
    assert_eq!(clean("a"), b"hello");
    assert_eq!(clean("b4"), b"hello");
    assert_eq!(count("starts"), 1);
    converter.refresh(fixture.blobs());
    assert_eq!(count("ends"), 1);
    assert_eq!(clean("b5"), b"HELLO.");
    assert_eq!(count("starts"), 2);

    // One that breaks off is restarted for the next file.
    assert_eq!(clean("x"), b"hello");
    let messages = converter.messages.take();
    assert_eq!(messages[0], "error: external filter ' sh server.sh' failed");
    assert_eq!(clean("b6"), b"HELLO.");
    assert_eq!(count("starts"), 3);
    drop(converter);
    assert_eq!(count("ends"), 2);
}

#[test]
fn a_filter_process_that_does_not_come_up_is_reported_as_by_git() {
    for prefix in [
        "GREETING=hello",
        "VERSION=3",
        "VERSION=x",
        "CAPABILITIES=smudge",
        "CAPABILITIES='clean other'",
        "printf 00;",
        "printf 0000;",
        "printf 'pack';",
        "no-such-program",
    ] {
        let fixture = Fixture::new();
        fixture.write(".gitattributes", "f filter=d\n");
        fixture.write("f", "hello");
        let files = [("f".to_owned(), b"hello".to_vec())];
        let ids = fixture.record(&files);
        let driver = match prefix {
            "no-such-program" => Driver {
                process: Some(prefix.into()),
                ..Driver::default()
            },
            _ => server(&fixture, prefix),
        };
        let converter = fixture.converter(fixture.settings(&[("d", driver)]));
        let ours = fixture.ours(&converter, &files, &ids);
        assert_eq!(
            ours,
            without_stderr_of_filters(fixture.status()),
            "{prefix}"
        );
    }
}

#[test]
fn a_filter_process_that_ends_at_once_leaves_files_as_they_are() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "f filter=d\n");
    fixture.write("f", "hello");
    let driver = Driver {
        process: Some("exit 1".into()),
        ..Driver::default()
    };
    let converter = fixture.converter(fixture.settings(&[("d", driver)]));
    let file = File::open(fixture.path("f")).unwrap();
    assert_eq!(converter.read_file("f".into(), &file, 5).unwrap(), b"hello");
    // Whether the greeting can be written is a matter of luck, in git too.
    let messages = converter.messages.take();
    assert_eq!(
        messages.last().unwrap(),
        "error: initialization for subprocess 'exit 1' failed"
    );
}
