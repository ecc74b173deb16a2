use super::*;
use crate::abort::Kind;

fn names(error: Abort) -> String {
    error.to_string()
}

#[test]
fn unknown_requirements_are_named() {
    let check = |text: &str| Requirements::parse(text.as_bytes()).check();
    assert_eq!(check("revlogv1\nstore\nfncache\r\ndotencode\n"), Ok(()));
    let error = check("revlogv1\nzz\nab\n").unwrap_err();
    assert_eq!(
        names(error),
        "repository requires features unknown to this Mercurial: ab zz"
    );
    let error = check("revlogv1\n-z\nab\n").unwrap_err();
    assert_eq!(names(error), ".hg/requires file is corrupt");
    assert_eq!(check("store\n").unwrap_err().kind, Kind::Unsupported);
    assert_eq!(
        check("revlogv1\nexp-remotefilelog-repo-req-1\n")
            .unwrap_err()
            .kind,
        Kind::Unsupported
    );
}

#[test]
fn a_share_leads_to_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let top = std::fs::canonicalize(folder.path()).unwrap();
    let write = |path: &str, text: &str| {
        let path = top.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("source/.hg/requires", "share-safe\n");
    write("source/.hg/store/requires", "revlogv1\nstore\n");
    write("one/.hg/requires", "share-safe\nshared\ndirstate-v2\n");
    write(
        "one/.hg/sharedpath",
        &format!("{}\n", top.join("source/.hg").display()),
    );
    write("two/.hg/requires", "share-safe\nrelshared\n");
    write("two/.hg/sharedpath", "../../source/.hg");
    write("old/.hg/requires", "shared\nrevlogv1\n");
    write(
        "old/.hg/sharedpath",
        &format!("{}\n", top.join("source/.hg").display()),
    );
    write("lost/.hg/requires", "shared\n");
    write("lost/.hg/sharedpath", "/nowhere/at/../.hg\n");
    for (name, path) in [("none", "\n"), ("below", "../../source/.hg")] {
        write(&format!("{name}/.hg/requires"), "shared\n");
        write(&format!("{name}/.hg/sharedpath"), path);
        let error = Repository::open(&top.join(name)).unwrap_err();
        assert_eq!(error.kind, Kind::Unsupported, "{error}");
    }
    let one = Repository::open(&top.join("one")).unwrap();
    assert_eq!(one.shared, top.join("source/.hg"));
    assert!(one.requirements.has("revlogv1") && one.has_dirstate_v2());
    assert_eq!(
        Repository::open(&top.join("two")).unwrap().shared,
        one.shared
    );
    let error = Repository::open(&top.join("old")).unwrap_err();
    assert!(error.message.starts_with(b"version mismatch"), "{error}");
    let error = Repository::open(&top.join("lost")).unwrap_err();
    assert_eq!(
        names(error),
        ".hg/sharedpath points to nonexistent directory /nowhere/.hg"
    );
    assert_eq!(find(&top.join("one/.hg/x")), Some(top.join("one")));
    assert_eq!(find(&top), None);
}

#[test]
fn a_working_directory_that_cannot_be_looked_into_is_an_error_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let top = std::fs::canonicalize(folder.path()).unwrap();
    std::fs::create_dir_all(top.join("in/b")).unwrap();
    std::fs::create_dir_all(top.join("other/.hg")).unwrap();
    let paths = [BString::from("../other/file")];
    let message = |cwd: &str| {
        let process = ProcessContext {
            variable: &|_: &str| None,
            cwd: top.join(cwd),
            started_in: top.clone(),
            uid: 0,
        };
        locate(&process, None).unwrap_err().message
    };
    let other = Some(BString::from("../other"));
    assert_eq!(infer_root(&top.join("in"), &paths), other);
    std::os::unix::fs::symlink(".hg", top.join("in/.hg")).unwrap();
    assert_eq!(infer_root(&top.join("in"), &paths), None);
    let dot_hg = top.join("in/.hg");
    let expected = format!("Too many levels of symbolic links: '{}'", dot_hg.display());
    assert_eq!(message("in"), expected);
    // Further up it is passed over.
    let below = top.join("in/b");
    let expected = format!(
        "no repository found in '{}' (.hg not found)",
        below.display()
    );
    assert_eq!(message("in/b"), expected);
}
