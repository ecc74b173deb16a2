//! Working copies, and the programs that are compared.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Output;

use vigil_testkit::hg::sandbox::{HgSandbox, is_installed};
use vigil_testkit::hg::server::Server;
use vigil_testkit::sandbox::{default_parent, skip_test};

/// Returns the installed Mercurial programs of those in `VIGIL_TESTS_HG`, a list with colons between, or `hg`.
pub(crate) fn programs() -> Vec<PathBuf> {
    let listed = std::env::var("VIGIL_TESTS_HG").unwrap_or_else(|_| "hg".into());
    let programs = listed.split(':').map(PathBuf::from);
    let there: Vec<PathBuf> = programs.filter(|program| is_installed(program)).collect();
    if there.is_empty() {
        skip_test("a comparison with Mercurial", "Mercurial is missing");
    }
    there
}

/// A working copy in a sandbox, for Mercurial and Vigil.
pub(crate) struct Working(pub(crate) HgSandbox);

/// Whether the dirstate is of the second format.
pub(crate) const FORMATS: [bool; 2] = [false, true];

impl Working {
    pub(crate) fn new(hg: &Path, is_v2: bool) -> Self {
        Self::with(hg, &format!("[format]\nuse-dirstate-v2={is_v2}\n"))
    }

    /// One with this configuration.
    pub(crate) fn with(hg: &Path, config: &str) -> Self {
        let sandbox = HgSandbox::new(&default_parent(), hg).unwrap();
        // Some formats are slow without compiled extensions, which is refused in two ways.
        let allowed = "[storage]\nall-slow-path=allow\ndirstate-v2.slow-path=allow\n";
        let text = format!("{allowed}{config}");
        std::fs::write(sandbox.home().join("hgrc"), text).unwrap();
        let working = Self(sandbox);
        working.hg(&["init"]);
        working
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

    fn said(&self, program: &Path, is_vigil: bool, folder: &Path, arguments: &[&str]) -> Said {
        let mut command = self.0.command(program, folder);
        if is_vigil {
            command.arg("hg");
        }
        let output = command
            .args(arguments.iter().map(OsStr::new))
            .output()
            .unwrap();
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
            output.status.code(),
        )
    }

    pub(crate) fn vigil(&self, arguments: &[&str]) -> Said {
        let vigil = Path::new(env!("CARGO_BIN_EXE_vigil"));
        self.said(vigil, true, &self.0.top(), arguments)
    }

    /// Checks that Vigil and Mercurial print the same.
    pub(crate) fn same(&self, arguments: &[&str]) {
        self.same_in("", arguments);
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

    /// Checks that both print the same, with one Mercurial process for many questions.
    pub(crate) fn same_by(&self, server: &mut Server, arguments: &[&str]) {
        let said = server.run(arguments).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let expected = (text(&said.stdout), text(&said.stderr), Some(said.code));
        assert_eq!(self.vigil(arguments), expected, "{arguments:?}");
    }

    /// Checks that both print the same in a folder.
    pub(crate) fn same_in(&self, folder: &str, arguments: &[&str]) {
        let folder = self.path(folder);
        let vigil = Path::new(env!("CARGO_BIN_EXE_vigil"));
        let answer = self.said(vigil, true, &folder, arguments);
        let expected = self.said(self.0.hg_program(), false, &folder, arguments);
        let records = || {
            let all = ["debugstate", "--all"];
            self.said(self.0.hg_program(), false, &folder, &all).0
        };
        assert_eq!(answer, expected, "{arguments:?}\n{}", records());
    }
}

/// Standard output, standard error and exit code.
pub(crate) type Said = (String, String, Option<i32>);
