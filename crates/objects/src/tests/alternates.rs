//! Folders named as alternates.

use std::os::unix::fs::symlink;

use vigil_model::quote::unquote;
use vigil_testkit::clock::wait_for_tick;

use super::*;

#[test]
fn alternates_are_followed() {
    let far = Sandbox::filled(HashKind::Sha1);
    let near = Sandbox::new(HashKind::Sha1);
    let own = Sandbox::new(HashKind::Sha1);
    own.history(100..102);
    let alternates = |of: &Sandbox, path: &Path| {
        let list = format!("# a comment\n{}\n", path.display());
        fs::write(of.objects().join("info/alternates"), list).unwrap();
    };
    near.history(90..92);
    near.git(&["repack", "-adq"]);
    alternates(&near, &far.objects());
    alternates(&own, &near.objects());
    own.check_columns(3);
    let mut folders = own.folders();
    fs::remove_file(own.objects().join("info/alternates")).unwrap();
    folders.alternates = far.objects().to_str().unwrap().into();
    let messages = &mut Vec::new();
    let store = ObjectStore::open(&folders, messages);
    let head = far.git(&["rev-parse", "HEAD"]);
    let head = ObjectId::from_hex(head.trim_ascii()).unwrap();
    assert!(store.find(&head, messages).unwrap().is_some());
    // git shows a relative path as it is, though it starts from the top.
    folders.alternates = "/no/such/folder:no/such/folder".into();
    ObjectStore::open(&folders, messages);
    let error = "error: unable to normalize alternate object path:";
    assert_eq!(
        messages.join("\n"),
        format!("{error} /no/such/folder\n{error} no/such/folder")
    );
}

/// So does git, when it looks again because it found nothing.
#[test]
fn alternates_are_added_while_objects_are_read() {
    let own = Sandbox::new(HashKind::Sha1);
    let [loose, packed] = [90..92, 100..102].map(|history| {
        let far = Sandbox::new(HashKind::Sha1);
        far.history(history);
        far
    });
    packed.git(&["repack", "-adq"]);
    let list = own.objects().join("info/alternates");
    let messages = &mut Vec::new();
    let store = Arc::new(ObjectStore::open(&own.folders(), messages));
    let head = |of: &Sandbox| {
        let head = of.git(&["rev-parse", "HEAD"]);
        ObjectId::from_hex(head.trim_ascii()).unwrap()
    };
    for far in [&loose, &packed] {
        let head = head(far);
        assert!(store.find(&head, messages).unwrap().is_none());
        fs::write(&list, far.objects().to_str().unwrap()).unwrap();
        let location = store.find(&head, messages).unwrap().unwrap();
        let read = ObjectReader::new(&store).append(&location, &mut Vec::new());
        assert_eq!(read.unwrap().kind, Kind::Commit);
    }
    // Those that are no longer named stay, as in git.
    assert!(store.find(&head(&loose), messages).unwrap().is_some());
    assert!(store.has_other_alternates());
    fs::remove_file(&list).unwrap();
    assert!(store.has_other_alternates());
    assert!(messages.is_empty());
}

#[test]
fn a_store_is_outdated_as_long_as_an_alternate_is_not_there() {
    let (own, far) = (Sandbox::new(HashKind::Sha1), Sandbox::new(HashKind::Sha1));
    let list = own.objects().join("info/alternates");
    fs::write(list, far.objects().to_str().unwrap()).unwrap();
    let is_outdated = || ObjectStore::open(&own.folders(), &mut Vec::new()).is_outdated();
    wait_for_tick();
    let away = far.top().join("away");
    assert!(!is_outdated());
    fs::rename(far.objects(), &away).unwrap();
    assert!(is_outdated());
    fs::rename(&away, far.objects()).unwrap();
    assert!(!is_outdated());
}

/// The lists that name the alternates stay as they are.
#[test]
fn a_store_is_outdated_once_an_alternate_is_another_folder() {
    let sandboxes = [HashKind::Sha1; 4].map(Sandbox::new);
    let [own, near, far, other] = &sandboxes;
    let link = near.top().join("link");
    symlink(far.objects(), &link).unwrap();
    for (of, named) in [(own, near.objects()), (near, link.clone())] {
        let list = of.objects().join("info/alternates");
        fs::write(list, named.to_str().unwrap()).unwrap();
    }
    wait_for_tick();
    let open = || ObjectStore::open(&own.folders(), &mut Vec::new());
    let store = open();
    assert!(!store.is_outdated());
    fs::remove_file(&link).unwrap();
    symlink(other.objects(), &link).unwrap();
    assert!(store.is_outdated());
    let store = open();
    assert!(!store.is_outdated());
    fs::rename(other.objects(), other.top().join("away")).unwrap();
    assert!(store.is_outdated());
}

/// Quotes, comments and errors in them.
#[test]
fn lists_of_alternates_are_taken_apart_as_git_does() {
    let sandbox = Sandbox::new(HashKind::Sha1);
    let base = sandbox.objects();
    for name in ["a", "b", "#c", "\"d", "e f"] {
        fs::create_dir(base.join(name)).unwrap();
    }
    let texts: [&[u8]; 9] = [
        b"a\nb\n",
        b"#c\n\n\"b\"\na",
        b"\"b\"xa\n",
        b"\"b\"\"a\"\n",
        b"\"\\141\"\n\"e\\040f\"",
        b"\"d\nb\n",
        b"\"b\\q\"\na\n",
        b"a\0\nb\n",
        b"\"b\na\"\n e f\ne f\n",
    ];
    for text in texts {
        fs::write(base.join("info/alternates"), text).unwrap();
        let output = sandbox.output("", ["count-objects", "-v"], b"");
        let expected = String::from_utf8(output.stdout).unwrap();
        let expected: Vec<_> = expected
            .lines()
            .filter_map(|line| line.strip_prefix("alternate: "))
            .map(|path| match unquote(path.as_bytes()) {
                Some((path, _)) => String::from_utf8(path).unwrap().into(),
                None => PathBuf::from(path),
            })
            .collect();
        let mut messages = Vec::new();
        let store = ObjectStore::open(&sandbox.folders(), &mut messages);
        let folders = store.dirs.iter().skip(1);
        let folders: Vec<_> = folders.map(|dir| dir.folder.clone()).collect();
        assert_eq!(folders, expected, "{}", text.escape_ascii());
        let expected = String::from_utf8(output.stderr).unwrap();
        assert_eq!(messages.join("\n"), expected.trim_end());
    }
    let mut folders = sandbox.folders();
    fs::remove_file(base.join("info/alternates")).unwrap();
    fs::create_dir(sandbox.top().join("g:h")).unwrap();
    folders.alternates = "\"g:h\":.git/objects/a".into();
    let store = ObjectStore::open(&folders, &mut Vec::new());
    assert_eq!(store.dirs.len(), 3);
}

/// By a list, by a list that it names, and by its own, the first of them counts; so for git.
#[test]
fn folders_that_are_named_more_than_once_are_searched_once() {
    let sandbox = Sandbox::new(HashKind::Sha1);
    let base = sandbox.objects();
    for name in ["a", "b", "c"] {
        fs::create_dir_all(base.join(name).join("info")).unwrap();
    }
    fs::write(base.join("info/alternates"), "a\nb/\n.\na/../b\na\n").unwrap();
    fs::write(
        base.join("a/info/alternates"),
        format!("{0}/c\n{0}/a\n{0}\n", base.display()),
    )
    .unwrap();
    fs::write(
        base.join("c/info/alternates"),
        format!("{0}/b\n{0}/a\n", base.display()),
    )
    .unwrap();
    let messages = &mut Vec::new();
    let store = ObjectStore::open(&sandbox.folders(), messages);
    let folders = store.dirs.iter().map(|dir| &dir.folder);
    let names: Vec<_> = folders
        .filter_map(|folder| folder.strip_prefix(&base).ok())
        .collect();
    let output = sandbox.output("", ["count-objects", "-v"], b"");
    let listed = String::from_utf8(output.stdout).unwrap();
    let listed = listed
        .lines()
        .filter_map(|line| line.strip_prefix("alternate: "));
    let listed = listed.filter_map(|path| Path::new(path).strip_prefix(&base).ok());
    assert_eq!(
        names.iter().copied().skip(1).collect::<Vec<_>>(),
        listed.collect::<Vec<_>>()
    );
    assert_eq!(names, ["", "a", "c", "b"].map(Path::new));
    assert!(messages.is_empty());
}
