//! Working copies, and the programs that are compared.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use vigil_testkit::hg::sandbox::{HgSandbox, is_installed};
use vigil_testkit::hg::server::Server;
use vigil_testkit::privileges::without_privileges;
use vigil_testkit::sandbox::{default_parent, skip_test};

/// The installed Mercurial programs of those in `VIGIL_TESTS_HG`, a list with colons between, or `hg`.
static INSTALLED: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let listed = std::env::var("VIGIL_TESTS_HG").unwrap_or_else(|_| "hg".into());
    let programs = listed.split(':').map(PathBuf::from);
    programs.filter(|program| is_installed(program)).collect()
});

/// Returns the Mercurial programs that Vigil is compared with.
pub(crate) fn hg_programs() -> Vec<PathBuf> {
    if INSTALLED.is_empty() {
        skip_test("a comparison with Mercurial", "Mercurial is missing");
    }
    INSTALLED.clone()
}

/// A working copy in a sandbox, for Mercurial and Vigil.
pub(crate) struct WorkingCopy(pub(crate) HgSandbox);

/// Whether the dirstate is of the second format.
pub(crate) const IS_DIRSTATE_V2: [bool; 2] = [false, true];

impl WorkingCopy {
    pub(crate) fn new(hg: &Path, is_v2: bool) -> Self {
        Self::with_config(hg, &format!("[format]\nuse-dirstate-v2={is_v2}\n"))
    }

    /// Makes a working copy with this configuration.
    pub(crate) fn with_config(hg: &Path, config: &str) -> Self {
        let working = Self(HgSandbox::new(&default_parent(), hg).unwrap());
        working.write_config(config);
        working.hg(&["init"]);
        working
    }

    /// Replaces the user's configuration.
    pub(crate) fn write_config(&self, config: &str) {
        // Some formats are slow without compiled extensions, which is refused in two ways.
        let allowed = "[storage]\nall-slow-path=allow\ndirstate-v2.slow-path=allow\n";
        let text = format!("{allowed}{config}");
        std::fs::write(self.home().join("hgrc"), text).unwrap();
    }

    /// The user's home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.0.home()
    }

    pub(crate) fn hg(&self, arguments: &[&str]) -> Output {
        let output = self.0.hg(arguments).unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.top().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) {
        self.hg(&["commit", "-q", "-A", "-m", message, "-d", "0 0"]);
    }

    fn hg_in(&self, folder: &Path, arguments: &[&str]) -> ProgramOutput {
        texts_of(&self.0.hg_in(folder, arguments).unwrap())
    }

    pub(crate) fn vigil(&self, arguments: &[&str]) -> ProgramOutput {
        texts_of(&self.vigil_command(arguments).output().unwrap())
    }

    /// The command for `vigil hg`, from the top. Not started yet.
    pub(crate) fn vigil_command(&self, arguments: &[&str]) -> Command {
        self.vigil_command_in(&self.0.top(), arguments)
    }

    fn vigil_command_in(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.0.command(env!("CARGO_BIN_EXE_vigil"), folder);
        command.arg("hg").args(arguments);
        command
    }

    /// Runs one of Vigil's own commands in a folder of the working copy, without the daemon.
    pub(crate) fn run_vigil(&self, folder: &str, arguments: &[&str]) -> Output {
        let vigil = env!("CARGO_BIN_EXE_vigil");
        let mut command = self.0.command(vigil, &self.path(folder));
        command.args(arguments).env("VIGIL_NO_DAEMON", "1");
        command.output().unwrap()
    }

    /// Asserts that Vigil and Mercurial print the same.
    #[track_caller]
    pub(crate) fn assert_same_as_hg(&self, arguments: &[&str]) {
        self.assert_same_as_hg_in("", arguments);
    }

    /// Returns whether this is Mercurial 7 or newer.
    pub(crate) fn is_from_version_7(&self) -> bool {
        let version = self.hg(&["version", "-q", "-T", "{ver}"]).stdout;
        let version = String::from_utf8(version).unwrap();
        let major = version.split('.').next().unwrap();
        major.parse::<u32>().unwrap() >= 7
    }

    /// Starts a Mercurial process that answers questions from the top.
    pub(crate) fn server(&self) -> Server {
        Server::start(&self.0).unwrap()
    }

    /// Does the same, with one Mercurial process for many questions.
    #[track_caller]
    pub(crate) fn assert_same_as_hg_server(&self, server: &mut Server, arguments: &[&str]) {
        let output = server.run(arguments).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let expected = (
            text(&output.stdout),
            text(&output.stderr),
            Some(output.code),
        );
        assert_eq!(self.vigil(arguments), expected, "{arguments:?}");
    }

    /// Asserts that Vigil and Mercurial print the same in a folder, for a user who may not do what permissions forbid, while the
    /// file or folder `name` has this mode.
    #[track_caller]
    pub(crate) fn assert_same_with_mode(
        &self,
        (name, mode): (&str, u32),
        folder: &str,
        arguments: &[&[&str]],
    ) {
        let Some(beginning) = without_privileges() else {
            return;
        };
        let (path, folder) = (self.path(name), self.path(folder));
        let before = std::fs::metadata(&path).unwrap().permissions();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let answer = |arguments: &[&str]| {
            let vigil = [env!("CARGO_BIN_EXE_vigil"), "hg"];
            let all = [beginning, &vigil, arguments].concat();
            let mut command = self.0.command(all[0], &folder);
            texts_of(&command.args(&all[1..]).output().unwrap())
        };
        let expected = |arguments: &[&str]| {
            let output = self.0.hg_begun_with(beginning, &folder, arguments);
            texts_of(&output.unwrap())
        };
        let answers = arguments
            .iter()
            .map(|&arguments| (arguments, answer(arguments), expected(arguments)));
        let answers: Vec<_> = answers.collect();
        std::fs::set_permissions(&path, before).unwrap();
        for (arguments, answer, expected) in answers {
            assert_eq!(answer, expected, "{name} {mode:o} {arguments:?}");
        }
    }

    /// Does the same in a folder.
    #[track_caller]
    pub(crate) fn assert_same_as_hg_in(&self, folder: &str, arguments: &[&str]) {
        let folder = self.path(folder);
        let answer = self.vigil_command_in(&folder, arguments).output().unwrap();
        let answer = texts_of(&answer);
        let expected = self.hg_in(&folder, arguments);
        let records = || self.hg_in(&folder, &["debugstate", "--all"]).0;
        assert_eq!(answer, expected, "{arguments:?}\n{}", records());
    }
}

pub(crate) fn texts_of(output: &Output) -> ProgramOutput {
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.status.code(),
    )
}

/// Standard output, standard error and exit code.
pub(crate) type ProgramOutput = (String, String, Option<i32>);
