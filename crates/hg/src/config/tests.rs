use std::os::unix::fs::PermissionsExt;

use vigil_testkit::sandbox::skip_test;

use super::*;
use vigil_stamp::paths::bytes_of;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn read(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Result<Configuration, Abort> {
        let rc = self.0.path().join("hgrc");
        let variable = |name: &str| {
            if name == "HGRCPATH" {
                return Some(bytes_of(&rc).into());
            }
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| BString::from(*value))
        };
        let process = ProcessContext {
            variable: &variable,
            cwd: self.0.path().into(),
            started_in: self.0.path().into(),
            uid: rustix::process::geteuid().as_raw(),
        };
        let arguments: Vec<BString> = arguments.iter().map(|text| BString::from(*text)).collect();
        let files = RepositoryFiles {
            files: vec![self.0.path().join("repo")],
            first_is_late: false,
        };
        Layers::of_user(&process, &arguments)?.with_repository(|| Ok(files))
    }

    fn get(&self, section: &str, name: &str) -> Option<String> {
        let read = self.read(&[("HOME", "/home/me"), ("NAME", "inc")], &[]);
        let value = read.unwrap().config;
        value.get(section, name).map(ToString::to_string)
    }
}

#[test]
fn items_go_on_over_lines_and_are_taken_back() {
    let folder = Folder::new(&[(
        "hgrc",
        "\u{feff}# c\n[a]\nx = 1\n  2\n; c\n  3\n\ny=\n[b c]rest\nz z = = \n[a]\n%unset y\nw: no = 5\n",
    )]);
    assert_eq!(folder.get("a", "x").unwrap(), "1\n2\n3");
    assert_eq!(folder.get("a", "y"), None);
    assert_eq!(folder.get("b c", "z z").unwrap(), "=");
    assert_eq!(folder.get("a", "w: no").unwrap(), "5");
}

#[test]
fn files_are_included_and_layers_win() {
    let folder = Folder::new(&[
        (
            "hgrc",
            "[a]\nx=user\ny=user\n%include sub/$NAME\n%include missing\n",
        ),
        ("sub/inc", "%include more\n[a]\nz=included\n"),
        ("sub/more", "[a]\nz=less\nm=more\n"),
        ("repo", "[a]\nx=repository\n%unset y\n"),
    ]);
    for (name, expected) in [
        ("x", Some("repository")),
        ("y", None),
        ("z", Some("included")),
        ("m", Some("more")),
    ] {
        assert_eq!(folder.get("a", name).as_deref(), expected, "{name}");
    }
    let config = folder
        .read(&[], &["a.x=option", "a.y = also "])
        .unwrap()
        .config;
    assert_eq!(config.get("a", "x").unwrap(), "option");
    assert_eq!(config.get("a", "y").unwrap(), "also");
}

#[test]
fn malformed_configuration_is_reported_with_its_line() {
    let folder = Folder::new(&[("hgrc", "[a]\nnonsense\n")]);
    let error = folder.read(&[], &[]).unwrap_err();
    assert!(error.message.ends_with(b"/hgrc:2: nonsense"), "{error}");
    let folder = Folder::new(&[("hgrc", "%include hgrc\n")]);
    let error = folder.read(&[], &[]).unwrap_err();
    assert!(error.message.ends_with(b"(too many includes)"), "{error}");
    let folder = Folder::new(&[]);
    for argument in ["x", "x=y", ".a=b", "a.=b"] {
        assert!(folder.read(&[], &[argument]).is_err(), "{argument}");
    }
}

#[test]
fn hgplain_ignores_personal_settings() {
    let folder = Folder::new(&[(
        "hgrc",
        "[ui]\nquiet=1\nslash=1\nignore=f\n[alias]\na=b\n[commands]\nc=d\n",
    )]);
    let has = |variables: &[(&str, &str)], section, name| {
        folder
            .read(variables, &[])
            .unwrap()
            .config
            .has(section, name)
    };
    for (variables, quiet, alias) in [
        (&[][..], true, true),
        (&[("HGPLAIN", "")][..], false, false),
        (
            &[("HGPLAIN", "1"), ("HGPLAINEXCEPT", "alias")][..],
            false,
            true,
        ),
    ] {
        assert_eq!(has(variables, "ui", "quiet"), quiet);
        assert_eq!(has(variables, "alias", "a"), alias);
        assert_eq!(has(variables, "commands", "c"), quiet);
        assert!(has(variables, "ui", "ignore"));
    }
    let config = folder
        .read(&[("HGPLAIN", "1")], &["ui.quiet=1"])
        .unwrap()
        .config;
    assert!(config.has("ui", "quiet"), "the command line is heard");
}

#[test]
fn a_file_of_another_owner_is_not_read() {
    let folder = Folder::new(&[("repo", "[a]\nx=1\n")]);
    let path = folder.0.path().join("repo");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let owner = rustix::process::geteuid();
    if !owner.is_root() || std::os::unix::fs::chown(&path, Some(12345), None).is_err() {
        return skip_test("a file of another owner", "only root may give files away");
    }
    let read = folder.read(&[], &[]).unwrap();
    assert!(!read.config.has("a", "x"));
    let output = read.warnings.first().unwrap().to_string();
    assert!(
        output.contains("not trusting file") && output.contains("user 12345"),
        "{output}"
    );
    let read = folder.read(&[], &["trusted.users=12345"]).unwrap();
    assert!(read.config.has("a", "x"));
}

#[test]
fn a_variable_that_is_set_again_moves_to_the_end() {
    let mut config = Config::default();
    for (name, value) in [("a", "1"), ("b", "2"), ("c", "3"), ("a", "4")] {
        config.set("s", name, value, "here");
        config.set("other", name, value, "here");
    }
    let names = |config: &Config| {
        let items = config.section("s").map(|item| item.name.to_string());
        items.collect::<Vec<_>>().concat()
    };
    assert_eq!(names(&config), "bca");
    assert_eq!(config.get("s", "a").unwrap(), "4");
    let mut above = Config::default();
    above.set("s", "b", "5", "there");
    above.unset(b"s", b"c");
    config.update(&above);
    assert_eq!(names(&config), "ab");
    config.drop_each(|section, name| section == "s" && name == "a");
    assert_eq!(
        (names(&config).as_str(), config.has("s", "a")),
        ("b", false)
    );
    assert!(config.has("other", "a"));
    config.set("s", "a", "6", "here");
    assert_eq!(names(&config), "ba");
}

#[test]
fn mercurial_is_installed_above_the_folder_of_its_program() {
    let folder = Folder::new(&[
        ("no/bin/hg/x", ""),
        ("no/sbin/hg", ""),
        ("a/bin/hg", ""),
        ("hg", ""),
    ]);
    let top = folder.0.path().canonicalize().unwrap();
    for name in ["a/bin/hg", "hg"] {
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(top.join(name), runs).unwrap();
    }
    let shown = top.display();
    for (path, cwd, expected) in [
        (Some(format!("{shown}/no/bin:{shown}/no/sbin")), "", None),
        (
            Some(format!("/nope:{shown}/no/sbin:{shown}/a//bin/:{shown}")),
            "",
            Some(top.join("a")),
        ),
        (Some("bin".into()), "a", Some("".into())),
        (Some("a/bin".into()), "", Some("a".into())),
        (Some("/nope:".into()), "", Some("".into())),
        (Some("/nope:.".into()), "", Some("".into())),
        (Some("".into()), "a", None),
        (None, "", None),
    ] {
        let process = ProcessContext {
            variable: &|_| path.as_deref().map(BString::from),
            cwd: top.join(cwd),
            started_in: top.join(cwd),
            uid: 0,
        };
        assert_eq!(process.installation(), expected, "{path:?}");
    }
}
