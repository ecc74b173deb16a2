//! `make install`, and running what it installed.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use vigil_testkit::sandbox::TextOutput;

use crate::sandbox::{Sandbox, VIGIL};

/// The command `make` at the top of the sources, without a program that could build, and with a umask that keeps others out.
fn make(sandbox: &Sandbox, target: &str, destination: &Path, prefix: &str) -> Command {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = sandbox.isolated("sh", b"");
    command
        // Nothing is built, so the compiler need not be asked for its target.
        .envs([("CARGO_BUILD_TARGET", "none"), ("RUSTFLAGS", "")])
        .args(["-c", "umask 077 && exec make \"$@\"", "make", "-s", "-C"])
        .arg(sources)
        .arg(target)
        .arg("CARGO=false")
        .arg(format!("PROGRAM={VIGIL}"))
        .arg(format!("DESTDIR={}", destination.display()))
        .arg(format!("PREFIX={prefix}"));
    command
}

fn run_make(sandbox: &Sandbox, target: &str, destination: &Path, prefix: &str) -> TextOutput {
    let mut command = make(sandbox, target, destination, prefix);
    command.output().unwrap().into()
}

/// All that is in `folder`: relative paths and modes, `None` for a symbolic link.
fn paths_and_modes(folder: &Path) -> BTreeMap<PathBuf, Option<u32>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                pending.push(path.clone());
            }
            let mode = (!metadata.is_symlink()).then(|| metadata.mode() & 0o7777);
            found.insert(path.strip_prefix(folder).unwrap().to_owned(), mode);
        }
    }
    found
}

#[test]
fn everything_is_installed_readable_for_all_and_can_be_uninstalled() {
    let sandbox = Sandbox::empty();
    let destination = sandbox.root().join("package");
    let made = run_make(&sandbox, "install", &destination, "/usr");
    assert_eq!((made.code, made.stderr.as_str()), (0, ""));
    let found = paths_and_modes(&destination);
    for (path, mode) in &found {
        let is_program = path == Path::new("usr/bin/vigil");
        let is_folder = destination.join(path).is_dir();
        let wanted = if is_program || is_folder {
            0o755
        } else {
            0o644
        };
        assert!(mode.is_none_or(|mode| mode == wanted), "{path:?} {mode:?}");
    }
    for path in [
        "bin/vigil",
        "bin/gitstatusd",
        "share/zsh/site-functions/_vigil",
        "share/bash-completion/completions/vigil",
        "share/fish/vendor_completions.d/vigil.fish",
        "share/man/man1/vigil.1",
        "share/man/man1/vigil-status.1",
        "lib/systemd/user/vigil.service",
        "lib/systemd/user/vigil.socket",
        "share/licenses/vigil/LICENSE-MIT",
    ] {
        assert!(found.contains_key(&Path::new("usr").join(path)), "{path}");
    }
    let link = std::fs::read_link(destination.join("usr/bin/gitstatusd")).unwrap();
    assert_eq!(link, Path::new("vigil"));
    let service = destination.join("usr/lib/systemd/user/vigil.service");
    let service = std::fs::read_to_string(service).unwrap();
    assert!(
        service.contains("\nExecStart=\"/usr/bin/vigil\" daemon run\n"),
        "{service}"
    );
    // Install again, over the existing files.
    assert_eq!(run_make(&sandbox, "install", &destination, "/usr").code, 0);
    assert_eq!(paths_and_modes(&destination), found);
    let gone = run_make(&sandbox, "uninstall", &destination, "/usr");
    assert_eq!((gone.code, gone.stderr.as_str()), (0, ""));
    let left = paths_and_modes(&destination);
    assert!(
        left.keys().all(|path| destination.join(path).is_dir()),
        "{left:?}"
    );
}

#[test]
fn completions_for_zsh_go_where_the_system_looks_for_them() {
    let sandbox = Sandbox::empty();
    let destination = sandbox.root().join("package");
    let folder = "share/zsh/vendor-completions";
    for (target, is_there) in [("install", true), ("uninstall", false)] {
        let mut command = make(&sandbox, target, &destination, "/usr");
        command.env("ZSH_COMPLETIONS", folder);
        assert!(command.status().unwrap().success());
        let script = destination.join("usr").join(folder).join("_vigil");
        assert_eq!(script.exists(), is_there);
    }
}

#[test]
fn what_the_program_is_made_of_is_installed_with_it() {
    let sandbox = Sandbox::empty();
    let program = sandbox.root().join("vigil");
    std::fs::copy(VIGIL, &program).unwrap();
    std::fs::write(sandbox.root().join("third-party-licences.txt"), "crates").unwrap();
    let prefix = sandbox.root().join("prefix");
    let mut command = make(&sandbox, "install", Path::new(""), prefix.to_str().unwrap());
    command.arg(format!("PROGRAM={}", program.display()));
    assert!(command.status().unwrap().success());
    let licences = prefix.join("share/licenses/vigil/third-party-licences.txt");
    assert_eq!(std::fs::read_to_string(licences).unwrap(), "crates");
}

#[test]
fn everything_works_from_where_it_is_installed() {
    let sandbox = Sandbox::empty();
    let prefix = sandbox.root().join("a prefix");
    let made = run_make(&sandbox, "install", Path::new(""), prefix.to_str().unwrap());
    assert_eq!((made.code, made.stderr.as_str()), (0, ""));
    let run = |program: &str, arguments: &[&str]| -> TextOutput {
        let mut command = sandbox.isolated(program, b"");
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}/bin:{path}", prefix.display());
        command
            .env("PREFIX", &prefix)
            .env("MANPAGER", "cat")
            .env("PATH", path);
        command.args(arguments).output().unwrap().into()
    };
    let vigil = prefix.join("bin/vigil");
    let gitstatusd = prefix.join("bin/gitstatusd");
    let version = run(vigil.to_str().unwrap(), &["--version"]);
    assert!(version.stdout.starts_with("vigil version "));
    let version = run(gitstatusd.to_str().unwrap(), &["--version"]);
    assert_eq!((version.code, version.stdout.as_str()), (0, "v1.5.5\n"));
    let page = run(vigil.to_str().unwrap(), &["help", "status"]);
    assert_eq!((page.code, page.stderr.as_str()), (0, ""));
    // This line comes from man; the plain text has none.
    assert!(
        page.stdout.trim_start().starts_with("VIGIL-STATUS(1)"),
        "{}",
        page.stdout
    );
    let bash = run(
        "bash",
        &[
            "--norc",
            "-c",
            ". \"$PREFIX/share/bash-completion/completions/vigil\"
            COMP_WORDS=(vigil wa) COMP_CWORD=1; _vigil; echo \"${COMPREPLY[@]}\"",
        ],
    );
    assert_eq!(
        (bash.stdout.as_str(), bash.stderr.as_str()),
        ("watch\n", "")
    );
    let fish = run(
        "fish",
        &[
            "--no-config",
            "-c",
            "set -p fish_complete_path $PREFIX/share/fish/vendor_completions.d
            complete -C 'vigil wa' | string replace -r '\\t.*' ''",
        ],
    );
    assert_eq!(
        (fish.stdout.as_str(), fish.stderr.as_str()),
        ("watch\n", "")
    );
    let zsh = run(
        "zsh",
        &[
            "-f",
            "-c",
            "fpath=($PREFIX/share/zsh/site-functions $fpath)
            autoload -Uz compinit && compinit -u -D && print $_comps[vigil]",
        ],
    );
    assert_eq!((zsh.stdout.as_str(), zsh.stderr.as_str()), ("_vigil\n", ""));
}

#[test]
fn another_gitstatusd_is_left_alone() {
    let sandbox = Sandbox::empty();
    let prefix = sandbox.root().join("prefix");
    let bin = prefix.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let other = bin.join("gitstatusd");
    for is_link in [false, true] {
        let _ = std::fs::remove_file(&other);
        match is_link {
            true => symlink("/bin/true", &other).unwrap(),
            false => std::fs::write(&other, "another").unwrap(),
        }
        let before = other.symlink_metadata().unwrap();
        let prefix = prefix.to_str().unwrap();
        let made = run_make(&sandbox, "install", Path::new(""), prefix);
        assert_eq!(made.code, 0);
        assert!(
            made.stderr.starts_with("left as it is: "),
            "{}",
            made.stderr
        );
        assert_eq!(
            run_make(&sandbox, "uninstall", Path::new(""), prefix).code,
            0
        );
        assert_eq!(other.symlink_metadata().unwrap().ino(), before.ino());
    }
}

#[test]
fn an_odd_prefix_is_quoted_for_systemd_and_one_that_is_not_absolute_refused() {
    let sandbox = Sandbox::empty();
    let prefix = sandbox.root().join("50%\"\\");
    let made = run_make(&sandbox, "install", Path::new(""), prefix.to_str().unwrap());
    assert_eq!((made.code, made.stderr.as_str()), (0, ""));
    let service = std::fs::read_to_string(prefix.join("lib/systemd/user/vigil.service")).unwrap();
    let quoted = format!(
        "ExecStart=\"{}/50%%\\\"\\\\/bin/vigil\" daemon run\n",
        sandbox.root().display()
    );
    assert!(service.contains(&quoted), "{service}");
    let refused = run_make(&sandbox, "install", Path::new(""), "relative");
    assert_ne!(refused.code, 0);
    assert!(
        refused
            .stderr
            .starts_with("PREFIX is not an absolute path: relative\n")
    );
    let mode = prefix.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}
