//! Names of objects.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use bstr::ByteSlice;
use vigil_testkit::sandbox::{git_is_at_least, skip_test};

use super::sandbox::{Sandbox, VIGIL};

/// Where a commit is expected, git first asks only for the object's type, and its message is about the object that was named.
#[test]
fn only_commits_have_parents() {
    let sandbox = Sandbox::new("sha1");
    sandbox.git(&["tag", "-a", "-m", "of a blob", "of-blob", "HEAD:late"]);
    sandbox.git(&["tag", "-a", "-m", "of a tag", "of-tag", "of-blob"]);
    // Before 2.55, git reported on what the tag leads to.
    if git_is_at_least("git", 55) {
        for name in ["of-blob^0", "of-blob~1", "of-tag^", "HEAD:dir~0"] {
            sandbox.assert_same_cat_file(&["-t", name], b"");
        }
    }
    // An invalid commit: to get from it to a tree, git looks only at its first line.
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    for text in [format!("tree {tree}nonsense"), "nonsense\n".to_owned()] {
        let arguments = [
            "hash-object",
            "-w",
            "--literally",
            "-t",
            "commit",
            "--stdin",
        ];
        let made = sandbox.run("git", &arguments, text.as_bytes());
        let made = String::from_utf8(made.stdout).unwrap();
        let name = format!("{}:dir/data", made.trim());
        sandbox.assert_same_cat_file(&["-t", &name], b"");
        sandbox.assert_same_cat_file(&["--batch-check"], name.as_bytes());
    }
}

/// git does not take the path for one that is relative to the directory.
#[test]
fn a_path_that_is_not_there_is_not_looked_for_in_the_directory() {
    let sandbox = Sandbox::new("sha1");
    for name in ["HEAD:data", ":data", ":1:data", "HEAD:nothing", ":nothing"] {
        let answers = [VIGIL, "git"].map(|program| {
            let mut command = sandbox.command(program, "dir", ["cat-file", "-p", name]);
            let output = command.output().unwrap();
            (output.status.code(), output.stdout, output.stderr)
        });
        assert_eq!(answers[0], answers[1], "{name}");
    }
}

/// An object named by its id in the other hash algorithm is shown with ids of that algorithm.
#[test]
fn objects_have_ids_in_the_other_hash_algorithm() {
    let sandbox = Sandbox(vigil_testkit::sandbox::Sandbox::new());
    if !git_is_at_least("git", 45) {
        return skip_test(
            "objects_have_ids_in_the_other_hash_algorithm",
            "git is older than 2.45",
        );
    }
    sandbox.git(&["config", "core.repositoryFormatVersion", "1"]);
    sandbox.git(&["config", "extensions.objectFormat", "sha1"]);
    sandbox.git(&["config", "extensions.compatObjectFormat", "sha256"]);
    let commit = |name: &str| {
        sandbox.write(name, format!("{name}\n"));
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "-m", name]);
    };
    commit("file");
    commit("dir/sub");
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    commit("theirs");
    sandbox.git(&["tag", "-a", "-m", "tagged", "v1"]);
    sandbox.git(&["checkout", "-q", "main"]);
    commit("ours");
    sandbox.write("empty", "");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "with an empty file"]);
    // The merge commit contains the tag that was merged.
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "merge", "v1"]);

    let mut names = Vec::new();
    for name in [
        "HEAD",
        "HEAD^{tree}",
        "HEAD:file",
        "HEAD:dir",
        "HEAD:empty",
        "v1",
        "HEAD~2",
        "HEAD^^{tree}",
    ] {
        let other = sandbox.git(&["rev-parse", "--output-object-format=sha256", name]);
        names.push(other.trim().to_owned());
    }
    // Starting from a commit or tag named this way, git does not get to other objects.
    for suffix in [":dir/sub", ":dir", ":nothing"] {
        names.push(format!("{}{suffix}", names[1]));
    }
    names.push("a".repeat(64));
    names.push("0".repeat(64));
    // In a batch, git does not find an empty tree that no commit has.
    let empty_tree = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
    for name in names.iter().map(String::as_str).chain([empty_tree]) {
        for option in ["-e", "-t", "-s", "-p", "tree", "blob", "commit"] {
            sandbox.assert_same_cat_file(&[option, name], b"");
        }
    }
    let input = names.join("\n") + "\nHEAD\n";
    for option in [
        "--batch",
        "--batch-check",
        "--batch-check=%(objecttype) %(objectname) %(objectsize:disk) %(rest)",
    ] {
        sandbox.assert_same_cat_file(&[option], input.as_bytes());
    }
    let commands: String = names
        .iter()
        .map(|name| format!("contents {name}\ninfo {name}\n"))
        .collect();
    sandbox.assert_same_cat_file(&["--batch-command"], commands.as_bytes());

    // So is the base of a delta.
    let lines: String = (0..200).map(|line| format!("{line}\n")).collect();
    let mut input_of_deltas = String::new();
    for last in 0..3 {
        sandbox.write("long", format!("{lines}{last}\n"));
        sandbox.git(&["add", "long"]);
        sandbox.git(&["commit", "-q", "-m", "long"]);
        let id = sandbox.git(&["rev-parse", "--output-object-format=sha256", ":long"]);
        input_of_deltas.push_str(&id);
    }
    sandbox.git(&["repack", "-adfq"]);
    for format in ["%(deltabase)", "%(objectsize) %(deltabase)"] {
        let option = format!("--batch-check={format}");
        sandbox.assert_same_cat_file(&[&option], input_of_deltas.as_bytes());
    }

    // Contents are rewritten as if the object had been named by its own id.
    sandbox.write(".mailmap", "New Name <new@name> <author@example.com>\n");
    sandbox.write(".gitattributes", "*.up filter=up diff=up\n*.id ident\n");
    sandbox.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    sandbox.git(&["config", "diff.up.textconv", "tr a-z 0-9 <"]);
    for option in ["--batch", "--batch-check"] {
        sandbox.assert_same_cat_file(&[option, "--use-mailmap"], input.as_bytes());
        for transform in ["--filters", "--textconv"] {
            for path in ["", " a.up", " b.id"] {
                let lines = names.iter().map(|name| format!("{name}{path}\n"));
                for line in lines {
                    sandbox.assert_same_cat_file(&[option, transform], line.as_bytes());
                }
            }
        }
    }
}

#[test]
fn links_with_a_nul_and_empty_trees_are_followed_as_in_git() {
    let sandbox = Sandbox::new("sha1");
    let write = |kind: &str, contents: &[u8]| {
        let arguments = ["hash-object", "-t", kind, "-w", "--literally", "--stdin"];
        let told = sandbox.run("git", &arguments, contents);
        String::from_utf8(told.stdout).unwrap().trim().to_owned()
    };
    let file = write("blob", b"file\n");
    let mut entries = vec![("100644", "a", file.clone())];
    for (name, target) in [
        ("b", &b"a\0b"[..]),
        ("c", b"sub\0/a"),
        ("d", b"..\0/a"),
        ("e", b"sub/a\0"),
        ("f", b"\0"),
        ("g", b"/x\0y"),
        ("h", b"sub/..\0/../a"),
        ("i", b"none/.."),
    ] {
        entries.push(("120000", name, write("blob", target)));
    }
    let tree = |entries: &[(&str, &str, String)]| {
        let lines = entries.iter().map(|(mode, name, id)| {
            let kind = if *mode == "040000" { "tree" } else { "blob" };
            format!("{mode} {kind} {id}\t{name}\n")
        });
        let lines: String = lines.collect();
        let told = sandbox.run("git", &["mktree"], lines.as_bytes());
        String::from_utf8(told.stdout).unwrap().trim().to_owned()
    };
    entries.push(("040000", "none", write("tree", b"")));
    entries.push(("040000", "sub", tree(&[("100644", "a", file)])));
    let top = tree(&entries);
    let empty = write("tree", b"");
    let mut names = Vec::new();
    for (_, name, _) in &entries {
        for below in ["", "/", "/a", "/..", "/../a", "/../..", "//"] {
            names.push(format!("{top}:{name}{below}"));
        }
    }
    names.extend(["", "x", "..", "/"].map(|path| format!("{empty}:{path}")));
    for option in ["-z", "-Z"] {
        let end = "\0";
        let input: String = names.iter().map(|name| format!("{name}{end}")).collect();
        let arguments = ["--batch-check", "--follow-symlinks", option];
        sandbox.assert_same_cat_file(&arguments, input.as_bytes());
    }
}

#[test]
fn an_object_with_two_replacements_ends_all_commands() {
    let sandbox = Sandbox::new("sha1");
    let (id, other) = (
        sandbox.git(&["rev-parse", "HEAD"]),
        sandbox.git(&["rev-parse", "HEAD~1"]),
    );
    let (id, other) = (id.trim(), other.trim());
    for folder in ["", "below/"] {
        let name = format!("refs/replace/{folder}{id}");
        sandbox.git(&["update-ref", &name, other]);
    }
    sandbox.assert_same_cat_file(&["-p", id], b"");
    sandbox.assert_same_cat_file(&["--batch"], format!("{id}\n").as_bytes());
    sandbox.assert_same_cat_file(&["--batch-check", "--batch-all-objects"], b"");
    sandbox.assert_same_as_git(&["describe", id]);
    sandbox.assert_same_as_git(&["status", "--short"]);
}

#[test]
fn the_candidates_for_an_abbreviated_id_are_in_the_colour_of_hints() {
    let sandbox = Sandbox::new("sha1");
    let blobs: String = (0..2000)
        .map(|number| format!("blob\ndata <<E\n{number}\nE\n"))
        .collect();
    sandbox.run("git", &["fast-import", "--quiet"], blobs.as_bytes());
    let mut count_by_start: HashMap<String, usize> = HashMap::new();
    for id in sandbox.ids() {
        *count_by_start.entry(id[..4].to_owned()).or_default() += 1;
    }
    let mut ambiguous = count_by_start.iter().filter(|(_, count)| **count > 1);
    let (start, _) = ambiguous.next().unwrap();
    for settings in [
        &[][..],
        &["color.advice=always"],
        &["color.advice=always", "color.advice.hint=red bold"],
        &["color.advice=always", "color.advice.reset=blue"],
        &["color.advice=auto"],
        &["color.ui=always"],
    ] {
        let options: Vec<&str> = settings.iter().flat_map(|value| ["-c", value]).collect();
        for (command, input) in [
            (&["cat-file", "-t", start][..], String::new()),
            (&["cat-file", "--batch-check"], format!("{start}\n")),
            (&["describe", start], String::new()),
            (&["describe", "--contains", start], String::new()),
        ] {
            let arguments = [options.as_slice(), command].concat();
            sandbox.assert_same_as_git_with_input(&arguments, input.as_bytes());
        }
    }
}

/// A repository whose objects have ids of two hash algorithms, with one commit. `None` if git is too old for that.
fn repository_with_other_ids() -> Option<Sandbox> {
    let sandbox = Sandbox(vigil_testkit::sandbox::Sandbox::new());
    if !git_is_at_least("git", 45) {
        skip_test("ids of another hash algorithm", "git is older than 2.45");
        return None;
    }
    sandbox.git(&["config", "core.repositoryFormatVersion", "1"]);
    sandbox.git(&["config", "extensions.objectFormat", "sha1"]);
    sandbox.git(&["config", "extensions.compatObjectFormat", "sha256"]);
    sandbox.write("file", "contents\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "file"]);
    Some(sandbox)
}

fn other_id(sandbox: &Sandbox, name: &str) -> String {
    let id = sandbox.git(&["rev-parse", "--output-object-format=sha256", name]);
    id.trim().to_owned()
}

#[test]
fn ids_in_the_other_hash_algorithm_may_be_abbreviated() {
    let Some(sandbox) = repository_with_other_ids() else {
        return;
    };
    let mut names = Vec::new();
    for name in ["HEAD", "HEAD^{tree}", "HEAD:file"] {
        let id = other_id(&sandbox, name);
        names.extend([4, 7, 40, 41, 63].map(|len| id[..len].to_owned()));
        names.push(id[..12].to_uppercase());
        names.push(format!("{}^0", &id[..12]));
        names.push(format!("g{}", &id[..12]));
    }
    // A reference goes first.
    sandbox.git(&["branch", &other_id(&sandbox, "HEAD:file")[..9]]);
    names.push(other_id(&sandbox, "HEAD:file")[..9].to_owned());
    for name in &names {
        for option in ["-t", "-p"] {
            sandbox.assert_same_cat_file(&[option, name], b"");
        }
        sandbox.assert_same_cat_file(&["--batch"], format!("{name}\n").as_bytes());
    }
}

#[test]
fn ids_in_the_other_hash_algorithm_are_read_for_alternates_too() {
    let Some(sandbox) = repository_with_other_ids() else {
        return;
    };
    let id = other_id(&sandbox, "HEAD:file");
    let list = format!("{}\n", sandbox.git_dir().join("objects").display());
    sandbox.git(&["init", "-q", "../borrower"]);
    let borrower = sandbox.root().join("borrower");
    std::fs::copy(
        sandbox.git_dir().join("config"),
        borrower.join(".git/config"),
    )
    .unwrap();
    std::fs::create_dir_all(borrower.join(".git/objects/info")).unwrap();
    std::fs::write(borrower.join(".git/objects/info/alternates"), list).unwrap();
    let folder = borrower.to_str().unwrap().to_owned();
    let told = sandbox.run(VIGIL, &["-C", &folder, "cat-file", "-p", &id], b"");
    assert_eq!(told.stdout.as_bstr(), "contents\n", "{told:?}");
}

#[test]
fn ids_in_the_other_hash_algorithm_count_up_to_a_wrong_line() {
    let Some(sandbox) = repository_with_other_ids() else {
        return;
    };
    let path = sandbox.git_dir().join("objects/loose-object-idx");
    let whole = std::fs::read_to_string(&path).unwrap();
    let ids = ["HEAD", "HEAD^{tree}", "HEAD:file"].map(|name| other_id(&sandbox, name));
    let lines: Vec<&str> = whole.lines().collect();
    for text in [
        lines[1..].join("\n"),
        format!("# loose-object-idx \n{}", lines[1..].join("\n")),
        format!("{}\n{}\njunk\n{}\n", lines[0], lines[1], lines[2]),
        format!("{}\n{}\n\n{}\n", lines[0], lines[1], lines[2]),
        format!("{} \n", lines[..2].join("\n")),
        whole.replace('\n', "\r\n"),
        whole.trim_end().to_owned(),
        String::new(),
    ] {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, text).unwrap();
        // In a batch, git finds none once one is missing.
        for id in &ids {
            sandbox.assert_same_cat_file(&["-t", id], b"");
        }
    }
}

#[test]
fn ids_in_the_other_hash_algorithm_come_while_a_batch_runs() {
    let Some(sandbox) = repository_with_other_ids() else {
        return;
    };
    let mut command = sandbox.command(VIGIL, "", ["cat-file", "--batch-check"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut ask = |id: &str| {
        writeln!(input, "{id}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line
    };
    let first = other_id(&sandbox, "HEAD:file");
    assert_eq!(ask(&first), format!("{first} blob 9\n"));
    sandbox.write("late", "later\n");
    sandbox.git(&["add", "late"]);
    let late = other_id(&sandbox, ":late");
    assert_eq!(ask(&late), format!("{late} blob 6\n"));
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// git goes to the top of the working tree only from below it.
#[test]
fn outside_the_working_tree_files_are_sought_where_the_caller_stands() {
    let sandbox = Sandbox::new("sha1");
    let mailmap = |name: &str| format!("{name} <new@name> <author@example.com>\n");
    sandbox.write(".mailmap", mailmap("Top"));
    sandbox.write("dir/.mailmap", mailmap("Dir"));
    sandbox.write("elsewhere/.mailmap", mailmap("Elsewhere"));
    sandbox.write("elsewhere/only-there", "");
    sandbox.write("dir/only-here", "");
    for folder in [".", "dir", "elsewhere"] {
        let from_here = sandbox.top().join(folder);
        for tree in ["elsewhere", "dir", "dir/below", "."] {
            let tree = sandbox.top().join(tree);
            let option = format!("--work-tree={}", tree.to_str().unwrap());
            for arguments in [
                &["--use-mailmap", "-p", "HEAD"][..],
                &["-t", "HEAD:only-here"],
                &["-t", "HEAD:only-there"],
            ] {
                let arguments = [&[option.as_str(), "cat-file"], arguments].concat();
                sandbox.assert_same_as_git_in(&from_here, &arguments);
            }
        }
    }
}

/// In a batch, git says nothing about references that look like ids, wherever in a name the id is.
#[test]
fn ids_that_are_names_of_references_are_taken_for_ids() {
    let sandbox = Sandbox::new("sha1");
    let id = sandbox.git(&["rev-parse", "HEAD"]);
    let id = id.trim();
    sandbox.git(&["update-ref", &format!("refs/heads/{id}"), "HEAD~1"]);
    for end in ["", "~1", "^", "^^{tree}", "~1:file", "^{tree}", ":file"] {
        let name = format!("{id}{end}");
        sandbox.assert_same_cat_file(&["--batch-check"], name.as_bytes());
    }
}

/// git runs `ls-tree` for a tree, which resolves the name once more, and complains of it once more.
#[test]
fn the_name_of_a_printed_tree_is_complained_of_twice() {
    let sandbox = Sandbox::new("sha1");
    sandbox.git(&["branch", "v1"]);
    for name in ["v1^{tree}", "v1:dir", "v1@{2001-01-01}:", "v1:file", "v1"] {
        for option in ["-p", "-t", "tree"] {
            sandbox.assert_same_cat_file(&[option, name], b"");
        }
    }
}

/// Makes this many tags, `c0` of HEAD, `c1` of `c0`, and so on.
fn make_chain_of_tags(sandbox: &Sandbox, count: usize) {
    let start = sandbox.git(&["rev-parse", "HEAD"]);
    let mut stream = String::new();
    for number in 0..count {
        let from = match number {
            0 => start.trim().to_owned(),
            number => format!(":{number}"),
        };
        let mark = number + 1;
        stream.push_str(&format!(
            "tag c{number}\nmark :{mark}\nfrom {from}\ntagger T <t@t> 1 +0000\ndata 0\n"
        ));
    }
    sandbox.run("git", &["fast-import", "--quiet"], stream.as_bytes());
}

#[test]
fn a_chain_of_thousands_of_tags_leads_to_its_end() {
    let sandbox = Sandbox::new("sha1");
    make_chain_of_tags(&sandbox, 4200);
    let others: String = (0..4199)
        .map(|number| format!("delete refs/tags/c{number}\n"))
        .collect();
    sandbox.run("git", &["update-ref", "--stdin"], others.as_bytes());
    for option in ["commit", "tree", "blob"] {
        sandbox.assert_same_cat_file(&[option, "c4199"], b"");
    }
}

#[test]
fn a_long_chain_of_tags_is_followed_to_its_end() {
    let sandbox = Sandbox::new("sha1");
    make_chain_of_tags(&sandbox, 400);
    let mut names = String::new();
    for tag in ["c126", "c127", "c128", "c399"] {
        for end in [
            "",
            "^{}",
            "^{commit}",
            "^{tree}",
            "^{blob}",
            "~1",
            ":file",
            "^{/se}",
        ] {
            names.push_str(&format!("{tag}{end}\n"));
        }
        sandbox.assert_same_cat_file(&["-p", &format!("{tag}:file")], b"");
        sandbox.assert_same_cat_file(&["tree", tag], b"");
    }
    names.push_str(":/second\n");
    sandbox.assert_same_cat_file(&["--batch-check"], names.as_bytes());
}

#[test]
fn the_type_that_a_tag_names_counts_until_the_object_is_read() {
    for kind in ["blob", "tree", "nonsense", "commit"] {
        let sandbox = Sandbox::new("sha1");
        let id = sandbox.git(&["rev-parse", "HEAD~1"]);
        let id = id.trim();
        let length = if kind == "commit" { 39 } else { 40 };
        let text = format!("object {}\ntype {kind}\ntag bad\n\nx\n", &id[..length]);
        let arguments = ["hash-object", "-t", "tag", "-w", "--literally", "--stdin"];
        let tag = sandbox.run("git", &arguments, text.as_bytes()).stdout;
        std::fs::write(sandbox.top().join(".git/refs/tags/bad"), tag).unwrap();
        for end in [
            "^{}",
            "^{commit}",
            "^{tag}",
            "^{tree}",
            "^{blob}",
            "^{object}",
            "^{/x}",
            ":file",
        ] {
            sandbox.assert_same_cat_file(&["--batch-check"], format!("bad{end}\n").as_bytes());
        }
        for option in ["-t", "-p", "-e", "commit", "tree", "blob", "tag"] {
            sandbox.assert_same_cat_file(&[option, "bad"], b"");
        }
        for option in ["-t", "-p", "-e"] {
            sandbox.assert_same_cat_file(&[option, "bad^{}"], b"");
            sandbox.assert_same_cat_file(&[option, "bad^{commit}"], b"");
        }
        // Messages already printed affect what follows.
        sandbox.assert_same_cat_file(&["--batch-check"], b"bad^{}\nHEAD~1\nHEAD\nHEAD~2:file\n");
        sandbox.assert_same_cat_file(&["--batch-check"], b"HEAD~1\nbad^{}\nHEAD\n");
        sandbox.assert_same_cat_file(&["--batch-check"], b":/second\nbad^{}\n");
    }
}

/// The settings of all remotes are read once, and commits that cannot be read are reported each time.
#[test]
fn complaints_about_remotes_come_once_and_those_about_commits_each_time() {
    let sandbox = Sandbox::new("sha1");
    for (key, value) in [
        ("remote./x.url", "y"),
        ("branch.main.remote", "."),
        ("branch.main.merge", "refs/heads/main"),
    ] {
        sandbox.git(&["config", key, value]);
    }
    let upstreams = b"main@{u}\nmain@{upstream}\nmain@{push}\nmain@{u}~1\n";
    sandbox.assert_same_cat_file(&["--batch-check"], upstreams);

    let lost = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "fourth"]);
    std::fs::remove_file(sandbox.loose_object(lost.trim())).unwrap();
    let names = b"HEAD~1\nHEAD~2\nHEAD~2\nHEAD~3\nHEAD^2\nHEAD~1^{tree}\nHEAD^0\nv1~1\nv1~2\nv1^\n";
    sandbox.assert_same_cat_file(&["--batch-check"], names);
}

#[test]
fn files_are_named_below_directories_that_are_one_entry_of_a_sparse_index() {
    let name = "files_are_named_below_directories_that_are_one_entry_of_a_sparse_index";
    if !git_is_at_least("git", 46) {
        return skip_test(name, "git is older than 2.46");
    }
    let sandbox = Sandbox::new("sha1");
    sandbox.write("other/below/file", "o\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "other"]);
    sandbox.git(&["tag", "named"]);
    sandbox.git(&["sparse-checkout", "set", "--sparse-index", "dir"]);
    let names = [
        ":file",
        ":dir/data",
        ":other",
        ":other/",
        ":other/below",
        ":other/below/file",
        ":0:other/below/file",
        ":1:other/below/file",
        ":other/nothing",
        ":1:other/nothing",
        ":nothing",
        "HEAD:other/nothing",
    ];
    let input = names.join("\n");
    let mut questions = vec![vec!["cat-file", "--batch-check"]];
    for name in names {
        questions.push(vec!["cat-file", "-t", name]);
        questions.push(vec!["describe", "--tags", name]);
    }
    for question in &questions {
        let answers = [VIGIL, "git"].map(|program| {
            let output = sandbox.run(program, question, input.as_bytes());
            let stderr = String::from_utf8(output.stderr).unwrap();
            // The rest of the advice depends on git's version.
            let line = stderr.lines().next().unwrap_or_default().to_owned();
            (output.status.code(), output.stdout, line)
        });
        assert_eq!(answers[0], answers[1], "{question:?}");
    }
    sandbox.git(&["config", "advice.sparseIndexExpanded", "false"]);
    for question in &questions {
        sandbox.assert_same_as_git_with_input(question, input.as_bytes());
    }
}

#[test]
fn messages_are_matched_by_character() {
    let mut sandbox = Sandbox::new("sha1");
    for message in ["café", "Ändern", "\u{20ac} 5", "über alles", "日本"] {
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }
    let names = [
        ":/^caf.$",
        ":/^caf..$",
        ":/^[Ää]ndern",
        ":/^[^Ä]ndern",
        "HEAD^{/^. 5}",
        ":/^...$",
        ":/^\\w+$",
        ":/^\\W 5",
        ":/[à-ü]ber",
        ":/^[[:alpha:]]ber\\b",
        ":/^ü?ber",
        ":/é{2}",
        ":/^日.$",
        ":/^[[:upper:]]",
        ":/\\bber",
    ];
    let names = names.map(|name| format!("{name}\n")).concat();
    for locale in ["C.UTF-8", "C.utf8", "C", "xx_XX.UTF-8"] {
        sandbox.0.set_variable("LC_ALL", locale);
        sandbox.assert_same_cat_file(&["--batch-check"], names.as_bytes());
    }
}
