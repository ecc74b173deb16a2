//! Attributes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use bstr::ByteSlice;

use crate::sandbox::Sandbox;

/// Macros that refer to one another, and in the end to an attribute that matters or to one that does not.
#[test]
fn chained_macros() {
    let sandbox = Sandbox::with_history();
    sandbox.write("a", "other\r\n");
    let chain = |count: usize, end: &str| {
        let links = (0..count).map(|n| format!("[attr]m{n} -b{n} m{} c{n}=v\n", n + 1));
        let links: String = links.collect();
        format!("{links}[attr]m{count} {end}\n")
    };
    // In a chain of 400, the macros 1000 to 2000 do not exist.
    for (count, end) in [
        (2000, "x"),
        (2000, "m1999 x"),
        (1200, "x=1"),
        (400, "-x"),
        (400, "text"),
        (400, "m0"),
        (400, "!x m7"),
    ] {
        for rules in [
            "* m0",
            "* m0\na -m1000\n",
            "* m1000 !m0\n",
            "* x\n* m0",
            "* m0 -m2000",
        ] {
            sandbox.write(".gitattributes", [&chain(count, end), rules].concat());
            for spec in [
                ":(attr:x)",
                ":(attr:x=1)",
                ":(attr:-x)",
                ":(attr:b7)",
                ":(attr:-b1500)",
            ] {
                sandbox.assert_same_as_git(&["status", "-s", spec]);
            }
            sandbox.assert_same_as_git(&["status", "-s"]);
        }
    }
}

#[test]
fn the_shell_of_a_filter_calls_itself_by_the_command() {
    let sandbox = Sandbox::with_history();
    sandbox.write(".gitattributes", "a filter=f\n");
    for clean in ["echo \"$0\" >&2; cat", "no-such-program %f"] {
        sandbox.git(["config", "filter.f.clean", clean]);
        // With the same contents, only the filter tells.
        sandbox.write("a", "three");
        sandbox.assert_same_as_git(&["--no-optional-locks", "status", "-s"]);
    }
}

#[test]
fn programs_that_cannot_be_started_are_reported_in_gits_words() {
    let sandbox = Sandbox::with_history();
    sandbox.write(".gitattributes", "a filter=f diff=f\n");
    let long = "n".repeat(256);
    for program in [
        "no-such-program",
        "./no-such-program",
        "./a",
        "./a/b",
        "./dir",
        &long,
    ] {
        sandbox.git(["config", "filter.f.clean", program]);
        sandbox.git(["config", "diff.f.textconv", program]);
        // With the same contents, only the filter tells.
        sandbox.write("a", "three");
        sandbox.assert_same_as_git(&["--no-optional-locks", "status", "-s"]);
        sandbox.assert_same_as_git(&["cat-file", "--textconv", "HEAD:a"]);
    }
}

#[test]
fn a_script_that_does_not_say_what_runs_it_is_run_by_the_shell() {
    let sandbox = Sandbox::with_history();
    sandbox.write(".gitattributes", "a filter=f diff=f\n");
    sandbox.write("script", "cat \"$@\" | tr t T\n");
    let script = sandbox.path("script");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.git(["config", "filter.f.clean", "./script"]);
    sandbox.git(["config", "diff.f.textconv", "./script"]);
    for contents in ["three", "Three"] {
        sandbox.write("a", contents);
        sandbox.assert_same_as_git(&["--no-optional-locks", "status", "-s"]);
    }
    sandbox.assert_same_as_git(&["cat-file", "--textconv", "HEAD:a"]);
}

#[test]
fn attributes_in_a_damaged_object_are_fatal() {
    let sandbox = Sandbox::with_history();
    sandbox.write(".gitattributes", "a filter=f\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "attributes"]);
    sandbox.git(["config", "filter.f.clean", "tr A-Z a-z"]);
    fs::remove_file(sandbox.path(".gitattributes")).unwrap();
    // With the same size as what is recorded, only the contents tell.
    sandbox.write("a", "THREE");
    let ask = || {
        for options in [
            &["-c", "attr.tree=HEAD"][..],
            &["-c", "attr.tree=HEAD^{tree}"],
            &["-c", "x.y=z"],
        ] {
            let status = [options, &["--no-optional-locks", "status", "-s"]].concat();
            sandbox.assert_same_as_git(&status);
        }
    };
    for name in ["HEAD:.gitattributes", "HEAD^{tree}"] {
        let object = sandbox.loose_object(&sandbox.id(name).to_string());
        let kept = sandbox.path("../kept");
        fs::rename(&object, &kept).unwrap();
        fs::write(&object, "damaged").unwrap();
        ask();
        fs::rename(&kept, &object).unwrap();
        ask();
    }
}

#[test]
fn renames_are_found_though_staged_contents_are_only_in_the_working_tree() {
    let sandbox = Sandbox::with_history();
    sandbox.write("old", "one\ntwo\nthree\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "old"]);
    sandbox.git(["mv", "old", "new"]);
    sandbox.write("new", "one\ntwo\nthree\nfour\n");
    sandbox.git(["add", "new"]);
    vigil_testkit::clock::wait_for_tick();
    sandbox.git(["update-index", "--refresh"]);
    let object = sandbox.loose_object(&sandbox.id(":new").to_string());
    let ask = || sandbox.assert_same_as_git(&["--no-optional-locks", "status", "-s", "-uno"]);
    fs::remove_file(&object).unwrap();
    fs::write(&object, "damaged").unwrap();
    ask();
    fs::remove_file(&object).unwrap();
    ask();
    // Then nobody knows what was staged.
    sandbox.write("new", "one\ntwo\nthree\nfive\n");
    ask();
}

#[test]
fn the_search_for_renames_looks_attributes_up() {
    let sandbox = Sandbox::with_history();
    sandbox.write("apart/.gitattributes", "new filter=f\n");
    sandbox.write("apart/old", "one\ntwo\nthree\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "attributes"]);
    sandbox.write("apart/new", "one\ntwo\nfour\n");
    sandbox.git(["add", "apart/new"]);
    sandbox.git(["rm", "-q", "apart/old"]);
    let ask_all = || {
        for more in [&[][..], &["--no-renames"], &["--", "apart/new"]] {
            let status = ["--no-optional-locks", "status", "-s", "-uno"];
            sandbox.assert_same_as_git(&[&status, more].concat());
        }
    };
    let attributes = sandbox.path("apart/.gitattributes");
    fs::remove_file(&attributes).unwrap();
    std::os::unix::fs::symlink("x", &attributes).unwrap();
    // By their sizes, these have nothing in common.
    sandbox.write("apart/new", "1");
    sandbox.git(["add", "apart/new"]);
    fs::remove_file(sandbox.path("apart/new")).unwrap();
    ask_all();
    fs::remove_file(&attributes).unwrap();
    ask_all();
    sandbox.write("apart/new", "one\ntwo\nfour\n");
    sandbox.git(["add", "apart/new"]);
    ask_all();
    // git exits over what stands for the file.
    let object = sandbox.loose_object(&sandbox.id(":apart/.gitattributes").to_string());
    fs::remove_file(&object).unwrap();
    ask_all();
    fs::write(&object, "damaged").unwrap();
    ask_all();
}

/// git records in the index that the file is unchanged.
#[test]
fn a_file_in_another_encoding_that_was_found_unchanged_is_not_converted_again() {
    let sandbox = Sandbox::empty();
    sandbox.write(".gitattributes", "* working-tree-encoding=SHIFT-JIS\n");
    sandbox.write("good", b"\x93\xfa\n");
    sandbox.git(["add", "."]);
    sandbox.age("good", 60);
    sandbox.settle();
    let status = || {
        let mut command = sandbox.vigil(["status", "-s"]);
        let with_iconv = command.output().unwrap();
        let without = command.env("PATH", sandbox.path("empty")).output().unwrap();
        assert_eq!(without.stdout, with_iconv.stdout);
        (with_iconv.stdout, with_iconv.stderr, without.stderr)
    };
    let (shown, with_iconv, without) = status();
    let added: &[u8] = b"A  .gitattributes\nA  good\n";
    assert_eq!(shown, added);
    assert!(with_iconv.is_empty(), "{:?}", with_iconv.as_bstr());
    assert!(without.is_empty(), "{:?}", without.as_bstr());
    // What git complains about each time is converted each time.
    sandbox.write("good", b"\x93\n\n");
    sandbox.age("good", 60);
    sandbox.settle();
    let status_s = ["--no-optional-locks", "status", "-s"];
    sandbox.assert_same_as_git(&status_s);
    sandbox.assert_same_as_git(&status_s);
}
