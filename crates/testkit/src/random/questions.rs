//! Random `status` command lines.

use bstr::{BString, ByteSlice};

use super::Plan;
use super::maker::Maker;
use super::names::join;
use super::operations;
use crate::invocation::Invocation;
use crate::scenario::Question;

/// The groups of options that can be left out, with what they are.
pub const GROUPS: &[(&str, &str)] = &[
    ("long", "the long format"),
    ("branch", "-b, --show-stash, --ahead-behind"),
    ("ignored", "--ignored"),
    ("renames", "any detection of renames"),
    ("ignore-submodules", "--ignore-submodules"),
    ("pathspecs", "pathspecs of all kinds"),
    ("magic", "pathspecs with magic"),
    ("overrides", "-c"),
    ("environment", "GIT_DIR and other variables"),
    (
        "places",
        "-C, --git-dir, --work-tree, other repositories' directories",
    ),
    ("directories", "other working directories than the top"),
    ("color", "colours"),
    ("verbose", "-v"),
    ("column", "--column"),
    ("errors", "arguments that are wrong"),
    ("names", "names that are hard to read"),
    ("formats", "unusual repository formats"),
    ("reftable", "reftable repositories"),
];

/// A random question.
pub fn random(m: &mut Maker, plan: &Plan) -> Question {
    if plan.prompts {
        let mut directory = directory(m, plan);
        // The process looks at no variables of ours, so all that varies is where.
        if directory.contains_str(".git") {
            directory = "work".into();
        }
        return Question::Prompt(directory);
    }
    let mut invocation = Invocation {
        directory: directory(m, plan),
        ..Invocation::default()
    };
    options(m, plan, &mut invocation.options);
    if plan.has("pathspecs") && m.rng.chance(15) {
        invocation.pathspecs = (0..1 + m.rng.below(2)).map(|_| pathspec(m, plan)).collect();
    }
    if plan.has("overrides") {
        overrides(m, plan, &mut invocation);
    }
    if plan.has("environment") && m.rng.chance(8) {
        environment(m, &mut invocation);
        // The index of one repository is nonsense in another, whose ids may be of another kind.
        if invocation
            .variables
            .iter()
            .any(|(name, _)| name == "GIT_INDEX_FILE")
        {
            invocation.directory = "work".into();
        }
    }
    if plan.has("places") && m.rng.chance(6) {
        places(m, &mut invocation);
    }
    Question::Status(invocation)
}

fn directory(m: &mut Maker, plan: &Plan) -> BString {
    if !plan.has("directories") || m.rng.chance(60) {
        return "work".into();
    }
    if plan.has("places") && m.rng.chance(20) {
        let others = [
            "linked",
            "work/module",
            "work/dir/module",
            "work/nested",
            "work/.git",
            "work/bare.git",
            "remote.git",
            ".",
        ];
        return m.rng.pick(&others).into();
    }
    join(b"work", &m.directory())
}

fn options(m: &mut Maker, plan: &Plan, options: &mut Vec<BString>) {
    let mut add = |option: &str| options.push(option.into());
    let rng = &mut m.rng;
    if !plan.has("long") || rng.chance(80) {
        add(rng.pick(&[
            "--porcelain",
            "--porcelain=v1",
            "--porcelain=v2",
            "--porcelain=v2",
            "--porcelain=v2",
            "--porcelain=2",
            "-s",
            "--short",
        ]));
    } else if rng.chance(30) {
        add(rng.pick(&["--long", "-z", "--no-short"]));
    }
    if rng.chance(30) {
        add(rng.pick(&["-z", "--null"]));
    }
    if plan.has("branch") {
        if rng.chance(45) {
            add(rng.pick(&["-b", "--branch", "--branch", "--no-branch"]));
        }
        if rng.chance(20) {
            add(rng.pick(&["--show-stash", "--no-show-stash"]));
        }
        if rng.chance(20) {
            add(rng.pick(&["--ahead-behind", "--no-ahead-behind"]));
        }
    }
    if rng.chance(50) {
        add(rng.pick(&[
            "-uno",
            "-unormal",
            "-uall",
            "-uall",
            "-u",
            "--untracked-files",
            "--untracked-files=normal",
            "--untracked-files=all",
            "--untracked-files=no",
        ]));
    }
    if plan.has("ignored") && rng.chance(35) {
        add(rng.pick(&[
            "--ignored",
            "--ignored",
            "--ignored=traditional",
            "--ignored=matching",
            "--ignored=matching",
            "--ignored=no",
        ]));
    }
    if plan.has("ignore-submodules") && rng.chance(15) {
        add(rng.pick(&[
            "--ignore-submodules",
            "--ignore-submodules=none",
            "--ignore-submodules=untracked",
            "--ignore-submodules=dirty",
            "--ignore-submodules=all",
        ]));
    }
    if !plan.has("renames") {
        add("--no-renames");
    } else if rng.chance(25) {
        add(rng.pick(&[
            "--no-renames",
            "--renames",
            "-M",
            "-M100%",
            "--find-renames=30%",
            "-M90%",
            "--find-renames=1",
        ]));
    }
    if plan.has("column") && rng.chance(3) {
        add(rng.pick(&[
            "--column",
            "--no-column",
            "--column=always",
            "--column=plain",
        ]));
    }
    if plan.has("verbose") && rng.chance(2) {
        add(rng.pick(&["-v", "-vv", "--verbose", "--no-verbose"]));
    }
    if plan.has("errors") && rng.chance(2) {
        add(rng.pick(&[
            "--porcelain=v3",
            "--untracked-files=some",
            "--ignored=maybe",
            "--no-such-option",
            "--ignore-submodules=x",
            "-M200x",
            "--column=sideways",
        ]));
    }
}

fn pathspec(m: &mut Maker, plan: &Plan) -> BString {
    let path = m.path();
    let kind = m.rng.below(if plan.has("magic") { 16 } else { 6 });
    let with = |prefix: &str| BString::from([prefix.as_bytes(), &path[..]].concat());
    match kind {
        0 => ".".into(),
        1 => "..".into(),
        2 => m
            .rng
            .pick(&["*.c", "*.o", "a*", "dir*", "**/x", "*", "d?r", "[a-c]*"])
            .into(),
        3 => [&path[..], b"/"].concat().into(),
        4 => "no/such".into(),
        6 => with(":/"),
        7 => with(":!"),
        8 => with(":(exclude)"),
        9 => with(":(icase)"),
        10 => with(":(literal)"),
        11 => with(":(top,glob)"),
        12 => m
            .rng
            .pick(&[
                ":(glob)**/a",
                ":(glob)dir/**",
                ":(glob)*",
                ":(top)",
                ":/",
                ":",
                ":!",
            ])
            .into(),
        13 => m
            .rng
            .pick(&[
                ":(attr:text)",
                ":(attr:-text)",
                ":(attr:!filter)",
                ":(attr:eol=crlf)*",
            ])
            .into(),
        14 => m
            .rng
            .pick(&[
                ":(bogus)x",
                ":(glob,literal)x",
                ":(prefix:1)x",
                "/outside",
                "../../..",
            ])
            .into(),
        _ => path,
    }
}

fn overrides(m: &mut Maker, plan: &Plan, invocation: &mut Invocation) {
    if m.rng.chance(25) {
        let (name, value) = operations::setting(m);
        invocation
            .globals
            .push(vec!["-c".into(), format!("{name}={value}").into()]);
    }
    if plan.has("color") && m.rng.chance(5) {
        let setting = m.rng.pick(&[
            "color.status=always",
            "color.ui=always",
            "color.status.untracked=blue bold",
        ]);
        invocation.globals.push(vec!["-c".into(), setting.into()]);
    }
    if plan.has("column") && m.rng.chance(2) {
        invocation
            .globals
            .push(vec!["-c".into(), "column.status=always".into()]);
    }
    if plan.has("errors") && m.rng.chance(1) {
        let setting = m.rng.pick(&[
            "core.fileMode=maybe",
            "status.showUntrackedFiles=some",
            "nonsense",
            "color.status.branch=nonsense",
            "core.abbrev=2",
        ]);
        invocation.globals.push(vec!["-c".into(), setting.into()]);
    }
    if m.rng.chance(3) {
        let options = [
            "--literal-pathspecs",
            "--glob-pathspecs",
            "--noglob-pathspecs",
            "--icase-pathspecs",
            "--no-replace-objects",
            "--no-optional-locks",
            "--no-pager",
        ];
        invocation.globals.push(vec![m.rng.pick(&options).into()]);
    }
}

fn environment(m: &mut Maker, invocation: &mut Invocation) {
    let git_directory = format!("{{ROOT}}/{}", m.git_directory);
    let (git_directory, index) = (git_directory.as_str(), format!("{git_directory}/index"));
    let sets: [&[(&str, &str)]; 10] = [
        &[("GIT_DIR", git_directory)],
        &[("GIT_DIR", git_directory), ("GIT_WORK_TREE", "{ROOT}/work")],
        &[("GIT_WORK_TREE", "{ROOT}/work")],
        &[("GIT_DIR", git_directory), ("GIT_WORK_TREE", "..")],
        &[("GIT_INDEX_FILE", &index)],
        &[("GIT_INDEX_FILE", "{ROOT}/no-index")],
        &[("GIT_LITERAL_PATHSPECS", "1")],
        &[("GIT_CEILING_DIRECTORIES", "{ROOT}/work")],
        &[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "status.short"),
            ("GIT_CONFIG_VALUE_0", "true"),
        ],
        &[("GIT_CONFIG_GLOBAL", "/dev/null")],
    ];
    let set = m.rng.pick(&sets);
    invocation.variables = set
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
}

fn places(m: &mut Maker, invocation: &mut Invocation) {
    let git_directory = format!("{{ROOT}}/{}", m.git_directory);
    let directory = m.directory();
    let group: Vec<BString> = match m.rng.below(5) {
        0 => vec!["-C".into(), directory],
        1 => vec!["-C".into(), "..".into(), "-C".into(), "work".into()],
        2 => vec![format!("--git-dir={git_directory}").into()],
        3 => vec![
            format!("--git-dir={git_directory}").into(),
            "--work-tree={ROOT}/work".into(),
        ],
        _ => vec![
            "--work-tree".into(),
            [b"{ROOT}/work/", &directory[..]].concat().into(),
        ],
    };
    invocation.globals.insert(0, group);
}
