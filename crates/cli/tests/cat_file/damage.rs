//! Objects and packs that are damaged or missing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use vigil_testkit::sandbox::git_is_at_least;

use super::sandbox::{Sandbox, VIGIL};

/// Damage is reported as by git, and what follows the damage is answered where git answers it.
#[test]
fn damage_is_reported_as_by_git() {
    let sandbox = Sandbox::new("sha1");
    let id = sandbox.git(&["rev-parse", "HEAD:late"]).trim().to_owned();
    let path = sandbox.loose_object(&id);
    let whole = std::fs::read(&path).unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    PermissionsExt::set_mode(&mut permissions, 0o644);
    std::fs::set_permissions(&path, permissions).unwrap();
    let question = format!("{id}\nHEAD\n");
    for damaged in [&b""[..], b"garbage", &whole[..whole.len() / 2]] {
        std::fs::write(&path, damaged).unwrap();
        for options in [&["--batch"][..], &["--batch-check"]] {
            sandbox.assert_same_cat_file(options, question.as_bytes());
        }
        for option in ["-t", "-s", "-p", "-e"] {
            sandbox.assert_same_cat_file(&[option, &id], b"");
        }
        // Older versions do not take an empty file for an object here, either.
        if git_is_at_least("git", 47) {
            sandbox.assert_same_cat_file(&["blob", &id], b"");
            sandbox.assert_same_cat_file(&["tree", &id], b"");
        }
    }
}

/// The name of a pack in messages depends on how the repository was found.
#[test]
fn a_pack_is_named_as_git_names_it() {
    let sandbox = Sandbox::new("sha1");
    let (top, bare) = (sandbox.top(), sandbox.root().join("bare"));
    let bare = bare.to_str().unwrap();
    sandbox.git(&["clone", "-q", "--bare", "--no-local", ".", bare]);
    let id = sandbox.git(&["rev-parse", "HEAD:file"]).trim().to_owned();
    for folder in [&top.join(".git"), Path::new(bare)] {
        for entry in std::fs::read_dir(folder.join("objects/pack")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "pack") {
                continue;
            }
            // Everything between the header and the checksum.
            let mut bytes = std::fs::read(&path).unwrap();
            let len = bytes.len();
            bytes[12..len - 20].fill(0xff);
            let mode = PermissionsExt::from_mode(0o644);
            std::fs::set_permissions(&path, mode).unwrap();
            std::fs::write(&path, bytes).unwrap();
        }
    }
    let folder = sandbox.root().to_str().unwrap();
    let absolute = format!("{folder}/work/.git/objects");
    let linked = top.join(".git/worktrees/linked");
    std::fs::create_dir_all(top.join("below/linked")).unwrap();
    std::fs::create_dir_all(&linked).unwrap();
    std::fs::copy(top.join(".git/HEAD"), linked.join("HEAD")).unwrap();
    std::fs::write(linked.join("commondir"), "../..\n").unwrap();
    let gitfile = top.join("below/linked/.git");
    std::fs::write(linked.join("gitdir"), gitfile.to_str().unwrap()).unwrap();
    std::fs::write(&gitfile, "gitdir: ../../.git/worktrees/linked\n").unwrap();
    let mut printed = std::collections::BTreeSet::new();
    for (directory, variables) in [
        ("work", &[][..]),
        ("work/dir", &[]),
        ("work/.git", &[]),
        ("work/.git/refs", &[]),
        ("work/below/linked", &[]),
        ("bare", &[]),
        ("bare/refs", &[]),
        ("", &[("GIT_DIR", "bare")]),
        ("bare/refs", &[("GIT_DIR", "..")]),
        ("work/dir", &[("GIT_DIR", "../.git")]),
        (
            "work/dir",
            &[("GIT_DIR", "../.git"), ("GIT_WORK_TREE", "..")],
        ),
        ("work", &[("GIT_OBJECT_DIRECTORY", ".git/objects")]),
        ("work/dir", &[("GIT_OBJECT_DIRECTORY", absolute.as_str())]),
    ] {
        let [git, vigil] = ["git", VIGIL].map(|program| {
            let mut command = sandbox.command(program, "", ["cat-file", "blob", &id]);
            command.current_dir(sandbox.root().join(directory));
            command.envs(variables.iter().copied()).output().unwrap()
        });
        assert_eq!(vigil, git, "{directory} {variables:?}");
        printed.insert(git.stderr);
    }
    assert!(printed.len() >= 7, "{printed:?}");
}

/// Each damaged stream makes git fail in another place of its library, some of which only its fast path reaches.
#[test]
fn damaged_streams_are_reported_as_by_git() {
    let sandbox = Sandbox::new("sha1");
    let top = sandbox.top();
    let rows = |from: u32, to: u32| {
        let row = |row: u32| format!("{row} {:x}\n", row.wrapping_mul(0x9e37_79b9));
        (from..to).map(row).collect::<String>()
    };
    // A base and its delta, an object that is streamed from the pack, and loose objects of both sizes.
    for (name, contents) in [
        ("base", rows(0, 900)),
        ("change", rows(300, 900) + &rows(2000, 2200)),
        ("start", rows(0, 700)),
        ("large", rows(0, 4000)),
    ] {
        std::fs::write(top.join(name), contents).unwrap();
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "packed"]);
    sandbox.git(&["repack", "-q", "-a", "-d", "-f"]);
    for (name, contents) in [("loose", rows(5, 700)), ("streamed", rows(7, 4000))] {
        std::fs::write(top.join(name), contents).unwrap();
    }
    sandbox.git(&["add", "-A"]);
    let pack = sandbox.pack_file("pack");
    for name in ["base", "change", "start", "large", "loose", "streamed"] {
        let id = sandbox.git(&["rev-parse", &format!(":{name}")]);
        let id = id.trim();
        let loose = sandbox.loose_object(id);
        let (file, start, len) = match loose.exists() {
            true => (loose.clone(), 0, std::fs::metadata(&loose).unwrap().len()),
            false => {
                let idx = sandbox.git(&["verify-pack", "-v", pack.to_str().unwrap()]);
                let line = idx.lines().find(|line| line.starts_with(id)).unwrap();
                let numbers: Vec<u64> = line
                    .split(' ')
                    .filter_map(|word| word.parse().ok())
                    .collect();
                // Before 2.55, git determined the size of a delta's result first.
                if numbers.len() > 3 && !git_is_at_least("git", 55) {
                    continue;
                }
                // The size, the size in the pack, and the offset there.
                (pack.clone(), numbers[2], numbers[1])
            }
        };
        let sound = std::fs::read(&file).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        for number in 0..60 {
            let mut bytes = sound.clone();
            let place = start + 12 + (number * 7919) % (len - 16);
            bytes[usize::try_from(place).unwrap()] ^= 1 << (number % 8);
            std::fs::write(&file, &bytes).unwrap();
            let [git, vigil] =
                ["git", VIGIL].map(|program| sandbox.run(program, &["cat-file", "blob", id], b""));
            assert_eq!(vigil, git, "{name}, byte {place}");
        }
        std::fs::write(&file, &sound).unwrap();
    }
}

/// git writes a large blob up to the last whole part before the damage.
#[test]
fn streams_end_where_those_of_git_end() {
    let sandbox = Sandbox::new("sha1");
    let mut state = 1u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 26) as u8 + b'0'
    });
    std::fs::write(
        sandbox.top().join("noise"),
        noise.take(3 << 20).collect::<Vec<_>>(),
    )
    .unwrap();
    let id = sandbox.git(&["hash-object", "-w", "noise"]);
    let id = id.trim();
    let loose = sandbox.loose_object(id);
    let whole = std::fs::read(&loose).unwrap();
    std::fs::remove_file(&loose).unwrap();
    for at in [40, 1000, 300_000, whole.len() / 2, whole.len() - 2] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&loose, damaged).unwrap();
        for arguments in [&["--batch"][..], &["-p", id], &["blob", id]] {
            let arguments = [&["cat-file"], arguments].concat();
            let [ours, theirs] =
                [VIGIL, "git"].map(|program| sandbox.run(program, &arguments, id.as_bytes()));
            // The exact problem with the stream is reported in the words of a library.
            assert!(
                ours.stdout == theirs.stdout,
                "{arguments:?}, damage at {at}"
            );
            assert_eq!(
                ours.status.code(),
                theirs.status.code(),
                "{arguments:?}, damage at {at}"
            );
        }
    }
}

/// The contents shown must be those of the tree that was asked for.
#[test]
fn a_tree_in_the_place_of_another_one_is_not_used() {
    let sandbox = Sandbox::new("sha1");
    let file = |name: &str| {
        let id = sandbox.git(&["rev-parse", name]);
        sandbox.loose_object(id.trim())
    };
    sandbox.git(&["update-index", "--force-remove", "late"]);
    sandbox.git(&["update-index", "--force-remove", "file"]);
    let other = sandbox.git(&["write-tree"]);
    let contents = std::fs::read(file(other.trim())).unwrap();
    let id = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let place = file(id.trim());
    std::fs::remove_file(&place).unwrap();
    std::fs::write(&place, contents).unwrap();
    for option in ["-p", "-t", "-s", "tree"] {
        sandbox.assert_same_cat_file(&[option, id.trim()], b"");
    }
}

/// git reads the shallow boundary with the first commit that it parses, and exits if it cannot.
#[test]
fn a_bad_shallow_boundary_is_fatal_once_a_commit_is_parsed() {
    let sandbox = Sandbox::new("sha1");
    sandbox.git(&["tag", "-a", "-m", "tagged", "of-commit"]);
    sandbox.git(&["tag", "of-tree", "HEAD^{tree}"]);
    sandbox.write(".git/shallow", "no id\n");
    for name in ["HEAD", "of-commit", "of-tree", "HEAD:file"] {
        for end in [
            "",
            "^{}",
            "^{commit}",
            "^{tree}",
            "^{tag}",
            "^{object}",
            "^0",
            "~1",
        ] {
            let name = format!("{name}{end}");
            sandbox.assert_same_cat_file(&["-t", &name], b"");
            sandbox.assert_same_cat_file(&["--batch-check"], name.as_bytes());
        }
    }
}
