//! Blobs that git needs to find renames, and cannot read.

use std::fs;
use std::path::PathBuf;

use crate::sandbox::Sandbox;

fn lines(numbers: std::ops::RangeInclusive<u32>) -> String {
    numbers.map(|number| format!("{number}\n")).collect()
}

/// Makes a repository in which a file is renamed and changed, and changed once more in the working tree. Returns the loose
/// object of the renamed file.
fn with_renamed_file(sandbox: &Sandbox) -> PathBuf {
    sandbox.write("a", lines(1..=3000));
    sandbox.git(["add", "a"]);
    sandbox.git(["commit", "-q", "-m", "first"]);
    sandbox.git(["rm", "-q", "--cached", "a"]);
    sandbox.write("b", lines(1..=3001));
    sandbox.git(["add", "b"]);
    sandbox.write("b", lines(1..=3002));
    sandbox.loose_object(sandbox.git(["rev-parse", ":b"]).trim())
}

/// What is done to the bytes of an object.
type Damage = fn(&mut Vec<u8>);

#[test]
fn what_is_wrong_with_a_blob_is_said_as_by_git() {
    let damages: [Damage; 4] = [
        |bytes| *bytes = b"no object".to_vec(),
        |bytes| bytes.truncate(2000),
        |bytes| {
            if let Some(byte) = bytes.get_mut(1500) {
                *byte ^= 0xff;
            }
        },
        Vec::clear,
    ];
    for damage in damages {
        let sandbox = Sandbox::empty();
        let object = with_renamed_file(&sandbox);
        sandbox.assert_same_as_git(&["status", "-s"]);
        let mut bytes = fs::read(&object).unwrap();
        damage(&mut bytes);
        fs::remove_file(&object).unwrap();
        fs::write(&object, bytes).unwrap();
        sandbox.assert_same_as_git(&["status", "-s"]);
        sandbox.assert_same_as_git(&["status", "-s", "--no-renames"]);
        // It is not missed where the file has the same contents.
        sandbox.write("b", lines(1..=3001));
        sandbox.assert_same_as_git(&["status", "-s"]);
    }
}
