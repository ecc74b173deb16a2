use std::path::Path;
use std::process::Command;

use gix_hash::Kind;
use gix_object::Kind as ObjectKind;

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
    staged: StagedPaths,
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
            staged: StagedPaths::new(),
        }
    }

    fn answer(&self, name: &str, options: &Options) -> Answer {
        let Self {
            repository,
            refs,
            objects,
            staged,
        } = self;
        resolve_in_context(name.into(), options, repository, refs, objects, staged)
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
    answer: &Answer,
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

/// Writes a blob whose id starts with `prefix` to the repository.
fn write_blob_like(sandbox: &Sandbox, prefix: &str) -> ObjectId {
    let found = (0_u32..).find_map(|number| {
        let content = format!("{prefix} {number}");
        let id = hash_blob(sandbox.hash, content.as_bytes());
        id.to_string().starts_with(prefix).then_some((content, id))
    });
    let (content, id) = found.unwrap();
    let written = sandbox.git_with_input(["hash-object", "-w", "--stdin"], content.as_bytes());
    assert_eq!(written, id.to_string());
    id
}

/// A repository with a history, tags of all kinds, branches with upstreams, logs, links and conflicts.
fn repository_with_everything(format: RefFormat, hash: Kind) -> Sandbox {
    let sandbox = Sandbox::with_formats(format, hash);
    let top = sandbox.top();
    let write = |path: &str, content: &str| {
        let path = top.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let link = |target: &str, path: &str| {
        std::os::unix::fs::symlink(target, top.join(path)).unwrap();
    };
    write("file", "one\n");
    write("dir/file", "two\n");
    write("dir/sub/deep", "three\n");
    write("dir-x", "four\n");
    write("a:b", "colon\n");
    for (target, path) in [
        ("file", "to-file"),
        ("dir", "to-dir"),
        ("../file", "dir/up"),
        ("sub/deep", "dir/down"),
        ("../../out", "dir/out"),
        ("/etc/passwd", "absolute"),
        ("nothing", "dangling"),
        ("loop", "loop"),
        ("two", "one"),
        ("one", "two"),
        ("..", "parent"),
        (".", "self"),
        ("dir/..", "back"),
        ("dir/sub/../file", "winding"),
        ("to-dir/down", "chain"),
        ("file/x", "through-file"),
        ("dir//file", "doubled"),
        ("dir/", "slashed"),
        ("module/x", "into-module"),
    ] {
        link(target, path);
    }
    sandbox.git(["add", "."]);
    let some = sandbox.git(["hash-object", "-w", "file"]);
    let module = sandbox.git(["write-tree"]);
    sandbox.git([
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{module},module"),
    ]);
    sandbox.git([
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{some},gone-module"),
    ]);
    sandbox.commit_at("first subject\n\nwith a body", 1_699_900_000);
    sandbox.git(["tag", "light"]);
    sandbox.git(["tag", "-a", "-m", "annotated", "v1"]);
    sandbox.git(["tag", "-a", "-m", "nested", "nested", "v1"]);
    sandbox.git(["tag", "-a", "-m", "of a tree", "tree-tag", "HEAD^{tree}"]);
    sandbox.git(["tag", "-a", "-m", "of a blob", "blob-tag", "HEAD:file"]);
    sandbox.commit_at("second [subject]", 1_699_910_000);
    sandbox.commit_at("third: fix !bang", 1_699_920_000);
    sandbox.git(["checkout", "-q", "-b", "side", "HEAD~1"]);
    sandbox.commit_at("!side", 1_699_930_000);
    sandbox.git(["checkout", "-q", "-b", "topic/name"]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.git(["merge", "-q", "-m", "merge side", "side"]);
    // Names that several rules match, and names that look like ids.
    sandbox.git(["branch", "both", "HEAD~1"]);
    sandbox.git(["tag", "both", "HEAD~2"]);
    sandbox.git(["branch", "dead", "HEAD~1"]);
    sandbox.git(["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    sandbox.git(["update-ref", "refs/remotes/origin/side", "side"]);
    sandbox.git([
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
    sandbox.git(["symbolic-ref", "refs/heads/alias", "refs/heads/side"]);
    sandbox.git(["symbolic-ref", "refs/heads/hollow", "refs/heads/no-such"]);
    for (key, value) in [
        ("remote.origin.url", "/nowhere"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/main"),
        ("branch.side.remote", "."),
        ("branch.side.merge", "refs/heads/main"),
        ("branch.both.remote", "origin"),
        ("branch.both.merge", "refs/heads/gone"),
        ("branch.dead.remote", "elsewhere"),
        ("branch.dead.merge", "refs/heads/dead"),
    ] {
        sandbox.git(["config", key, value]);
    }
    let head = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.git(["update-ref", &format!("refs/heads/{head}"), "HEAD~1"]);
    for revision in ["HEAD", "HEAD^{tree}", "v1", "HEAD~1"] {
        let id = sandbox.git(["rev-parse", revision]);
        write_blob_like(&sandbox, &id[..4]);
    }
    // Two blobs with the same abbreviated id, one of which is also the name of a branch.
    let blob = sandbox.git(["rev-parse", "HEAD:file"]);
    write_blob_like(&sandbox, &blob[..4]);
    let lone = sandbox.git(["rev-parse", "HEAD:dir/file"]);
    sandbox.git(["branch", &lone[..7], "HEAD~1"]);
    // A conflict in the index.
    let stages = format!(
        "0 {} 0\tfought\n100644 {blob} 1\tfought\n100755 {lone} 2\tfought\n",
        "0".repeat(blob.len())
    );
    sandbox.git_with_input(["update-index", "--index-info"], stages.as_bytes());
    write("untracked", "x");
    sandbox
}

/// Names that mean something, or nothing, in such a repository.
fn names_of_everything(sandbox: &Sandbox) -> Vec<String> {
    let mut names = owned_names(&[
        "HEAD",
        "@",
        "main",
        "side",
        "light",
        "v1",
        "nested",
        "tree-tag",
        "blob-tag",
        "both",
        "heads/both",
        "tags/both",
        "refs/heads/both",
        "refs/tags/both",
        "origin",
        "origin/main",
        "remotes/origin/main",
        "alias",
        "hollow",
        "heads/hollow",
        "refs/heads/hollow",
        "no-such",
        "topic/name",
        "name",
        "heads",
        "refs",
        "refs/heads",
        "refs/heads/",
        "",
        ".",
        "..",
        "a..b",
        "a b",
        "main.lock",
        "/main",
        "main/",
        "config",
        "objects",
        "hooks/x",
        "FETCH_HEAD",
        "ORIG_HEAD",
        "HEAD^",
        "HEAD^1",
        "HEAD^2",
        "HEAD^3",
        "HEAD^0",
        "HEAD~",
        "HEAD~0",
        "HEAD~1",
        "HEAD~3",
        "HEAD~99",
        "HEAD^^",
        "HEAD~1^2",
        "HEAD^2~1",
        "main^2^",
        "HEAD^10",
        "HEAD~00",
        "HEAD^4294967296",
        "HEAD~2147483648",
        "HEAD~99999999999999999999",
        "v1^",
        "v1~1",
        "nested^0",
        "tree-tag^0",
        "blob-tag^0",
        "tree-tag~1",
        "blob-tag^",
        "no-such^",
        "no-such~2",
        "^",
        "~",
        "^1",
        "~1",
        "HEAD^{}",
        "v1^{}",
        "nested^{}",
        "deadbee",
        "HEAD^{commit}",
        "v1^{commit}",
        "v1^{tag}",
        "nested^{tag}",
        "v1^{tree}",
        "v1^{blob}",
        "v1^{object}",
        "nested^{object}",
        "HEAD^{tag}",
        "HEAD^{blob}",
        "HEAD^{tree}^{commit}",
        "tree-tag^{commit}",
        "tree-tag^{tree}",
        "blob-tag^{blob}",
        "blob-tag^{tree}",
        "HEAD:file^{blob}",
        "HEAD^{x}",
        "HEAD^{",
        "HEAD^}",
        "HEAD^{commit",
        "HEAD^{commit}}",
        "HEAD^{tree}x",
        "no-such^{}",
        "no-such^{commit}",
        "^{}",
        "^{commit}",
        "v1^{commit}^{tree}",
        "v1^{}^{}~1",
        "HEAD^{/first}",
        "HEAD^{/subject}",
        "HEAD^{/^second}",
        "HEAD^{/no such}",
        "HEAD^{/}",
        "HEAD^{/}x}",
        "HEAD^{/!-merge}",
        "HEAD^{/!!side}",
        "HEAD^{/!x}",
        "HEAD^{/!!bang}",
        "HEAD^{/body$}",
        "v1^{/first}",
        "HEAD^{/(}",
        "HEAD^{/[}",
        "HEAD^{/first|third}",
        "HEAD^{/\\[sub}",
        "side^{/third}",
        "HEAD^{/s.*d \\[}",
        "HEAD^{/^merge}~1",
        "HEAD^{/third}:file",
        "HEAD^{/(first|no: such)}",
        "HEAD@{2038-01-01 10:30}:file",
        "tree-tag^{/x}",
        ":/first",
        ":/third",
        ":/merge",
        ":/^!side",
        ":/!!side",
        ":/!-merge",
        ":/!x",
        ":/",
        ":/no such text",
        ":/s{2}",
        ":/e{1",
        ":/*",
        ":/subject",
        "HEAD:",
        "HEAD:file",
        "HEAD:dir",
        "HEAD:dir/",
        "HEAD:dir/file",
        "HEAD:dir//file",
        "HEAD:/file",
        "HEAD:dir/sub/deep",
        "HEAD:dir/no",
        "HEAD:no",
        "HEAD:no/no",
        "HEAD:file/x",
        "HEAD:file/",
        "HEAD:dir-x",
        "HEAD:a:b",
        "HEAD:a",
        "HEAD:untracked",
        "HEAD:module",
        "HEAD:module/",
        "HEAD:module/x",
        "HEAD:gone-module",
        "v1:file",
        "nested:dir/file",
        "tree-tag:file",
        "tree-tag:",
        "blob-tag:",
        "blob-tag:x",
        "HEAD:dir:x",
        "no-such:file",
        "no-such:",
        "HEAD~1:file",
        "HEAD~99:file",
        "HEAD:./file",
        "HEAD:../file",
        "HEAD:./",
        "HEAD:./dir/../file",
        "HEAD:./no",
        "HEAD:../../x",
        "HEAD:.",
        "HEAD:dir/.",
        "HEAD:to-file",
        "HEAD:to-dir",
        "HEAD:to-dir/file",
        "HEAD:to-dir/",
        "HEAD:to-dir/up",
        "HEAD:to-dir/no",
        "HEAD:dir/up",
        "HEAD:dir/down",
        "HEAD:dir/out",
        "HEAD:dir/out/more",
        "HEAD:absolute",
        "HEAD:absolute/x",
        "HEAD:dangling",
        "HEAD:dangling/x",
        "HEAD:loop",
        "HEAD:one",
        "HEAD:two/x",
        "HEAD:parent",
        "HEAD:parent/x",
        "HEAD:self",
        "HEAD:self/file",
        "HEAD:back",
        "HEAD:back/file",
        "HEAD:winding",
        "HEAD:chain",
        "HEAD:through-file",
        "HEAD:doubled",
        "HEAD:slashed",
        "HEAD:slashed/file",
        "HEAD:into-module",
        "HEAD:to-file/x",
        "HEAD:dir/../file",
        "HEAD:..",
        ":",
        ":file",
        ":dir/file",
        ":dir",
        ":dir/",
        ":no",
        ":untracked",
        ":a:b",
        ":./file",
        ":../file",
        ":./no",
        ":0:file",
        ":1:file",
        ":2:file",
        ":3:file",
        ":4:file",
        ":0:fought",
        ":1:fought",
        ":2:fought",
        ":3:fought",
        ":fought",
        ":0:",
        ":0",
        ":0:./file",
        ":1:./fought",
        ":../../../x",
        ":/file",
        ":module",
        ":gone-module",
        ":0:no",
        "@{0}",
        "@{1}",
        "@{2}",
        "@{3}",
        "@{4}",
        "@{5}",
        "@{6}",
        "@{99}",
        "HEAD@{0}",
        "HEAD@{1}",
        "HEAD@{3}",
        "HEAD@{7}",
        "HEAD@{8}",
        "HEAD@{99}",
        "main@{0}",
        "main@{1}",
        "main@{4}",
        "side@{0}",
        "side@{1}",
        "side@{2}",
        "refs/heads/main@{1}",
        "heads/main@{1}",
        "light@{0}",
        "both@{0}",
        "both@{1}",
        "origin/main@{0}",
        "origin/main@{1}",
        "origin@{0}",
        "alias@{0}",
        "no-such@{0}",
        "no-such@{1}",
        "HEAD@{1}^{tree}",
        "HEAD@{1}~1",
        "HEAD@{1}:file",
        "@{1}:file",
        "@{-1}",
        "@{-2}",
        "@{-3}",
        "@{-4}",
        "@{-9}",
        "@{-0}",
        "@{-1}~1",
        "@{-1}^{tree}",
        "@{-1}:file",
        "@{-1}@{0}",
        "@{-1}@{u}",
        "@{-3}@{u}",
        "x@{-1}",
        "@{--1}",
        "@{-1x}",
        "@{-x}",
        "@{u}",
        "@{upstream}",
        "@{U}",
        "@{UpStream}",
        "@@{u}",
        "HEAD@{u}",
        "main@{u}",
        "main@{upstream}",
        "side@{u}",
        "both@{u}",
        "dead@{u}",
        "light@{u}",
        "no-such@{u}",
        "main@{u}~1",
        "main@{u}:file",
        "main@{u}^{tree}",
        "main@{u}@{0}",
        "main@{u}@{u}",
        "@{push}",
        "main@{push}",
        "side@{push}",
        "both@{push}",
        "dead@{push}",
        "no-such@{push}",
        "@{PUSH}",
        "@{garbage}",
        "@{friday}",
        "@{now}",
        "@{yesterday}",
        "@{3 days ago}",
        "HEAD@{2023-11-14}",
        "HEAD@{2023-11-13 18:26:40 +0000}",
        "HEAD@{1699900000}",
        "HEAD@{1699920000}",
        "@{1}^{blob}",
        "HEAD@{1699920001}",
        "main@{1699910000}",
        "main@{1699000000}",
        "HEAD@{1 year ago}",
        "side@{1699930000}",
        "HEAD@{never}",
        "@{noon yesterday}",
        "light@{yesterday}",
        "@{u}@{now}",
        "main@{x}",
        "main@{}",
        "@{}",
        "@{",
        "main@{1",
        "@{1}@{1}",
        "@@{0}",
        "@@",
        "@~1",
        "@^{tree}",
        "@:file",
        "@x",
        "x@",
        "a@b",
        "HEAD^!",
        "HEAD^@",
        "HEAD^-",
        "HEAD..main",
        "HEAD...main",
        "v1-0-gdeadbeef",
        "--",
        "\u{fc}",
        "HEAD:\u{fc}",
        ":\u{fc}",
    ]);
    let ids = [
        "HEAD",
        "HEAD^{tree}",
        "v1",
        "HEAD~1",
        "HEAD:file",
        "HEAD:dir/file",
        "nested",
        "HEAD:dir-x",
    ];
    for revision in ids {
        let id = sandbox.git(["rev-parse", revision]);
        names.push(id.to_uppercase());
        names.push(format!("{id}^{{commit}}"));
        for length in [3, 4, 5, 7, 12, id.len() - 1, id.len()] {
            names.push(id[..length].to_owned());
        }
        let short = &id[..4];
        for text in [
            "~1",
            "^",
            "^0",
            "^{commit}",
            "^{tree}",
            "^{tag}",
            "^{blob}",
            "^{}",
            "^{/first}",
            ":file",
            ":",
            "@{0}",
            "@{u}",
        ] {
            names.push(format!("{short}{text}"));
        }
        for text in [
            "v1-3-g", "x-0-g", "x-f-g", "x-y-g", "x--g", "-1-g", "a..b-1-g", "x-1-G", "g",
            "x:y-1-g",
        ] {
            names.push(format!("{text}{short}"));
            names.push(format!("{text}{}", &id[..9]));
        }
        names.push(short.to_uppercase());
    }
    let length = sandbox.hash.len_in_hex();
    for id in [
        "0".repeat(length),
        "1".repeat(length),
        "1".repeat(40),
        "1".repeat(64),
        "1".repeat(65),
    ] {
        names.push(id.clone());
        names.push(format!("{id}^{{}}"));
        names.push(format!("{id}^"));
        names.push(format!("{id}~1"));
        names.push(format!("{id}:x"));
    }
    names.retain(|name| name != "--");
    names
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
