//! Thousands of lightweight tags of few commits, most of which no description needs.

use super::*;

/// The number of tags, each of which points to one of [`TAGGED`].
const COUNT: usize = 4000;

const TAGGED: [&str; 3] = ["HEAD~1", "HEAD~2", "HEAD~4"];

/// The first tag of each of [`TAGGED`].
const FIRST: [&str; 3] = ["t0000", "t0001", "t0002"];

/// A history with many lightweight tags, and a few others.
fn sandbox(format: RefFormat) -> Sandbox {
    let sandbox = Sandbox::with_formats(format, gix_hash::Kind::Sha1).with_five_commits();
    sandbox.git(["tag", "-a", "-m", "t", "annotated", "HEAD~3"]);
    sandbox.git(["branch", "other", "HEAD~2"]);
    let tagged = TAGGED.map(|name| sandbox.id(name));
    let tags = (0..COUNT)
        .zip(tagged.iter().cycle())
        .map(|(number, id)| (format!("refs/tags/t{number:04}"), id));
    match format {
        RefFormat::Reftable => {
            let create = tags.map(|(name, id)| format!("create {name} {id}\n"));
            let create: String = create.collect();
            sandbox.git_with_input(["update-ref", "--stdin"], create.as_bytes());
        }
        RefFormat::Files => {
            sandbox.git(["pack-refs", "--all"]);
            let path = sandbox.git_dir().join("packed-refs");
            let mut packed = std::fs::read_to_string(&path).unwrap();
            packed.extend(tags.map(|(name, id)| format!("{id} {name}\n")));
            std::fs::write(path, packed).unwrap();
        }
    }
    sandbox
}

/// Compares the description of each commit with git's.
fn compare_all_commits(sandbox: &Sandbox, remark: &str) {
    for options in [
        &[][..],
        &["--tags"],
        &["--all"],
        &["--exact-match", "--tags"],
        &["--tags", "--candidates=2", "--long"],
        &["--contains"],
        &["--tags", "--match=t2*"],
        &["--tags", "--exclude=t0*"],
    ] {
        for name in ["HEAD", "HEAD~2", "HEAD~3"] {
            compare(sandbox, options, &[name], remark);
        }
        if !options.contains(&"--contains") {
            compare(sandbox, options, &["HEAD", "HEAD~2", "HEAD~4"], remark);
        }
    }
}

#[test]
fn of_many_lightweight_tags_the_first_of_each_commit_is_named() {
    for format in [RefFormat::Files, RefFormat::Reftable] {
        let sandbox = sandbox(format);
        compare_all_commits(&sandbox, "as made");
        // Loose tags, if the format has any: a new one, one that nothing needed, and one that stood for others.
        sandbox.git(["tag", "new", "HEAD"]);
        sandbox.git(["update-ref", "refs/tags/t2003", "HEAD"]);
        compare_all_commits(&sandbox, "new tags");
        sandbox.git(["update-ref", &format!("refs/tags/{}", FIRST[0]), "HEAD"]);
        compare_all_commits(&sandbox, "another first tag");
        sandbox.git(["tag", "-d", FIRST[1], FIRST[2]]);
        compare_all_commits(&sandbox, "first tags that are gone");
        sandbox.git(["pack-refs", "--all"]);
        compare_all_commits(&sandbox, "packed");
    }
}

#[test]
fn a_symbolic_reference_and_a_file_that_does_not_tell_where_tags_lead_change_nothing() {
    let tables = sandbox(RefFormat::Reftable);
    tables.git(["symbolic-ref", "refs/heads/symbolic", "refs/heads/other"]);
    compare_all_commits(&tables, "a symbolic reference");
    let files = sandbox(RefFormat::Files);
    let path = files.git_dir().join("packed-refs");
    let packed = std::fs::read_to_string(&path).unwrap();
    let (_, records) = packed.split_once('\n').unwrap();
    let records = records.lines().filter(|line| !line.starts_with('^'));
    let packed: String = records.map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, packed).unwrap();
    compare_all_commits(&files, "where tags lead is not told");
}
