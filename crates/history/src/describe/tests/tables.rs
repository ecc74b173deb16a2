//! Reference tables that do not say where tags lead.

use super::*;

/// A reftable of version 1 with HEAD and the references `refs` ("<id> <name>" each), without peeled ids.
fn table_without_peeled_ids(refs: &str) -> Vec<u8> {
    let mut header = b"REFT\x01\0\0\0".to_vec();
    header.extend([0; 16]);
    let record = |out: &mut Vec<u8>, name: &str, value: &[u8]| {
        // No common prefix with the previous name; then the length of the suffix, and the kind of value.
        out.push(0);
        let rest = name.len() << 3 | 1;
        if rest >= 128 {
            out.push(((rest >> 7) as u8 - 1) | 0x80);
        }
        out.push(rest as u8 & 0x7f);
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        out.extend_from_slice(value);
    };
    let mut records = b"\0\x23HEAD\0".to_vec();
    records.push(b"refs/heads/main".len() as u8);
    records.extend_from_slice(b"refs/heads/main");
    for line in refs.lines() {
        let (id, name) = line.split_once(' ').unwrap();
        let id = ObjectId::from_hex(id.as_bytes()).unwrap();
        record(&mut records, name, id.as_bytes());
    }
    records.extend([0, 0, 28, 0, 1]);
    let len = u32::try_from(header.len() + 4 + records.len()).unwrap();
    let block = len.to_be_bytes();
    let mut table = [&header, &b"r"[..], &block[1..], &records].concat();
    let footer = [&header[..], &[0; 40]].concat();
    let mut sum = flate2::Crc::new();
    sum.update(&footer);
    table.extend_from_slice(&footer);
    table.extend(sum.sum().to_be_bytes());
    table
}

/// Writes all references without peeled ids, as git 2.55 does when it moves all of them. git before 2.53 then takes
/// annotated tags for lightweight ones.
fn write_plain_table(sandbox: &Sandbox, name: &str) {
    let folder = sandbox.git_dir().join("reftable");
    let (list, refs) = (folder.join("tables.list"), sandbox.git(["show-ref"]));
    std::fs::write(folder.join(name), table_without_peeled_ids(&refs)).unwrap();
    std::fs::write(list, format!("{name}\n")).unwrap();
}

#[test]
fn many_tags_in_tables_that_do_not_say_where_they_lead_are_not_taken_for_lightweight_ones() {
    let sandbox =
        Sandbox::with_formats(RefFormat::Reftable, gix_hash::Kind::Sha1).with_five_commits();
    let [second, third] = ["HEAD~2", "HEAD~3"].map(|name| sandbox.id(name));
    sandbox.git(["tag", "-a", "-m", "t", "old", "HEAD~4"]);
    sandbox.git(["tag", "-a", "-m", "t", "new", "HEAD~1"]);
    // Enough objects to be read on all cores.
    let light: String = (0..300)
        .map(|number| {
            let id = [second, third][number % 2];
            let time = 1_700_000_000 + number;
            format!(
                "reset refs/tags/light{number}\nfrom {id}\n\n\
                 tag of{number}\nfrom {id}\ntagger A <a@b> {time} +0000\ndata 1\nt\n"
            )
        })
        .collect();
    sandbox.git_with_input(["fast-import", "--quiet"], light.as_bytes());
    let ask = || {
        let questions = [
            &[][..],
            &["--tags"],
            &["--all"],
            &["--contains"],
            &["--exact-match"],
        ];
        let names = ["HEAD", "HEAD~1", "HEAD~2", "HEAD~4"];
        let asked = questions.iter().flat_map(|options| {
            names.map(|name| (*options, name, ours(&sandbox, options, &[name])))
        });
        asked.collect::<Vec<_>>()
    };
    let expected = ask();
    for (options, name, messages) in &expected {
        assert_eq!(
            *messages,
            theirs(&sandbox, options, &[name]),
            "{options:?} {name}"
        );
    }
    write_plain_table(&sandbox, "plain.ref");
    assert_eq!(ask(), expected);
    // With another table on top, written by git.
    sandbox.git(["tag", "later", "HEAD"]);
    sandbox.git(["update-ref", "refs/tags/light5", "HEAD"]);
    assert_eq!(ours(&sandbox, &["--tags"], &["HEAD"]).0, "later\n");
    assert_eq!(ours(&sandbox, &["--exact-match"], &["HEAD~1"]).0, "new\n");
}

#[test]
fn tables_that_do_not_say_where_tags_lead_are_not_taken_to_have_none() {
    let sandbox =
        Sandbox::with_formats(RefFormat::Reftable, gix_hash::Kind::Sha1).with_five_commits();
    for (name, commit) in [("one", "HEAD~3"), ("two", "HEAD~1"), ("nested", "two")] {
        sandbox.git(["tag", "-a", "-m", "t", name, commit]);
    }
    sandbox.git(["tag", "light", "HEAD~2"]);
    let questions: Vec<(Vec<&str>, &str)> = [
        &[][..],
        &["--tags"],
        &["--all"],
        &["--contains"],
        &["--debug"],
    ]
    .iter()
    .flat_map(|options| ["HEAD", "HEAD~1", "HEAD~2", "HEAD~3"].map(|name| (options.to_vec(), name)))
    .collect();
    let before: Vec<_> = questions
        .iter()
        .map(|(options, name)| theirs(&sandbox, options, &[name]))
        .collect();
    write_plain_table(&sandbox, "plain.ref");
    for ((options, name), expected) in questions.iter().zip(before) {
        assert_eq!(
            ours(&sandbox, options, &[name]),
            expected,
            "{options:?} {name}"
        );
    }
}
