mod everything;

use std::path::Path;
use std::process::Command;

use gix_hash::Kind;
use gix_object::Kind as ObjectKind;

use self::everything::{names_of_everything, repository_with_everything};
use super::*;
use crate::testing::OpenRepository as _;
use vigil_git::environment::Environment;
use vigil_git::repository;
use vigil_objects::hash::hash_blob;
use vigil_testkit::sandbox::RefFormat;
use vigil_testkit::sandbox::{FORMATS, Sandbox, TextOutput, run_with_input};

#[test]
fn revisions_resolve_as_in_git() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.top().join("dir")).unwrap();
    std::fs::write(sandbox.top().join("dir/file"), "x").unwrap();
    sandbox.git(["add", "."]);
    for message in ["one", "two", "three"] {
        sandbox.git(["commit", "-q", "--allow-empty", "-m", message]);
    }
    sandbox.git(["tag", "-a", "-m", "tag", "tagged", "HEAD~2"]);
    sandbox.git(["checkout", "-q", "-b", "side", "HEAD~1"]);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "side"]);
    sandbox.git(["merge", "-q", "-m", "merge", "main"]);
    let full = sandbox.git(["rev-parse", "HEAD"]);
    let full = full.as_str();
    let repository = sandbox.repository();
    let refs = Refs::open(&repository);
    let objects = Objects::open(&repository).unwrap();
    let names = [
        "HEAD",
        "@",
        "@~1",
        "side^2",
        "side^2~1",
        "main~2",
        "main~3",
        "main~4",
        "side^0",
        "side^3",
        "tagged",
        "tagged^{}",
        "tagged^{commit}",
        "tagged^{tree}",
        "tagged~0",
        "tagged^",
        "HEAD^{tree}",
        "HEAD:dir",
        "HEAD~1:dir/file",
        "HEAD:missing",
        "HEAD:",
        "HEAD:dir/file^",
        "no-such",
        "~1",
        "HEAD^{x}",
        "HEAD~1^{tree}~1",
        full,
        &full[..7],
        &full[..3],
        "1234567890123456789012345678901234567890",
    ];
    for name in names {
        let theirs = sandbox
            .try_git(["rev-parse", "-q", "--verify", name])
            .stdout;
        let ours = resolve(name.into(), &refs, &objects).unwrap();
        let ours = ours.map(|id| format!("{id}\n")).unwrap_or_default();
        assert_eq!(ours, theirs, "{name}");
    }
}

/// Variables for git and Vigil alike.
fn variables(sandbox: &Sandbox) -> Vec<(&'static str, String)> {
    let home = sandbox.root().display().to_string();
    vec![
        ("HOME", home),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("TZ", "UTC".into()),
        ("GIT_TEST_DATE_NOW", "1700100000".into()),
        ("LC_ALL", "C".into()),
    ]
}

fn git(sandbox: &Sandbox, folder: &Path, args: &[&str], input: &[u8]) -> TextOutput {
    let mut command = sandbox.command("git", folder, args);
    command.envs(variables(sandbox));
    run_with_input(command, input).into()
}

/// The open repository that contains `folder`.
struct OpenRepository {
    repository: Repository,
    refs: Refs,
    objects: Objects,
    memory: Memory,
}

impl OpenRepository {
    fn at(sandbox: &Sandbox, folder: &Path) -> Self {
        let variables = variables(sandbox).into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(variables, std::fs::canonicalize(folder).unwrap());
        let repository = repository::discover(&environment, folder).unwrap();
        let refs = Refs::open(&repository);
        Self {
            objects: Objects::open_with(&repository, &refs).unwrap(),
            refs,
            repository,
            memory: Memory::new(),
        }
    }

    fn answer(&self, name: &str, options: &Options) -> Resolution {
        let Self {
            repository,
            refs,
            objects,
            memory,
        } = self;
        resolve_in_context(name.into(), options, repository, refs, objects, memory)
    }

    fn kind(&self, id: &ObjectId) -> Option<ObjectKind> {
        self.objects.kind(id).unwrap()
    }
}

fn lines(messages: &[BString]) -> String {
    messages.iter().map(|line| format!("{line}\n")).collect()
}

/// Renders `answer` like a program that prints `found` for an object, and dies with `otherwise` if there is none.
fn rendered_answer(
    answer: &Resolution,
    found: impl Fn(&Resolved) -> Result<String, String>,
    otherwise: &str,
) -> TextOutput {
    let mut stderr = lines(&answer.messages);
    let mut stdout = String::new();
    let mut code = 128;
    let last = match &answer.outcome {
        Ok(resolved) => match found(resolved) {
            Ok(text) => {
                stdout = text;
                code = 0;
                None
            }
            Err(text) => Some(text),
        },
        Err(Unresolved::Fatal(text)) => Some(text.to_string()),
        Err(Unresolved::Failed(error)) => Some(error.to_string()),
        Err(Unresolved::FatalWithoutMessage) => None,
        Err(_) => Some(otherwise.to_owned()),
    };
    if let Some(last) = last {
        stderr.push_str(&format!("fatal: {last}\n"));
    }
    TextOutput {
        stdout,
        stderr,
        code,
    }
}

/// The release, 2.x, whose answers are the right ones.
pub(crate) const NEWEST_RELEASE: u32 = 55;

/// The release of the installed git.
pub(crate) fn git_release() -> u32 {
    let output = Command::new("git").arg("version").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    version.split('.').nth(1).unwrap().parse().unwrap()
}

/// Whether releases before the newest one answer `name` differently: they accept more as output of
/// `git describe`, name another object in an error, search messages and dates in another order, and give other advice
/// about references that look like ids.
fn is_answered_otherwise_before(name: &str) -> bool {
    let is_described = ["x-y-g", "x--g", "a..b-1-g", "x:y-1-g", "-1-g"];
    let of_tags = ["tree-tag^0", "tree-tag~1", "blob-tag^0", "blob-tag^"];
    let searched = [":/!-merge", ":/subject", "@{noon yesterday}"];
    let digits = name.bytes().take_while(u8::is_ascii_hexdigit).count();
    is_described.iter().any(|start| name.starts_with(start))
        || of_tags.contains(&name)
        || searched.contains(&name)
        || digits >= Kind::Sha1.len_in_hex()
}

/// Compares all ways to ask for each of `names` from `folder`, and returns the differences. Each name is asked
/// for by itself only if `thoroughly` is set.
fn compare(sandbox: &Sandbox, folder: &Path, names: &[String], thoroughly: bool) -> String {
    let opened = OpenRepository::at(sandbox, folder);
    let minor = git_release();
    let names: Vec<String> = names
        .iter()
        .filter(|name| minor >= NEWEST_RELEASE || !is_answered_otherwise_before(name))
        .cloned()
        .collect();
    let mut differences = Vec::new();
    let mut count = 0;
    let mut check = |what: &str, name: &str, ours: TextOutput, theirs: TextOutput| {
        count += 1;
        if ours != theirs {
            differences.push(format!(
                "{what} {name}\n  ours   {ours:?}\n  theirs {theirs:?}"
            ));
        }
    };
    for name in &names {
        // Names that rev-parse takes for several revisions.
        let is_range = name.split("..").count() > 1 && !name.contains("../");
        let is_many =
            is_range || name.starts_with('^') || name.contains("^@") || name.ends_with(['!', '-']);
        if !name.starts_with('-') && !is_many && (thoroughly || name.contains('@')) {
            let ours = opened.answer(name, &Options::default());
            let ours = rendered_answer(
                &ours,
                |found| Ok(format!("{}\n", found.id)),
                "Needed a single revision",
            );
            let theirs = git(sandbox, folder, &["rev-parse", "--verify", name], b"");
            check("rev-parse --verify", name, ours, theirs);
        }
        if name.starts_with('-') || !(thoroughly || name.contains("@{")) {
            continue;
        }
        let options = Options {
            is_fatal_on_failure: true,
            ..Options::default()
        };
        let ours = rendered_answer(
            &opened.answer(name, &options),
            |found| match opened.kind(&found.id) {
                Some(kind) => Ok(format!("{kind}\n")),
                None => Err("git cat-file: could not get object info".into()),
            },
            &format!("Not a valid object name {name}"),
        );
        let theirs = git(sandbox, folder, &["cat-file", "-t", name], b"");
        check("cat-file -t", name, ours, theirs);
    }
    for follow_symlinks in [false, true] {
        let options = Options {
            follow_symlinks,
            skips_check_of_ids: true,
            ..Options::default()
        };
        let has_mode = minor >= 50;
        let format = match has_mode {
            true => "--batch-check=%(objectname) %(objecttype) %(objectmode)",
            false => "--batch-check=%(objectname) %(objecttype)",
        };
        let mut args = vec!["cat-file", format];
        if follow_symlinks {
            args.push("--follow-symlinks");
        }
        let mut ours = TextOutput {
            stdout: String::new(),
            stderr: String::new(),
            code: 0,
        };
        let mut input = String::new();
        let mut ending = Vec::new();
        for name in &names {
            let answer = opened.answer(name, &options);
            let rendered = match &answer.outcome {
                Ok(found) => match (opened.kind(&found.id), found.mode) {
                    (Some(kind), mode) => {
                        let mode = mode.map(|mode| mode.to_string()).unwrap_or_default();
                        match has_mode {
                            true => format!("{} {kind} {mode}\n", found.id),
                            false => format!("{} {kind}\n", found.id),
                        }
                    }
                    (None, Some(mode)) if mode.is_gitlink() && minor >= 52 => {
                        format!("{} submodule\n", found.id)
                    }
                    (None, _) => format!("{name} missing\n"),
                },
                Err(why) => match why.batch_report(name.as_str().into(), b'\n') {
                    Some(report) => report.to_string(),
                    None => {
                        ending.push((name, answer));
                        continue;
                    }
                },
            };
            ours.stdout.push_str(&rendered);
            ours.stderr.push_str(&lines(&answer.messages));
            input.push_str(&format!("{name}\n"));
        }
        let theirs = git(sandbox, folder, &args, input.as_bytes());
        if ours != theirs {
            // Line by line, to show which one differs.
            for name in names
                .iter()
                .filter(|name| !ending.iter().any(|(other, _)| other == name))
            {
                let theirs = git(sandbox, folder, &args, format!("{name}\n").as_bytes());
                let answer = opened.answer(name, &options);
                let text = format!("{:?}", answer.outcome);
                let found = match &answer.outcome {
                    Ok(found) => found.id.to_string(),
                    Err(why) => why
                        .batch_report(name.as_str().into(), b'\n')
                        .unwrap()
                        .to_string(),
                };
                let is_same = lines(&answer.messages) == theirs.stderr
                    && (theirs.stdout.starts_with(&found)
                        || theirs.stdout == format!("{name} missing\n"));
                if !is_same {
                    differences.push(format!(
                        "{args:?} {name}\n  ours   {text} {:?}\n  theirs {theirs:?}",
                        answer.messages
                    ));
                }
            }
            differences.push(format!(
                "{args:?}: as a whole\n{}\n{}",
                ours.stdout, theirs.stdout
            ));
        }
        count += names.len();
        for (name, answer) in ending {
            let ours = rendered_answer(&answer, |_| unreachable!(), "");
            let theirs = git(sandbox, folder, &args, format!("{name}\n").as_bytes());
            if ours != theirs {
                differences.push(format!(
                    "{args:?} {name}\n  ours   {ours:?}\n  theirs {theirs:?}"
                ));
            }
        }
    }
    if differences.is_empty() {
        return String::new();
    }
    format!(
        "{} of {count}:\n{}",
        differences.len(),
        differences.join("\n")
    )
}

fn owned_names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn names_are_found_from_below_and_without_a_working_tree() {
    let sandbox = repository_with_everything(RefFormat::Files, Kind::Sha1);
    let names = owned_names(&[
        "HEAD:./file",
        "HEAD:../file",
        "HEAD:./",
        "HEAD:../",
        "HEAD:..",
        "HEAD:./sub/deep",
        "HEAD:./no",
        "HEAD:../no",
        "HEAD:../../x",
        "HEAD:file",
        "HEAD:sub/deep",
        "HEAD:dir/file",
        ":./file",
        ":../file",
        ":file",
        ":sub/deep",
        ":./no",
        ":0:./file",
        ":2:../fought",
        ":../fought",
        ":../../x",
        "HEAD:../untracked",
        ":../untracked",
        ":untracked",
    ]);
    for folder in ["dir", "dir/sub", ".git"] {
        let folder = sandbox.top().join(folder);
        let differences = compare(&sandbox, &folder, &names, true);
        assert!(
            differences.is_empty(),
            "{}: {differences}",
            folder.display()
        );
    }
    sandbox.git(["clone", "-q", "--bare", ".", "../bare"]);
    let differences = compare(&sandbox, &sandbox.root().join("bare"), &names, true);
    assert!(differences.is_empty(), "bare: {differences}");
}

#[test]
fn settings_decide_what_is_ambiguous() {
    let sandbox = repository_with_everything(RefFormat::Files, Kind::Sha1);
    let id = |revision: &str| sandbox.git(["rev-parse", revision]);
    let mut names = owned_names(&[
        "both",
        "both@{0}",
        "main@{push}",
        "side@{push}",
        "both@{push}",
    ]);
    for revision in ["HEAD", "HEAD^{tree}", "v1", "HEAD:file"] {
        names.push(id(revision)[..4].to_owned());
        names.push(format!("{}^{{tree}}", &id(revision)[..4]));
    }
    names.push(id("HEAD"));
    names.push(id("HEAD:dir/file")[..7].to_owned());
    for (key, value) in [
        ("core.disambiguate", "commit"),
        ("core.disambiguate", "Committish"),
        ("core.disambiguate", "tree"),
        ("core.disambiguate", "treeish"),
        ("core.disambiguate", "blob"),
        ("core.disambiguate", "none"),
        ("core.abbrev", "20"),
        ("push.default", "nothing"),
        ("push.default", "current"),
        ("push.default", "upstream"),
        ("push.default", "matching"),
        ("push.default", "simple"),
        ("branch.main.pushRemote", "origin"),
        ("remote.origin.push", "refs/heads/main:refs/heads/side"),
        ("remote.pushDefault", "elsewhere"),
        ("advice.objectNameWarning", "false"),
        ("core.warnAmbiguousRefs", "false"),
    ] {
        sandbox.git(["config", key, value]);
        let differences = compare(&sandbox, &sandbox.top(), &names, true);
        assert!(differences.is_empty(), "{key}={value}: {differences}");
    }
}

#[test]
fn every_form_of_revision_resolves_as_in_git() {
    let sandbox = repository_with_everything(RefFormat::Files, Kind::Sha1);
    let names = names_of_everything(&sandbox);
    assert!(names.len() > 300);
    let differences = compare(&sandbox, &sandbox.top(), &names, true);
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn every_form_of_revision_resolves_as_in_git_in_all_formats() {
    let mut all = String::new();
    for (format, hash) in FORMATS.into_iter().skip(1) {
        let sandbox = repository_with_everything(format, hash);
        let names = names_of_everything(&sandbox);
        let differences = compare(&sandbox, &sandbox.top(), &names, false);
        if !differences.is_empty() {
            all.push_str(&format!("{format:?} {hash}: {differences}\n"));
        }
    }
    assert!(all.is_empty(), "{all}");
}

#[test]
fn an_emptied_log_is_still_a_log() {
    for (format, hash) in FORMATS {
        let sandbox = repository_with_everything(format, hash);
        sandbox.git(["reflog", "expire", "--expire=all", "--all"]);
        let names = owned_names(&[
            "HEAD@{0}",
            "HEAD@{1}",
            "main@{0}",
            "main@{1}",
            "main@{now}",
            "@{0}",
            "@{-1}",
        ]);
        let differences = compare(&sandbox, &sandbox.top(), &names, true);
        assert!(differences.is_empty(), "{format:?} {hash}: {differences}");
    }
}

#[test]
fn odd_lines_and_files_of_a_log_are_read_as_git_reads_them() {
    let sandbox = repository_with_everything(RefFormat::Files, Kind::Sha1);
    let log = sandbox.top().join(".git/logs/refs/heads/main");
    let whole = std::fs::read_to_string(&log).unwrap();
    let names = owned_names(&[
        "main@{0}",
        "main@{1}",
        "main@{2}",
        "main@{3}",
        "main@{900}",
        "main@{yesterday}",
        "main@{2001-01-01}",
        "main@{2038-02-03}",
    ]);
    let last = whole.lines().next_back().unwrap();
    for text in [
        String::new(),
        whole.trim_end().to_owned(),
        whole.replace('\n', "\n\n"),
        format!("{whole}{}", "a".repeat(100_000)),
        format!("{}\n{whole}", "a".repeat(100_000)),
        format!("{whole}{last}{}\n", "a".repeat(100_000)),
        format!("{whole}{}\n", last.replace("+0000", "-0730")),
        format!("{whole}{}\n", last.replace("> ", "> 99999999999999999999")),
        whole.replace("> ", "> 0x"),
    ] {
        std::fs::write(&log, &text).unwrap();
        let differences = compare(&sandbox, &sandbox.top(), &names, true);
        assert!(differences.is_empty(), "{text:.100?}: {differences}");
    }
    let elsewhere = sandbox.top().join("log");
    std::fs::write(&elsewhere, &whole).unwrap();
    std::fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &log).unwrap();
    let differences = compare(&sandbox, &sandbox.top(), &names, true);
    assert!(differences.is_empty(), "a link: {differences}");
}
