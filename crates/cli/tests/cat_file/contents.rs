//! Contents of objects, as they are or converted.

use super::sandbox::{REVISIONS, Sandbox, VIGIL};

#[test]
fn single_objects_print_what_git_prints() {
    let sandbox = Sandbox::new("sha1");
    let ids = sandbox.ids();
    let named = REVISIONS.iter().copied().filter(|name| !name.is_empty());
    for name in named.chain(ids.iter().map(String::as_str)) {
        for options in [
            &["-t"][..],
            &["-s"],
            &["-e"],
            &["-p"],
            &["blob"],
            &["tree"],
            &["commit"],
            &["tag"],
            &["no-type"],
            &["--textconv"],
            &["--filters"],
            &["-p", "--use-mailmap"],
        ] {
            sandbox.assert_same_cat_file(&[options, &[name]].concat(), b"");
        }
    }
    for path in ["a.id", "a.crlf", "a.up", "file"] {
        for transform in ["--filters", "--textconv"] {
            sandbox.assert_same_cat_file(&[transform, &format!("HEAD:{path}")], b"");
            sandbox.assert_same_cat_file(&[transform, &format!("--path={path}"), "HEAD:file"], b"");
            let line = format!("HEAD:a.up {path}\nHEAD {path}\nHEAD:file\n");
            sandbox.assert_same_cat_file(&["--batch", transform], line.as_bytes());
        }
    }
}

#[test]
fn attributes_may_come_from_a_tree() {
    let sandbox = Sandbox::new("sha1");
    sandbox.git(&["tag", "attributes"]);
    std::fs::remove_file(sandbox.top().join(".gitattributes")).unwrap();
    for name in [
        "attributes",
        "attributes^{tree}",
        "attributes:file",
        "missing",
    ] {
        for source in [
            &[][..],
            &[&*format!("--attr-source={name}")],
            &["-c", &format!("attr.tree={name}")],
        ] {
            for transform in ["--filters", "--textconv"] {
                for path in ["a.id", "a.crlf", "a.up", "file"] {
                    let path = format!("--path={path}");
                    for object in ["HEAD:file", "HEAD:", "HEAD:missing"] {
                        let arguments = [source, &["cat-file", transform, &path, object]].concat();
                        sandbox.assert_same_as_git_with_input(&arguments, b"");
                    }
                }
                let arguments = [source, &["cat-file", "--batch", transform]].concat();
                sandbox.assert_same_as_git_with_input(
                    &arguments,
                    b"HEAD: a.up\nHEAD:file a.up\nHEAD:file a.crlf\n",
                );
            }
        }
    }
}

/// git complains whether or not something converts the blob.
#[test]
fn wrong_attributes_are_complained_about() {
    let sandbox = Sandbox::new("sha1");
    let wrong = "!file text\n*.up diff=up\n[attr]y z\n* -y!\n";
    std::fs::write(sandbox.top().join(".gitattributes"), wrong).unwrap();
    for transform in ["--filters", "--textconv"] {
        for name in ["HEAD:file", "HEAD:a.up", "HEAD:dir", "HEAD"] {
            for path in [&[][..], &["--path=file"]] {
                let arguments = [&[transform], path, &[name]].concat();
                sandbox.assert_same_cat_file(&arguments, b"");
            }
        }
        let lines = b"HEAD:file file\nHEAD:a.up a.up\nHEAD: file\nHEAD:file dir/x\n";
        sandbox.assert_same_cat_file(&["--batch", transform], lines);
    }
}

/// git asks for it when it looks up the attributes of a file.
#[test]
fn a_variable_of_attributes_only_matters_to_files() {
    let mut sandbox = Sandbox::new("sha1");
    sandbox.0.set_variable("GIT_ATTR_NOSYSTEM", "x");
    for transform in ["--filters", "--textconv"] {
        for name in ["HEAD:file", "HEAD:dir", "HEAD:dir/link", "HEAD:a.up", "v1"] {
            sandbox.assert_same_cat_file(&[transform, name], b"");
            sandbox.assert_same_cat_file(&[transform, "--path=a.up", name], b"");
        }
        sandbox.assert_same_cat_file(&["--batch", transform], b"HEAD\nx\nHEAD:file file\n");
    }
}

/// git stays where it was started, and reads attributes and runs programs there.
#[test]
fn attributes_outside_of_the_working_tree_are_those_of_the_current_folder() {
    let sandbox = Sandbox::new("sha1");
    sandbox.git(&["config", "filter.p.smudge", "env | grep ^GIT_.*R; pwd; cat"]);
    sandbox.git(&["config", "diff.up.textconv", "pwd; tr a-z A-Z <"]);
    for (folder, attributes) in [
        (".", "*.up diff=up\n*.crlf text eol=crlf\n*.id filter=p\n"),
        ("dir", "*.id filter=p\n* diff=up\n"),
        ("../out/in", "*.crlf diff=up\n"),
        ("../out", "*.id filter=p\n*.crlf text eol=crlf\n[attr\n"),
    ] {
        sandbox.write(format!("{folder}/.gitattributes"), attributes);
        sandbox.write(format!("{folder}/user"), "file diff=up\n");
    }
    let (up, top) = (sandbox.top().join(".."), sandbox.top());
    let (up, top) = (up.to_str().unwrap(), top.to_str().unwrap());
    let named = format!("--git-dir={top}/.git");
    let tree = format!("--work-tree={top}");
    let name = top.rsplit('/').next().unwrap();
    let [near, near_tree] =
        ["--git-dir=", "--work-tree="].map(|option| format!("{option}../{name}"));
    let near = format!("{near}/.git");
    for (folder, options) in [
        (format!("{top}/dir"), &[&*named, &*tree][..]),
        (format!("{up}/out"), &[&named, &tree]),
        (format!("{up}/out/in"), &[&named, &tree]),
        (up.to_owned(), &[&named, &tree]),
        (format!("{up}/out"), &[&near, &near_tree]),
        (top.to_owned(), &["--work-tree=../out"]),
        (top.to_owned(), &["--work-tree=nowhere"]),
        (format!("{top}/dir"), &["--work-tree=../../out"]),
        (top.to_owned(), &["-c", "core.worktree=../../out"]),
    ] {
        let cd = ["-C", &*folder];
        for path in ["a.up", "a.crlf", "a.id", "in/a.crlf", "file", "dir/a.id"] {
            for transform in ["--filters", "--textconv"] {
                let path = format!("--path={path}");
                let asked = ["cat-file", transform, &path, "HEAD:a.up"];
                let user = ["-c", "core.attributesFile=user"];
                for settings in [&[][..], &user] {
                    let arguments = [&cd, options, settings, &asked].concat();
                    sandbox.assert_same_as_git_with_input(&arguments, b"");
                }
            }
        }
    }
}

/// git reads attributes in the index only if it has read that for a name, and those of no bare repository.
#[test]
fn attributes_come_from_the_index_once_it_is_read() {
    let sandbox = Sandbox::new("sha1");
    sandbox.write("dir/.gitattributes", "data diff=up\n");
    sandbox.write("user", "file diff=up\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["clone", "-q", "--bare", ".", "../bare"]);
    for file in [".gitattributes", "dir/.gitattributes"] {
        std::fs::remove_file(sandbox.top().join(file)).unwrap();
    }
    let top = sandbox.top().to_str().unwrap().to_owned();
    let named = format!("--git-dir={top}/.git");
    for options in [
        &[][..],
        &["-C", "dir"],
        &["-C", "..", &named],
        &["--bare", &named],
        &["-c", "core.bare=true", &named],
        &["--git-dir=../bare", "-c", "core.attributesFile=user"],
        &[
            "-C",
            "../bare/refs",
            "-c",
            "core.attributesFile=../../work/user",
        ],
    ] {
        for transform in ["--filters", "--textconv"] {
            for name in [":a.up", "HEAD:a.up", ":a.crlf", ":dir/data", "HEAD:file"] {
                let arguments = [options, &["cat-file", transform, name]].concat();
                sandbox.assert_same_as_git_with_input(&arguments, b"");
            }
            let arguments = [options, &["cat-file", "--batch", transform]].concat();
            for lines in [
                &b":a.up a.up\nHEAD:a.crlf a.crlf\n:dir/data dir/data\nHEAD:file file\n"[..],
                b"HEAD:file a.up\n:a.up a.up\nHEAD:dir/data dir/data\nHEAD:a.id x/a.id\n",
            ] {
                sandbox.assert_same_as_git_with_input(&arguments, lines);
            }
        }
    }
}

#[test]
fn wrong_command_lines_end_as_with_git() {
    let sandbox = Sandbox::new("sha1");
    let code = |program, arguments: &[&str]| {
        let arguments = [&["cat-file"], arguments].concat();
        sandbox.run(program, &arguments, b"").status.code()
    };
    for arguments in [
        &[][..],
        &["-p"],
        &["-t", "HEAD", "v1"],
        &["x"],
        &["a", "b", "c"],
        &["nothing", "HEAD"],
        &["--batch", "HEAD"],
        &["--batch", "--batch-check"],
        &["--batch", "-p"],
        &["-e", "-p", "HEAD"],
        &["--path=x", "-p", "HEAD"],
        &["--buffer", "-p", "HEAD"],
        &["--unknown"],
    ] {
        assert_eq!(
            code(VIGIL, arguments),
            code("git", arguments),
            "{arguments:?}"
        );
    }
}

/// git hands objects of any type to the command of a diff driver.
#[test]
fn objects_of_all_types_are_converted() {
    let sandbox = Sandbox::new("sha1");
    let id = sandbox.git(&["rev-parse", "v1"]);
    for name in ["HEAD", "v1", "HEAD^{tree}", "HEAD:dir", id.trim()] {
        for path in ["a.up", "file"] {
            let path = format!("--path={path}");
            sandbox.assert_same_cat_file(&["--textconv", &path, name], b"");
            sandbox.assert_same_cat_file(&["--filters", &path, name], b"");
        }
    }
    let missing = "12".repeat(20);
    sandbox.assert_same_cat_file(&["--textconv", "--path=a.up", &missing], b"");
    sandbox.assert_same_cat_file(&["--filters", "--path=a.id", &missing], b"");
}

#[test]
fn control_characters_are_not_shown() {
    let sandbox = Sandbox::new("sha1");
    let id = sandbox.git(&["rev-parse", "HEAD"]);
    let info = sandbox.top().join(".git/objects/info");
    std::fs::create_dir_all(&info).unwrap();
    std::fs::write(info.join("alternates"), "/no\rwhere\n").unwrap();
    sandbox.assert_same_cat_file(&["--batch-check"], id.as_bytes());
}

/// git changes to the top of the working tree before it looks for alternates.
#[test]
fn alternates_of_the_environment_are_relative_to_the_top() {
    let sandbox = Sandbox::new("sha1");
    sandbox.git(&["init", "-q", "../far"]);
    let id = sandbox.run(
        "git",
        &["-C", "../far", "hash-object", "-w", "--stdin"],
        b"far",
    );
    let id = String::from_utf8(id.stdout).unwrap();
    for alternate in ["../far/.git/objects", "../../../far/.git/objects"] {
        let types = [VIGIL, "git"].map(|program| {
            let arguments = ["-C", "dir/sub", "cat-file", "-t", id.trim()];
            let mut command = sandbox.command(program, "", arguments);
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternate);
            let output = command.output().unwrap();
            (output.status.code(), output.stdout)
        });
        assert_eq!(types[0], types[1], "{alternate}");
    }
}

#[test]
fn files_of_the_environment_are_relative_to_the_top() {
    let sandbox = Sandbox::new("sha1");
    sandbox.write("dir/sub/bad", "1\n");
    for (variable, command) in [
        ("GIT_SHALLOW_FILE", ["cat-file", "-p", "HEAD"]),
        ("GIT_GRAFT_FILE", ["describe", "--tags", "HEAD"]),
        ("GIT_GRAFT_FILE", ["status", "-s", "-b"]),
    ] {
        for path in ["bad", "dir/sub/bad"] {
            let answers = [VIGIL, "git"].map(|program| {
                let mut command = sandbox.command(program, "dir/sub", command);
                command.env("GIT_OPTIONAL_LOCKS", "0").env(variable, path);
                let output = command.output().unwrap();
                let errors = String::from_utf8(output.stderr).unwrap();
                // The command in the advice depends on git's version.
                let errors = errors.lines().filter(|line| !line.contains("git config"));
                let errors: Vec<String> = errors.map(str::to_owned).collect();
                (output.status.code(), output.stdout, errors)
            });
            assert_eq!(answers[0], answers[1], "{variable}={path} {command:?}");
        }
    }
}

/// git outputs the cached result of a conversion, even if the command would now produce another.
#[test]
fn cached_conversions_are_printed() {
    let sandbox = Sandbox::new("sha1");
    let path = sandbox.top().join("answer");
    std::fs::write(&path, "before\n").unwrap();
    let command = format!("cat {} #", path.display());
    sandbox.git(&["config", "diff.up.textconv", &command]);
    let both = |expected: &str| {
        let arguments = ["cat-file", "--textconv", "HEAD:a.up"];
        assert_eq!(
            sandbox.run(VIGIL, &arguments, b"").stdout,
            expected.as_bytes()
        );
        assert_eq!(sandbox.git(&arguments), expected);
    };
    both("before\n");
    sandbox.git(&["config", "diff.up.cachetextconv", "true"]);
    both("before\n");
    std::fs::write(&path, "after\n").unwrap();
    both("before\n");
    sandbox.git(&["config", "diff.up.textconv", &format!("{command} other")]);
    both("after\n");
}

/// The settings of diff drivers must be valid, whatever is asked.
#[test]
fn drivers_are_checked_before_anything_is_printed() {
    let sandbox = Sandbox::new("sha1");
    for (key, value) in [
        ("diff.up.cachetextconv", "perhaps"),
        ("diff.x.binary", "maybe"),
    ] {
        sandbox.git(&["config", key, value]);
        for arguments in [
            &["-t", "HEAD"][..],
            &["--batch"],
            &["--batch-check", "--nothing"],
        ] {
            sandbox.assert_same_cat_file(arguments, b"HEAD\n");
        }
        sandbox.git(&["config", "--unset", key]);
    }
}

#[test]
fn a_mailmap_needs_a_value_wherever_it_is_configured() {
    let sandbox = Sandbox::new("sha1");
    for key in ["mailmap.file", "mailmap.blob"] {
        for arguments in [
            &["-c", key, "cat-file", "--use-mailmap", "-p", "HEAD"][..],
            &["-c", key, "cat-file", "--use-mailmap", "--batch"],
        ] {
            sandbox.assert_same_as_git_with_input(arguments, b"HEAD\n");
        }
        let lines = format!("[mailmap]\n\t{}\n", key.trim_start_matches("mailmap."));
        sandbox.write("config", lines);
        sandbox.git(&["config", "include.path", "../config"]);
        sandbox.assert_same_cat_file(&["--use-mailmap", "-p", "HEAD"], b"");
    }
}
