//! Comparisons with committed contents: however they are stored, an unchanged file is clean, even if its stamp proves nothing.

use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

/// Names that the store encodes.
const NAMES: [&str; 12] = [
    "UPPER/Case_x",
    "aux/con.txt",
    "com1",
    ".dot/.f",
    "end.i/d.d/x.hg/f",
    "sp ace /t",
    "tilde~",
    "a:b*c?",
    "h\u{e9}",
    "d/very-long-directory-name-one/very-long-directory-name-two/very-long-directory-name-three/and-a-long-file-name.txt",
    "D/VERY-LONG-DIRECTORY-NAME-ONE/x.y.z/VERY-LONG-DIRECTORY-NAME-TWO/VERY-LONG-DIRECTORY-NAME.THREE/AUX.TXT",
    "lpt9.x",
];

fn contents(n: usize) -> Vec<u8> {
    let line = |k: usize| format!("line {k} of {n} {}\n", (k * 7919 * (n + 1)) % 1000);
    (0..400)
        .map(|k| {
            if k == n * 31 % 400 {
                format!("changed {n}\n")
            } else {
                line(k / (n % 3 + 1))
            }
        })
        .collect::<String>()
        .into_bytes()
}

#[test]
fn contents_are_found_in_stores_of_all_formats() {
    let formats: [&[&str]; 7] = [
        &[],
        &["format.revlog-compression=zlib"],
        &["format.revlog-compression=none"],
        &["format.sparse-revlog=no", "format.usegeneraldelta=no"],
        &["format.usestore=no"],
        &["format.dotencode=no"],
        &["format.usefncache=no"],
    ];
    for hg in hg_programs() {
        for format in formats {
            let working = WorkingCopy::new(&hg, false);
            std::fs::remove_dir_all(working.path(".hg")).unwrap();
            let mut init = vec!["init"];
            for option in format {
                init.extend(["--config", option]);
            }
            working.hg(&init);
            for n in 0..6 {
                for (at, name) in NAMES.iter().enumerate() {
                    working.write(name, contents(n + at));
                }
                working.write("inline", format!("{n}\n"));
                working.write("escaped", format!("\u{1}\n{n}"));
                working.commit("more");
            }
            working.hg(&["move", "inline", "copied"]);
            working.commit("copies");
            // As if the files were written again within the second: only the contents decide.
            working.hg(&["debugrebuilddirstate"]);
            working.assert_same_as_hg(&["status", "-A"]);
            working.hg(&["debugrebuilddirstate"]);
            let mut other = contents(5);
            other[3] ^= 1;
            working.write(NAMES[0], other);
            working.write("copied", "6\n");
            working.assert_same_as_hg(&["status", "-A"]);
            // Large enough for a separate file of chunks.
            let noise: Vec<u8> = (0u32..200_000)
                .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
                .collect();
            working.write("large", &noise);
            working.commit("large");
            working.hg(&["debugrebuilddirstate"]);
            working.assert_same_as_hg(&["status", "-A"]);
        }
    }
}

#[test]
fn a_parent_that_does_not_exist_counts_as_none() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in ["clean", "d/changed", "other"] {
                working.write(name, "1");
            }
            working.commit("first");
            let changelog = working.path(".hg/store/00changelog.i");
            let before = std::fs::read(&changelog).unwrap();
            working.write("other", "22");
            working.commit("second");
            let after = std::fs::read(&changelog).unwrap();
            working.hg(&["debugrebuilddirstate"]);
            working.write("d/changed", "2");
            std::fs::write(&changelog, before).unwrap();
            for arguments in [&["status"][..], &["status", "-A"], &["status", "d"]] {
                working.assert_same_as_hg(arguments);
                working.assert_same_as_hg(arguments);
            }
            // The changeset may come back, with nothing else changed.
            std::fs::write(&changelog, after).unwrap();
            working.assert_same_as_hg(&["status", "-A"]);
        }
    }
}

#[test]
fn a_stripped_parent_counts_as_none_and_is_reported() {
    for hg in hg_programs() {
        for is_v2 in [false, true] {
            let working = WorkingCopy::new(&hg, is_v2);
            let commit = |text: &str, time_s: u64| {
                working.write("a", text);
                // An old mtime proves that the file is unchanged, so no contents are compared.
                let file = std::fs::File::open(working.path("a")).unwrap();
                let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(time_s);
                file.set_modified(then).unwrap();
                working.commit(text.trim());
            };
            commit("1\n", 1_000_000_000);
            commit("22\n", 1_000_000_100);
            working.hg(&["copy", "a", "b"]);
            working.hg(&["status"]);
            let index = working.path(".hg/store/00changelog.i");
            let whole = std::fs::read(&index).unwrap();
            // The chunks follow their records, or are in another file.
            let chunk_len = u32::from_be_bytes(whole[8..12].try_into().unwrap()) as usize;
            let is_inline = whole[1] & 1 != 0;
            let first_len = 64 + if is_inline { chunk_len } else { 0 };
            std::fs::write(&index, &whole[..first_len]).unwrap();
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-C"],
                &["status", "-q"],
                &["status", "--rev", "."],
                &["status", "--rev", "0"],
                &["status", "--change", "."],
                &["status", "--rev", ".", "--rev", "0"],
                &["status", "-Tjson", "-C"],
            ] {
                working.assert_same_as_hg(arguments);
            }
            // The changeset may come back.
            std::fs::write(&index, &whole).unwrap();
            working.assert_same_as_hg(&["status", "-A", "-C"]);
            for len in [0, 40, whole.len() - 3] {
                std::fs::write(&index, &whole[..len]).unwrap();
                if len == 0 {
                    working.assert_same_as_hg(&["status"]);
                } else {
                    assert_eq!(working.vigil(&["status"]).2, Some(255));
                }
            }
        }
    }
}
