//! Random parts of a repository: of a sparse working copy, and of a narrow clone.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::operations::Player;
use super::server::Server;

/// A profile that others may name.
const PROFILE: &str = "prof";
/// A profile that [`PROFILE`] may name. If two were missing, the order of the warnings would be unknown.
const INNER_PROFILE: &str = "d/prof";

impl Player<'_> {
    /// Changes which files a sparse working copy has.
    pub(super) fn sparse(&mut self, server: &mut Server) -> io::Result<()> {
        let hg = |player: &mut Self, server: &mut Server, words: &[&str]| {
            let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            let output = server.run(&words)?;
            let shown: Vec<_> = words
                .iter()
                .map(|word| String::from_utf8_lossy(word))
                .collect();
            player.log_operation(format!("hg {shown:?} = {}", output.code));
            Ok::<(), io::Error>(())
        };
        const PATTERNS: [&str; 12] = [
            "d",
            "d/**",
            "*.c",
            "path:d/e",
            "path:d",
            "a",
            "re:.*\\.o$",
            "rootfilesin:d",
            "out",
            "**.c",
            "path:a",
            "relglob:b",
        ];
        let pattern = self.rng.pick(&PATTERNS);
        match self.rng.below(12) {
            0..3 => hg(self, server, &["debugsparse", "-f", "--include", pattern]),
            3..5 => hg(self, server, &["debugsparse", "-f", "--exclude", pattern]),
            5 => hg(self, server, &["debugsparse", "-f", "--delete", pattern]),
            6 => hg(self, server, &["debugsparse", "-f", "--reset"]),
            7 => hg(
                self,
                server,
                &["debugsparse", "-f", "--enable-profile", PROFILE],
            ),
            8 | 9 => {
                let file = self.rng.pick(&[PROFILE, PROFILE, INNER_PROFILE]);
                let text = self.text_of_sparse(file == PROFILE, INNER_PROFILE);
                self.log_operation(format!("profile {file}: {text:?}"));
                let place = self.top.join(file);
                let _ = fs::create_dir_all(place.parent().unwrap_or(self.top));
                let _ = fs::write(place, text);
                hg(self, server, &["add", file])?;
                hg(self, server, &["commit", "-m", "p", "-d", "0 0", file])
            }
            10 => {
                let text = self.text_of_sparse(true, PROFILE);
                self.log_operation(format!("sparse {text:?}"));
                let _ = fs::write(self.top.join(".hg/sparse"), text);
                Ok(())
            }
            _ => {
                let text = self
                    .rng
                    .pick(&["a", "d/a\nb.c", "d", "", "d/e\n", "./a\n.hidden"]);
                self.log_operation(format!("tempsparse {text:?}"));
                let _ = fs::write(self.top.join(".hg/tempsparse"), text);
                Ok(())
            }
        }
    }

    fn text_of_sparse(&mut self, may_include: bool, profile: &str) -> String {
        const LINES: [&str; 16] = [
            "[include]",
            "[include]",
            "[exclude]",
            "d",
            "  *.c \r",
            "path:d/e",
            "path:out",
            "glob:d/*",
            "re:d/[Aa]",
            "/a",
            "# comment",
            "",
            "rootfilesin:.",
            "[exclude]",
            "re:(",
            "../x",
        ];
        let mut lines: Vec<&str> = Vec::new();
        if may_include && self.rng.chance(40) {
            lines.push("%include ");
        }
        if self.rng.chance(90) {
            lines.push(self.rng.pick(&["[include]", "[include]", "[exclude]"]));
        }
        for _ in 0..self.rng.below(6) {
            lines.push(self.rng.pick_early(&LINES));
        }
        let mut text = lines.join("\n");
        if may_include {
            text = text.replace("%include ", &format!("%include {profile}"));
        }
        text
    }

    /// Changes which files a narrow clone has, though the files stay as they are.
    pub(super) fn narrow(&mut self) -> io::Result<()> {
        const LINES: [&str; 18] = [
            "path:d",
            "path:d/e",
            "[exclude]",
            "path:d/e/f",
            "path:out",
            "path:a",
            "path:.",
            "path:",
            "rootfilesin:d",
            "rootfilesin:.",
            "path:.hgignore",
            "path:nowhere",
            "/d",
            "# comment",
            "path:o.d/x y",
            "path:d/",
            "glob:d",
            "%include x",
        ];
        // Versions before 7 treat nested paths differently, unless there is a pattern of this kind.
        let mut text = String::from(match self.is_old {
            true => "[include]\nrootfilesin:d\n",
            false => self
                .rng
                .pick(&["[include]\n", "[include]\n", "[exclude]\n", ""]),
        });
        for _ in 0..self.rng.below(6) {
            let line: &str = self.rng.pick_early(&LINES);
            // Those versions warn of such a line once, not for each of the two files.
            if !self.is_old || !line.starts_with('/') {
                text.push_str(line);
                text.push('\n');
            }
        }
        self.log_operation(format!("narrowspec {text:?}"));
        let is_stale = !self.is_old && self.rng.chance(10);
        fs::write(self.store().join("narrowspec"), &text)?;
        if !is_stale {
            fs::write(self.top.join(".hg/narrowspec.dirstate"), &text)?;
        }
        Ok(())
    }

    fn store(&self) -> PathBuf {
        let store = self.top.join(".hg/store");
        match store.exists() {
            true => store,
            false => self.top.join(".hg"),
        }
    }

    /// Turns the repository into a narrow one that has everything.
    pub(super) fn start_narrow(&mut self) -> io::Result<()> {
        let stored = self.store().join("requires");
        let requires = match stored.exists() {
            true => stored,
            false => self.top.join(".hg/requires"),
        };
        let text = fs::read_to_string(&requires)?;
        fs::write(&requires, text + "narrowhg-experimental\n")?;
        let own = self.top.join(".hg/narrowspec.dirstate");
        for file in [self.store().join("narrowspec"), own] {
            fs::write(file, "[include]\npath:.\n")?;
        }
        Ok(())
    }
}
