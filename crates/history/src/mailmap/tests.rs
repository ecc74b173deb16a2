use super::*;
use crate::revision::tests::{NEWEST_RELEASE, git_release};
use vigil_git::environment::Environment;
use vigil_git::repository;
use vigil_testkit::sandbox::Sandbox;

const MAP: &str = "\
# Comment <b@example.com>
Proper Name <commit@example.com>
<proper@example.com> <Old@Example.com>
New Name <new@example.com> <both@example.com>
For One <one@example.com> Nick Name <shared@example.com>
Other One <other@example.com> OTHER <shared@example.com>
Whoever <shared@example.com>
Later <commit@example.com>
 Spaced \t <spaced@example.com>\t
No Bracket
Empty <>
Old Empty <filled@example.com> <>
Half <half
A <a@example.com> trailing <b@example.com> more <c@example.com>
<only@example.com>
<only-new@example.com> Some <only@example.com>
Last without end <last@example.com>";

fn contacts() -> Vec<&'static str> {
    vec![
        "Someone <commit@example.com>",
        "Someone <COMMIT@example.COM>",
        "Someone <old@example.com>",
        "<old@example.com>",
        "old@example.com",
        "Someone <both@example.com>",
        "nick name <shared@example.com>",
        "Other <SHARED@example.com>",
        "Third <shared@example.com>",
        "<shared@example.com>",
        "  Someone   <spaced@example.com>",
        "x <>",
        "<>",
        "x < >",
        "trailing <b@example.com>",
        "Some <only@example.com>",
        "Any <only@example.com>",
        "No bracket",
        "Half <half",
        "A <commit@example.com> trailing > more",
        "x <last@example.com> 1700000000 +0000",
        "x <a<b@example.com>",
    ]
}

struct OpenRepository {
    repository: Repository,
    refs: Refs,
    objects: Objects,
}

fn open(sandbox: &Sandbox, folder: &Path) -> OpenRepository {
    let home = sandbox.root().to_str().unwrap();
    let variables = [("HOME", home), ("GIT_CONFIG_NOSYSTEM", "1")];
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    let environment = Environment::new(variables, std::fs::canonicalize(folder).unwrap());
    let repository = repository::discover(&environment, folder).unwrap();
    let refs = Refs::open(&repository);
    let objects = Objects::open_with(&repository, &refs).unwrap();
    OpenRepository {
        repository,
        refs,
        objects,
    }
}

fn load(opened: &OpenRepository) -> Loaded {
    let OpenRepository {
        repository,
        refs,
        objects,
    } = opened;
    Loaded::read(repository, refs, objects, &Memory::new()).unwrap()
}

/// Compares the mapping of all contacts, and the messages, with git's in `folder`.
fn compare(sandbox: &Sandbox, folder: &Path, what: &str) {
    let loaded = load(&open(sandbox, folder));
    let contacts = contacts();
    let ours: Vec<String> = contacts
        .iter()
        .map(|contact| loaded.mailmap.check((*contact).into()).to_string())
        .collect();
    let messages: String = loaded
        .messages
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    let output = sandbox.output(folder, [&["check-mailmap"], &contacts[..]].concat(), "");
    let theirs = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        messages,
        String::from_utf8(output.stderr).unwrap(),
        "{what}"
    );
    assert_eq!(ours, theirs.lines().collect::<Vec<_>>(), "{what}");
}

#[test]
fn contacts_are_mapped_as_by_git() {
    let sandbox = Sandbox::new();
    let top = sandbox.top();
    compare(&sandbox, &top, "none");
    let file = top.join(".mailmap");
    std::fs::write(&file, MAP).unwrap();
    compare(&sandbox, &top, "at the top");
    std::fs::create_dir(top.join("below")).unwrap();
    compare(&sandbox, &top.join("below"), "from below");
    let long = format!(
        "{}Long <commit@example.com>\nNext <old@example.com>\n",
        " ".repeat(1010)
    );
    std::fs::write(&file, format!("{long}Nul <x@y>\0 <commit@example.com>\n")).unwrap();
    compare(&sandbox, &top, "a long line");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(sandbox.root().join("map"), MAP).unwrap();
    std::os::unix::fs::symlink("../map", &file).unwrap();
    compare(&sandbox, &top, "behind a link");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    compare(&sandbox, &top, "a directory");
    std::fs::remove_dir(&file).unwrap();
    sandbox.git(["config", "mailmap.file", "../map"]);
    compare(&sandbox, &top, "configured");
    std::fs::write(
        &file,
        "First <commit@example.com>\nMine <both@example.com>\n",
    )
    .unwrap();
    compare(&sandbox, &top, "two of them");
    sandbox.git(["config", "mailmap.file", "no-such"]);
    compare(&sandbox, &top, "one is missing");
}

#[test]
fn objects_may_be_mailmaps() {
    let sandbox = Sandbox::new();
    let top = sandbox.top();
    std::fs::write(top.join(".mailmap"), MAP).unwrap();
    std::fs::write(
        top.join("nul"),
        "A <both@example.com>\n\0B <commit@example.com>\n",
    )
    .unwrap();
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "map"]);
    std::fs::write(top.join(".mailmap"), "").unwrap();
    for name in [
        "HEAD:.mailmap",
        ":.mailmap",
        "HEAD:nul",
        "HEAD",
        "no-such",
        "HEAD:no-such",
    ] {
        sandbox.git(["config", "mailmap.blob", name]);
        compare(&sandbox, &top, name);
    }
    sandbox.git(["config", "mailmap.blob", &"1".repeat(40)]);
    compare(&sandbox, &top, "missing");
    sandbox.git(["clone", "-q", "--bare", ".", "../bare"]);
    compare(&sandbox, &sandbox.root().join("bare"), "bare");
}

#[test]
fn people_in_headers_are_replaced_as_by_git() {
    let sandbox = Sandbox::new();
    let top = sandbox.top();
    std::fs::write(top.join(".mailmap"), MAP).unwrap();
    let tree = sandbox.git(["hash-object", "-w", "-t", "tree", "/dev/null"]);
    let mut ids = Vec::new();
    let people = [
        (
            "A <commit@example.com> 1 +0000",
            "B <both@example.com> 2 +0000",
        ),
        ("A <x@y> 1 +0000", "B <both@example.com> 2 +0000"),
        ("A <commit@example.com> 1 +0000", "B <x@y> 2 +0000"),
        (
            "<old@example.com> 1 +0000",
            "nick NAME  <shared@example.com> 2 +0000",
        ),
        (
            "A commit@example.com 1 +0000",
            "B <both@example.com 2 +0000",
        ),
    ];
    let bodies = [
        "\nauthor X <commit@example.com> 1 +0000\n",
        "encoding x\n\nauthor X <commit@example.com> 1 +0000\nmore\n\ntagger Y <both@example.com> 1\n",
        "gpgsig -\n author X <commit@example.com> 1\n\ntext\n",
        "",
        "\n",
        "\n\nauthor X <commit@example.com> 1 +0000\n",
    ];
    // Older versions of git stop at the first person that the map does not know, and where the
    // headers end.
    let is_newest = git_release() >= NEWEST_RELEASE;
    let count = if is_newest { people.len() } else { 1 };
    for (author, committer) in people.into_iter().take(count) {
        for body in bodies
            .into_iter()
            .filter(|body| is_newest || !body.starts_with('\n'))
        {
            let commit = format!("tree {tree}\nauthor {author}\ncommitter {committer}\n{body}");
            let tag = format!("object {tree}\ntype tree\ntag t\ntagger {author}\n{body}");
            for (kind, text) in [("commit", commit), ("tag", tag)] {
                let args = ["hash-object", "-w", "--literally", "-t", kind, "--stdin"];
                ids.push(sandbox.git_with_input(args, text.as_bytes()));
            }
        }
    }
    let opened = open(&sandbox, &top);
    let mailmap = load(&opened).mailmap;
    let args = ["cat-file", "--use-mailmap", "--batch=%(rest)"];
    let theirs = sandbox.git_with_input(args, (ids.join("\n") + "\n").as_bytes());
    // The format has an empty line before each object.
    let theirs = theirs.trim_end_matches('\n');
    let mut ours = Vec::new();
    for id in &ids {
        let mut contents = Vec::new();
        let id = gix_hash::ObjectId::from_hex(id.as_bytes()).unwrap();
        opened.objects.read(&id, &mut contents).unwrap().unwrap();
        ours.push(b'\n');
        ours.extend_from_slice(&mailmap.replace_idents(&contents).unwrap_or(contents));
        ours.push(b'\n');
    }
    let ours = String::from_utf8(ours).unwrap();
    assert_eq!(ours.trim_end_matches('\n'), theirs);
}
