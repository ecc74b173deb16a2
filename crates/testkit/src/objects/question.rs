//! Questions about objects.

use super::repositories::SoundRepository;
use crate::random::rng::Rng;
use crate::shell;

/// A call of `cat-file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatFileCall {
    /// The arguments after `cat-file`.
    pub arguments: Vec<String>,
    /// The lines of standard input, with their line ends.
    pub lines: Vec<String>,
    /// Environment variables.
    pub variables: Vec<(&'static str, String)>,
}

impl CatFileCall {
    /// Removes everything that gits before 2.50 do not support.
    pub fn make_old(&mut self) {
        let is_new = |argument: &String| {
            argument.starts_with("--filter=") || argument == "--use-mailmap" || argument == "-Z"
        };
        self.arguments.retain(|argument| !is_new(argument));
        self.lines.retain(|line| !line.starts_with("mailmap"));
    }

    /// The standard input.
    pub fn input(&self) -> Vec<u8> {
        self.lines.concat().into_bytes()
    }

    /// The question as a shell command, with `program` as the program.
    pub fn command(&self, program: &str) -> String {
        let mut text = format!(
            "printf '%b' {} |",
            shell::word(self.lines.concat().as_bytes())
        );
        for (name, value) in &self.variables {
            text.push_str(&format!(" {name}={}", shell::word(value.as_bytes())));
        }
        text.push_str(&format!(" {program} cat-file"));
        for argument in &self.arguments {
            text.push_str(&format!(" {}", shell::word(argument.as_bytes())));
        }
        text
    }
}

const NAMES: [&str; 34] = [
    "HEAD",
    "HEAD~1",
    "HEAD~3",
    "HEAD^2",
    "main",
    "light",
    "v1",
    "v1^{}",
    "v1^{tree}",
    "nested",
    "nested^{}",
    "of-blob",
    "of-blob^{blob}",
    "of-tree^{tree}",
    "HEAD^{tree}",
    "HEAD:file",
    "HEAD~2:file",
    "HEAD:d",
    "HEAD:d/",
    "HEAD:d/e/deep",
    "HEAD:d/link",
    "HEAD:dangling",
    "HEAD:circle",
    "HEAD:big",
    "HEAD:empty",
    "HEAD:module",
    "HEAD:no/such",
    "HEAD:file/x",
    "of-tree:d/small1",
    ":file",
    ":0:d/small2",
    ":/commit",
    "nonsense",
    "",
];

const PATHS: [&str; 6] = ["a.id", "a.crlf", "a.up", "file", "d/e/deep", "nowhere"];

/// Each format needs all that is found in one place: git does not look up what no format needs, and so
/// misses some damage.
const FORMATS: [&str; 4] = [
    "%(objectname) %(objecttype) %(objectsize)",
    "%(objectname) %(objecttype) %(objectsize) %(objectsize:disk) %(deltabase) %(rest)",
    "%(objecttype)|%(rest)|%(objectsize)|%%",
    "%(objectsize) %(objecttype) %(deltabase) %(objectsize:disk)",
];

/// The kinds of questions that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowedQuestions {
    /// Questions about all objects.
    pub lists: bool,
    /// Only full ids as names of objects.
    pub ids_only: bool,
}

/// A random question about the objects of `repository`.
pub fn random(
    rng: &mut Rng,
    repository: &SoundRepository,
    AllowedQuestions { lists, ids_only }: AllowedQuestions,
) -> CatFileCall {
    let mut question = match rng.below(if lists { 100 } else { 75 }) {
        0..30 => question_about_one_object(rng, repository, ids_only),
        30..75 => batch_question(rng, repository, ids_only),
        _ => question_about_all_objects(rng),
    };
    if rng.chance(4) {
        question
            .variables
            .push(("GIT_NO_REPLACE_OBJECTS", "1".into()));
    }
    if repository.shape == "alternates" && rng.chance(25) {
        let list = rng.pick(&[
            "../a",
            "../b:../c",
            "../nowhere:../a",
            "\"../a\"",
            "#../a:../b",
            ":",
        ]);
        let name = "GIT_ALTERNATE_OBJECT_DIRECTORIES";
        question.variables.push((name, list.into()));
    }
    question
}

fn name(rng: &mut Rng, repository: &SoundRepository, ids_only: bool) -> String {
    let id = rng.pick(&repository.ids);
    if ids_only {
        return id;
    }
    match rng.below(20) {
        0..12 => id,
        12 => {
            let len = rng.pick(&[2, 3, 4, 4, 5, 7, 12, 39]);
            id.get(..len).unwrap_or(&id).to_owned()
        }
        13 => {
            let suffix = rng.pick(&[
                "^{tree}",
                "^{commit}",
                "^{blob}",
                "^{}",
                "^{tag}",
                "^{object}",
                ":file",
                "~1",
                "^0",
            ]);
            format!("{id}{suffix}")
        }
        14 if rng.chance(30) => "0".repeat(id.len()),
        14 if rng.chance(30) => id.to_uppercase(),
        14 if rng.chance(30) => "12".repeat(repository.id_len),
        _ => rng.pick(&NAMES).to_owned(),
    }
}

fn question_about_one_object(
    rng: &mut Rng,
    repository: &SoundRepository,
    ids_only: bool,
) -> CatFileCall {
    let mut arguments = Vec::new();
    let name = name(rng, repository, ids_only);
    match rng.below(12) {
        // For the type, git does not check the size.
        3..5 if repository.shape != "crafted" => arguments.push("-t".to_owned()),
        0..5 => arguments.push("-p".to_owned()),
        5..7 => arguments.push("-s".to_owned()),
        7 => arguments.push("-e".to_owned()),
        8..11 => {
            let types = ["blob", "tree", "commit", "tag", "no-type"];
            arguments.push(rng.pick(&types).to_owned());
        }
        _ => {
            arguments.push(rng.pick(&["--textconv", "--filters"]).to_owned());
            if rng.chance(70) {
                arguments.push(format!("--path={}", rng.pick(&PATHS)));
            }
        }
    }
    if rng.chance(8) {
        arguments.push("--use-mailmap".to_owned());
    }
    arguments.push(name);
    CatFileCall {
        arguments,
        lines: Vec::new(),
        variables: Vec::new(),
    }
}

/// `--batch` or a similar option, with or without a format.
fn mode(rng: &mut Rng, names: &[&str]) -> String {
    let mode = rng.pick(names);
    match rng.chance(45) {
        true => format!("{mode}={}", rng.pick(&FORMATS)),
        false => mode.to_owned(),
    }
}

fn filter(rng: &mut Rng, arguments: &mut Vec<String>) {
    if rng.chance(8) {
        let filter = rng.pick(&[
            "blob:none",
            "blob:limit=100",
            "blob:limit=1k",
            "object:type=tree",
            "object:type=commit",
            "object:type=tag",
            "tree:1",
            "tree:x",
            "combine:blob:none+tree:1",
            "combine:blob:none+x",
        ]);
        arguments.push(format!("--filter={filter}"));
        if rng.chance(8) {
            arguments.push("--filter=blob:none".to_owned());
        }
    }
}

fn batch_question(rng: &mut Rng, repository: &SoundRepository, ids_only: bool) -> CatFileCall {
    let mut arguments = vec![mode(
        rng,
        &["--batch", "--batch", "--batch-check", "--batch-command"],
    )];
    let is_command = arguments
        .iter()
        .any(|argument| argument.starts_with("--batch-command"));
    let mut end = "\n";
    for (chance, argument) in [
        (25, "--buffer"),
        (8, "--follow-symlinks"),
        (8, "--use-mailmap"),
        (5, "-Z"),
        (5, "-z"),
        (3, "--textconv"),
        (3, "--filters"),
    ] {
        if rng.chance(chance) {
            arguments.push(argument.to_owned());
            if argument.eq_ignore_ascii_case("-z") {
                end = "\0";
            }
        }
    }
    filter(rng, &mut arguments);
    // With other formats the rest would be part of the name.
    let rests = !ids_only
        || arguments
            .iter()
            .any(|argument| argument.contains("%(rest)"));
    let count = rng.pick(&[1, 1, 2, 3, 5, 10, 40]);
    let lines = (0..count).map(|number| {
        let name = name(rng, repository, ids_only);
        let rest = match rng.below(10) {
            0 => rng.pick(&PATHS),
            _ => "",
        };
        let rest = if rests { rest } else { "" };
        let line = match (is_command, rng.below(20)) {
            // Alternates are read, with complaints, when an object is first looked up.
            (true, 0) if number > 0 => "flush".to_owned(),
            (true, 1) => format!("mailmap {}", rng.pick(&["true", "no", "perhaps"])),
            (true, 2..10) => format!("info {name}"),
            (true, _) => format!("contents {name}"),
            (false, _) if rest.is_empty() => name,
            (false, 17) => format!("{name}\r {rest}"),
            (false, _) => format!("{name} {rest}"),
        };
        format!("{line}{end}")
    });
    CatFileCall {
        lines: lines.collect(),
        arguments,
        variables: Vec::new(),
    }
}

fn question_about_all_objects(rng: &mut Rng) -> CatFileCall {
    let names: &[&str] = match rng.chance(95) {
        true => &["--batch", "--batch-check"],
        false => &["--batch-command"],
    };
    let mut arguments = vec!["--batch-all-objects".to_owned(), mode(rng, names)];
    if rng.chance(50) {
        arguments.push("--unordered".to_owned());
    }
    for (chance, argument) in [(20, "--buffer"), (8, "--use-mailmap"), (4, "-Z")] {
        if rng.chance(chance) {
            arguments.push(argument.to_owned());
        }
    }
    filter(rng, &mut arguments);
    CatFileCall {
        arguments,
        lines: Vec::new(),
        variables: Vec::new(),
    }
}
