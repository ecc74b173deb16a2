//! Sparse checkouts (git-sparse-checkout(1)): which paths should be in the working tree.
//!
//! `git status` does not look that up for each path: the skip-worktree bit of an index entry says that it is left
//! out. Status needs three things from this module:
//!
//! - If `core.sparseCheckout` is on and `sparse.expectFilesOutsideOfPatterns` is off, the bit is cleared in memory
//!   for entries whose path exists after all; [`AbsentPaths`] finds them with few system calls. If a sparse
//!   directory exists, the index is expanded first, and everything is checked again.
//! - The long format shows [`percent_present`], unless the index is sparse.
//! - If `index.sparse` is set, git collapses a full index in memory, but only if [`SparseCheckout::is_cone`]; then
//!   the long format shows no percentage. Reading the rules also prints warnings.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

use super::ignore::{GlobalSources, IgnoreRules, Line, lines};
use vigil_model::wildmatch::is_special;

/// The rules in `$GIT_DIR/info/sparse-checkout`. Without that file every path is in the checkout.
#[derive(Debug)]
pub struct SparseCheckout {
    rules: Rules,
    ignore_case: bool,
    warnings: Vec<BString>,
}

#[derive(Debug)]
enum Rules {
    Cone(Cone),
    Patterns(Arc<IgnoreRules>),
}

/// Whole directories, and how often each is named. The keys are paths with a leading slash, in lower case if case
/// is ignored.
#[derive(Debug, Default)]
struct Cone {
    is_full: bool,
    /// Directories that are included with everything below them.
    recursive: HashMap<Vec<u8>, usize>,
    /// Directories of which only the files are included.
    parents: HashMap<Vec<u8>, usize>,
}

impl SparseCheckout {
    /// Parses the file's `contents`: as a cone of directories if `cone` is set (`core.sparseCheckoutCone`) and all
    /// rules are of that kind, otherwise as patterns in the format of gitignore(5).
    pub fn parse(contents: &[u8], cone: bool, ignore_case: bool) -> Self {
        let mut warnings = Vec::new();
        let rules = match cone.then(|| Cone::parse(contents, ignore_case)) {
            Some(Ok(cone)) => Rules::Cone(cone),
            not_cone => {
                if let Some(Err(warning)) = not_cone {
                    warnings = vec![warning, "disabling cone pattern matching".into()];
                }
                Rules::Patterns(IgnoreRules::root(GlobalSources {
                    excludes_file: None,
                    info_exclude: Some((Path::new("info/sparse-checkout"), contents)),
                    ignore_case,
                }))
            }
        };
        Self {
            rules,
            ignore_case,
            warnings,
        }
    }

    /// Whether the rules are a cone of directories.
    pub fn is_cone(&self) -> bool {
        matches!(self.rules, Rules::Cone(_))
    }

    /// git's warnings on reading the rules, without "warning: ".
    pub fn warnings(&self) -> &[BString] {
        &self.warnings
    }

    /// Whether the file `path` is in the checkout. For a path with a trailing slash, whether the files of that
    /// directory are; this is known only of a cone.
    pub fn in_checkout(&self, path: &BStr) -> bool {
        if path.is_empty() {
            return true;
        }
        match &self.rules {
            Rules::Cone(cone) => cone.contains(path, self.ignore_case),
            Rules::Patterns(rules) => {
                let mut path = path;
                let mut is_dir = false;
                loop {
                    if let Some(rule) = rules.matching(path, is_dir) {
                        return !rule.is_negated;
                    }
                    // No rule matches: the path is treated like its directory.
                    let Some((parent, _)) = path.rsplit_once_str("/") else {
                        return false;
                    };
                    (path, is_dir) = (parent.as_bstr(), true);
                }
            }
        }
    }
}

impl Cone {
    /// Parses a cone. The error is git's warning about the first rule that is not part of one.
    fn parse(contents: &[u8], ignore_case: bool) -> Result<Self, BString> {
        let mut cone = Self::default();
        for line in lines(contents) {
            cone.add(&line, ignore_case).map_err(|(before, after)| {
                BString::from([before.as_bytes(), line.pattern, after.as_bytes()].concat())
            })?;
        }
        Ok(cone)
    }

    fn add(
        &mut self,
        line: &Line<'_>,
        ignore_case: bool,
    ) -> Result<(), (&'static str, &'static str)> {
        const UNKNOWN: (&str, &str) = ("unrecognized pattern: '", "'");
        const UNKNOWN_NEGATIVE: (&str, &str) = ("unrecognized negative pattern: '", "'");
        const REPEATED: (&str, &str) = (
            "your sparse-checkout file may have issues: pattern '",
            "' is repeated",
        );
        let pattern = line.pattern;
        if pattern == b"/*" && line.is_negated == line.only_directories {
            self.is_full = !line.is_negated;
            return Ok(());
        }
        let may_be_directory = line.only_directories || pattern == b"/*";
        if pattern.len() < 2
            || !pattern.starts_with(b"/")
            || pattern.contains_str("**")
            || !may_be_directory
            || !has_only_escaped_globs(pattern)
        {
            return Err(UNKNOWN);
        }
        let directory = key(&directory_of(pattern), ignore_case);
        if pattern.len() > 2 && pattern.ends_with(b"/*") {
            if !line.is_negated {
                return Err(UNKNOWN);
            }
            let Some(count) = self.recursive.get_mut(&directory) else {
                return Err(UNKNOWN_NEGATIVE);
            };
            *count -= 1;
            if *count == 0 {
                self.recursive.remove(&directory);
            }
            *self.parents.entry(directory).or_default() += 1;
            return Ok(());
        }
        if line.is_negated {
            return Err(UNKNOWN_NEGATIVE);
        }
        if self.parents.contains_key(&directory) {
            return Err(REPEATED);
        }
        *self.recursive.entry(directory).or_default() += 1;
        Ok(())
    }

    fn contains(&self, path: &BStr, ignore_case: bool) -> bool {
        if self.is_full {
            return true;
        }
        let path = key(&[b"/", path.as_bytes()].concat(), ignore_case);
        if self.recursive.contains_key(&path) {
            return true;
        }
        let mut directory: &[u8] = match path.rfind_byte(b'/') {
            // All files at the top are included.
            Some(0) | None => return true,
            Some(slash) => path.get(..slash).unwrap_or_default(),
        };
        if self.parents.contains_key(directory) {
            return true;
        }
        while !directory.is_empty() {
            if self.recursive.contains_key(directory) {
                return true;
            }
            let slash = directory.rfind_byte(b'/').unwrap_or(0);
            directory = directory.get(..slash).unwrap_or_default();
        }
        false
    }
}

fn key(path: &[u8], ignore_case: bool) -> Vec<u8> {
    match ignore_case {
        true => path.to_ascii_lowercase(),
        false => path.to_vec(),
    }
}

/// Whether `pattern` has no special byte after its first, except one after a backslash, a backslash before one, and
/// a star at the end after a slash.
fn has_only_escaped_globs(pattern: &[u8]) -> bool {
    let byte = |at: usize| pattern.get(at).copied().unwrap_or(0);
    (1..pattern.len()).all(|at| {
        !is_special(byte(at))
            || byte(at - 1) == b'\\'
            || (byte(at) == b'\\' && is_special(byte(at + 1)))
            || (byte(at) == b'*' && byte(at - 1) == b'/' && at + 1 == pattern.len())
    })
}

/// Returns the directory that `pattern` names. Backslashes are removed first and then a trailing `/*`; as in git,
/// this takes the last component off `/a/\*` too.
fn directory_of(pattern: &[u8]) -> Vec<u8> {
    let mut directory = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.iter();
    while let Some(&byte) = bytes.next() {
        let literal = match byte {
            b'\\' => bytes.next().copied(),
            _ => Some(byte),
        };
        directory.extend(literal);
    }
    if directory.len() > 2 && directory.ends_with(b"/*") {
        directory.truncate(directory.len() - 2);
    }
    directory
}

/// Returns the percentage of an index's `entries` that are present if `skipped` of them have the skip-worktree bit,
/// rounded as git does; `None` without entries.
pub fn percent_present(entries: usize, skipped: usize) -> Option<usize> {
    let absent = skipped.checked_mul(100)?.checked_div(entries)?;
    100usize.checked_sub(absent)
}

/// Finds out which paths are absent from the working tree. If it is asked in the order of the index, it needs no
/// system call for each file of an absent directory.
#[derive(Debug, Default)]
pub struct AbsentPaths {
    /// An absent directory in a directory that is present, with trailing slash; or empty.
    directory: BString,
}

impl AbsentPaths {
    /// Whether `path` is absent. `is_present` tells whether anything exists at a path (by `lstat`). The path of a
    /// sparse directory ends in `/`.
    pub fn is_absent(&mut self, path: &BStr, mut is_present: impl FnMut(&BStr) -> bool) -> bool {
        if !self.directory.is_empty() && path.starts_with(&self.directory) {
            return true;
        }
        if is_present(path) {
            return false;
        }
        let shared = path
            .iter()
            .zip(self.directory.iter())
            .take_while(|(left, right)| left == right)
            .count();
        let known = path.get(..shared).unwrap_or_default();
        let mut end = known.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        while let Some((above, rest)) = path.split_at_checked(end) {
            let Some(slash) = rest.find_byte(b'/') else {
                break;
            };
            end = above.len() + slash + 1;
            let directory = path.get(..end).unwrap_or_default().as_bstr();
            if !is_present(directory) {
                self.directory = directory.to_owned();
                return true;
            }
        }
        self.directory = [path.as_bytes(), b"/"].concat().into();
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bstr::{BStr, ByteSlice};

    use super::{AbsentPaths, SparseCheckout, percent_present};
    use vigil_testkit::chance::Chance;
    use vigil_testkit::sandbox::Sandbox;

    #[test]
    fn a_percentage_is_that_of_git() {
        assert_eq!(percent_present(0, 0), None);
        assert_eq!(percent_present(3, 1), Some(67));
        assert_eq!(percent_present(3, 3), Some(0));
        assert_eq!(percent_present(200, 1), Some(100));
    }

    #[test]
    fn an_absent_directory_is_asked_for_once() {
        let present = ["a", "a/", "a/b/", "a/b/x", "z"];
        let mut asked = Vec::new();
        let mut paths = AbsentPaths::default();
        let mut is_absent = |path: &str| {
            paths.is_absent(path.into(), |asked_path| {
                asked.push(asked_path.to_string());
                present.iter().any(|present| asked_path == *present)
            })
        };
        assert!(!is_absent("a/b/x"));
        assert!(is_absent("a/c/d/e"));
        assert!(is_absent("a/c/d/f"));
        assert!(is_absent("a/c/g"));
        assert!(is_absent("b/c"));
        assert!(is_absent("b/d/e"));
        assert!(is_absent("c"));
        assert!(!is_absent("z"));
        assert_eq!(
            asked,
            ["a/b/x", "a/c/d/e", "a/", "a/c/", "b/c", "b/", "c", "z"]
        );
    }

    const NAMES: &[&str] = &["a", "b", "A", "ab", "*", "a\\", "c.x"];

    fn rules(chance: &mut Chance) -> String {
        const DIRS: &[&str] = &[
            "/a/", "/b/", "/a/b/", "/ab/a/", "/\\*/", "/a\\\\/", "/a/\\*/", "/A/",
        ];
        const OTHERS: &[&str] = &[
            "/*", "!/*/", "/a/*", "!/a/", "a/", "*.x", "!*.x", "/a", "/**/b/", "/a?/", "/a/[b]/",
            "#", "", "!/b/*/", "!/*", "/*/", "/\\a/", "/a*/", "/ab\\/", "b/a/",
        ];
        let is_proper = chance.below(3) > 0;
        let mut rules = String::new();
        if is_proper || chance.below(2) == 0 {
            rules += "/*\n!/*/\n";
        }
        for _ in 0..chance.below(5) {
            let dir = chance.pick(DIRS);
            rules += &format!("{dir}\n");
            if chance.below(2) == 0 {
                rules += &format!("!{dir}*/\n");
            }
            if !is_proper && chance.below(2) == 0 {
                rules += &format!("{}\n", chance.pick(OTHERS));
            }
        }
        rules
    }

    #[test]
    fn verdicts_are_those_of_git() {
        let mut chance = Chance::new(5);
        let sandbox = Sandbox::new();
        sandbox.git(["config", "core.sparseCheckout", "true"]);
        let paths: BTreeSet<String> = (0..200)
            .map(|_| {
                let names: Vec<_> = (0..1 + chance.below(4))
                    .map(|_| chance.pick(NAMES))
                    .collect();
                names.join("/")
            })
            .collect();
        let input = paths.iter().fold(Vec::new(), |mut input, path| {
            input.extend_from_slice(path.as_bytes());
            input.push(0);
            input
        });
        let mut cones = 0;
        for round in 0..160 {
            let rules = rules(&mut chance);
            sandbox.write(".git/info/sparse-checkout", &rules);
            let (cone, ignore_case) = (round % 3 != 0, round % 5 == 0);
            let options = [
                format!("core.sparseCheckoutCone={cone}"),
                format!("core.ignoreCase={ignore_case}"),
            ];
            let arguments = [
                "-c",
                &options[0],
                "-c",
                &options[1],
                "sparse-checkout",
                "check-rules",
                "-z",
            ];
            let output = sandbox.output("", arguments, &input);
            let expected: BTreeSet<&BStr> = output
                .stdout
                .split(|&byte| byte == 0)
                .filter(|path| !path.is_empty())
                .map(ByteSlice::as_bstr)
                .collect();
            let sparse = SparseCheckout::parse(rules.as_bytes(), cone, ignore_case);
            cones += usize::from(sparse.is_cone());
            let found: BTreeSet<&BStr> = paths
                .iter()
                .map(|path| BStr::new(path.as_str()))
                .filter(|path| sparse.in_checkout(path))
                .collect();
            assert_eq!(found, expected, "{rules} {options:?}");
            let warnings: Vec<_> = output.stderr.lines().collect();
            let ours: Vec<_> = sparse
                .warnings()
                .iter()
                .map(|warning| format!("warning: {warning}").into_bytes())
                .collect();
            assert_eq!(ours, warnings, "{rules} {options:?}");
        }
        assert!((40..100).contains(&cones), "too tame: {cones}");
    }
}
