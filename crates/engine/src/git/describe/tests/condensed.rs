//! Thousands of lightweight tags of few commits are remembered without those that no description needs.

use super::*;

/// How many tags there are, each of one of [`TAGGED`].
const COUNT: usize = 4000;

const TAGGED: [&str; 3] = ["HEAD~1", "HEAD~2", "HEAD~4"];

/// The names of the first tags of [`TAGGED`], and of one that is needed by nobody.
const FIRST: [&str; 3] = ["t0000", "t0001", "t0002"];
const NEEDLESS: &str = "t2003";

/// A history with many tags, and a few others.
fn sandbox(format: RefFormat) -> Sandbox {
    let sandbox = row_in(Sandbox::with(format, gix_hash::Kind::Sha1));
    sandbox.git(&["tag", "-a", "-m", "t", "annotated", "HEAD~3"]);
    sandbox.git(&["branch", "other", "HEAD~2"]);
    let tagged = TAGGED.map(|name| sandbox.id(name));
    let tags = (0..COUNT)
        .zip(tagged.iter().cycle())
        .map(|(number, id)| (format!("refs/tags/t{number:04}"), id));
    match format {
        RefFormat::Reftable => {
            let create = tags.map(|(name, id)| format!("create {name} {id}\n"));
            let create: String = create.collect();
            sandbox.git_with_input(&["update-ref", "--stdin"], create.as_bytes());
        }
        RefFormat::Files => {
            sandbox.git(&["pack-refs", "--all"]);
            let path = sandbox.git_dir().join("packed-refs");
            let mut packed = std::fs::read_to_string(&path).unwrap();
            packed.extend(tags.map(|(name, id)| format!("{id} {name}\n")));
            std::fs::write(path, packed).unwrap();
        }
    }
    sandbox
}

/// What is said of each commit; it must be what git says.
fn ask(sandbox: &Sandbox, remark: &str) {
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

/// Describes `HEAD`, and keeps what was read of references.
fn save(sandbox: &Sandbox, options: &[&str]) {
    at(sandbox, |place| {
        let question = question(options);
        let mut describer = Describer::new(&question, place, &["HEAD".into()]).unwrap();
        describer.describe("HEAD".into()).unwrap();
        describer.into_unsaved().save(place.repository);
    });
}

/// The tags that a description of `HEAD` goes through, but for the last ones.
fn listed_tags(sandbox: &Sandbox, prefix: &str) -> Vec<String> {
    at(sandbox, |place| {
        let listing = listed(place, prefix, Detail::Condensed).unwrap();
        let mut names = Vec::new();
        let count = listing.for_each_raw(None, |name, _, _| {
            names.extend(
                name.strip_prefix(b"refs/tags/")
                    .map(|name| name.to_str_lossy().into()),
            );
            Ok(())
        });
        count.unwrap();
        names
    })
}

fn is_whole(sandbox: &Sandbox) -> bool {
    listed_tags(sandbox, "refs/tags/").len() >= COUNT
}

#[test]
fn lightweight_tags_that_nobody_needs_are_left_out_until_something_changes() {
    for format in [RefFormat::Files, RefFormat::Reftable] {
        let sandbox = sandbox(format);
        vigil_testkit::clock::tick();
        ask(&sandbox, "nothing is remembered");
        assert!(is_whole(&sandbox));
        // Of tables, what leads where is remembered first.
        save(&sandbox, &["--tags"]);
        save(&sandbox, &["--tags"]);
        let needed = [&["annotated"], &FIRST[..]].concat();
        let of_row = |names: &[String]| -> Vec<String> {
            let own = names.iter().filter(|name| name.starts_with(['a', 't']));
            own.cloned().collect()
        };
        assert_eq!(of_row(&listed_tags(&sandbox, "refs/tags/")), needed);
        assert!(listed_tags(&sandbox, "refs/").len() >= COUNT);
        ask(&sandbox, "of tags");
        save(&sandbox, &["--all"]);
        save(&sandbox, &["--all"]);
        assert_eq!(of_row(&listed_tags(&sandbox, "refs/")), needed);
        ask(&sandbox, "of all");

        // Loose ones, if there are any: one that is new, one that was left out, and one that stood for others.
        let is_loose = format == RefFormat::Files;
        sandbox.git(&["tag", "new", "HEAD"]);
        sandbox.git(&["update-ref", &format!("refs/tags/{NEEDLESS}"), "HEAD"]);
        assert_eq!(is_whole(&sandbox), !is_loose);
        ask(&sandbox, "new tags");
        sandbox.git(&["update-ref", &format!("refs/tags/{}", FIRST[0]), "HEAD"]);
        assert!(is_whole(&sandbox));
        ask(&sandbox, "another first tag");
        // Other files.
        sandbox.git(&["tag", "-d", FIRST[1], FIRST[2]]);
        assert!(listed_tags(&sandbox, "refs/tags/").len() > COUNT / 2);
        ask(&sandbox, "first tags that are gone");
        sandbox.git(&["pack-refs", "--all"]);
        vigil_testkit::clock::tick();
        ask(&sandbox, "packed");
        for options in [&["--tags"][..], &["--tags"], &["--all"], &["--all"]] {
            save(&sandbox, options);
        }
        assert!(!is_whole(&sandbox));
        ask(&sandbox, "remembered again");
    }
}

#[test]
fn what_cannot_be_told_without_more_is_not_left_out() {
    // A symbolic reference, and a file that does not tell where tags lead.
    let tables = sandbox(RefFormat::Reftable);
    tables.git(&["symbolic-ref", "refs/heads/symbolic", "refs/heads/other"]);
    let files = sandbox(RefFormat::Files);
    let path = files.git_dir().join("packed-refs");
    let packed = std::fs::read_to_string(&path).unwrap();
    let (_, records) = packed.split_once('\n').unwrap();
    let records = records.lines().filter(|line| !line.starts_with('^'));
    let packed: String = records.map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, packed).unwrap();
    vigil_testkit::clock::tick();
    for (sandbox, prefix, options) in [
        (&tables, "refs/", &["--all"][..]),
        (&files, "refs/tags/", &["--tags"]),
    ] {
        save(sandbox, options);
        save(sandbox, options);
        let state = sandbox.git_dir().join("vigil/refs/state");
        let stamp = vigil_stamp::Stamp::of(&state).unwrap();
        assert!(stamp.is_some());
        assert!(listed_tags(sandbox, prefix).len() >= COUNT);
        ask(sandbox, "nothing is left out");
        save(sandbox, options);
        let again = vigil_stamp::Stamp::of(&state).unwrap();
        assert_eq!(again, stamp, "that it is of no use is remembered, too");
    }
}
