//! Random `status` command lines.

use bstr::{BString, ByteSlice};

use super::maker::Maker;
use super::names::join;
use super::operations;
use super::plan::ScenarioPlan;
use crate::invocation::Invocation;
use crate::scenario::Question;

/// The groups of options that can be left out, with descriptions.
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
    (
        "abbreviations",
        "options by their first letters, and joined letters",
    ),
    ("names", "names that are hard to read"),
    ("formats", "unusual repository formats"),
    ("reftable", "reftable repositories"),
];

/// A random question.
pub fn random(m: &mut Maker, plan: &ScenarioPlan) -> Question {
    if plan.prompts {
        let mut directory = directory(m, plan);
        // The process ignores the variables of a question, so only the directory varies.
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
        // Variables for one repository make no sense in another, whose ids may be of another kind.
        let is_of_this = |name: &BString| {
            ["GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"]
                .contains(&&*name.to_str_lossy())
        };
        if invocation
            .variables
            .iter()
            .any(|(name, _)| is_of_this(name))
        {
            invocation.directory = "work".into();
        }
    }
    if plan.has("places") && m.rng.chance(6) {
        places(m, &mut invocation);
    }
    Question::Status(invocation)
}

fn directory(m: &mut Maker, plan: &ScenarioPlan) -> BString {
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
            "origin",
            "linked-moved",
            "work/inner-worktree",
            "work/dir/module/inner",
            "library",
            "other",
            "outside/tree",
            ".",
        ];
        return m.rng.pick(&others).into();
    }
    join(b"work", &m.directory())
}

fn options(m: &mut Maker, plan: &ScenarioPlan, options: &mut Vec<BString>) {
    let mut add = |option: &str| options.push(option.into());
    let rng = &mut m.rng;
    if !plan.has("long") || rng.chance(70) {
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
    if plan.has("column") && rng.chance(5) {
        add(rng.pick(&[
            "--column",
            "--no-column",
            "--column=always",
            "--column=plain",
            "--column=row,dense",
            "--column=column,nodense",
            "--column=never",
            "--column=auto",
        ]));
    }
    if plan.has("verbose") && rng.chance(4) {
        add(rng.pick(&["-v", "-vv", "-vv", "--verbose", "--no-verbose"]));
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
            "--porcelain=",
            "--untracked-files=",
            "--ignored=",
            "--ignore-submodules=",
            "--column=",
            "--find-renames=",
            "--short=x",
            "--no-find-renames",
            "-h",
            "-x",
            "-sx",
            "-C",
            "--null=1",
            "--no-no-renames",
            "--branch=main",
            "-M0",
            "-M0%",
            "-Mx",
        ]));
    }
    if plan.has("abbreviations") && rng.chance(4) {
        add(rng.pick(&[
            "-sb",
            "-bs",
            "-zb",
            "-sbuno",
            "-bvuall",
            "-zuall",
            "-suz",
            "-bM50",
            "-sM",
            "--porc",
            "--porcelai=2",
            "--p=v1",
            "--unt",
            "--untr=all",
            "--unt=no",
            "--ign",
            "--ignor=matching",
            "--ignore",
            "--ignore-s",
            "--ignore-sub=all",
            "--sho",
            "--shor",
            "--show",
            "--br",
            "--b",
            "--no-b",
            "--no",
            "--no-re",
            "--ren",
            "--no-ren",
            "--find",
            "--find-r=40",
            "--f",
            "--ah",
            "--no-ah",
            "--nul",
            "--nu",
            "--no-u",
            "--no-i",
            "--no-ignored",
            "--no-untracked-files",
            "--no-ignore-submodules",
            "--lo",
            "--no-long",
            "--no-sho",
            "--col",
            "--no-col",
            "--verb",
            "--no-v",
            "--end-of-options",
            "--no-porcelain",
            "--no-null",
        ]));
    }
}

fn pathspec(m: &mut Maker, plan: &ScenarioPlan) -> BString {
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

fn overrides(m: &mut Maker, plan: &ScenarioPlan, invocation: &mut Invocation) {
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
            "color.ui=true",
            "status.color=always",
            "color.status.untracked=blue bold",
            "color.status.localBranch=yellow",
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
            "core.abbrev=x",
            "core.commentChar=",
            "core.commentString=",
            "core.commentChar=#\n",
            "core.quotePath",
            "core.bare=nonsense",
            "status.renames=nonsense",
            "status.submoduleSummary=x",
            "diff.renameLimit=x",
            "index.threads=x",
            "column.status=sideways",
            "color.ui=sometimes",
            "core.maxTreeDepth=1",
            ".x=y",
            "a.b",
            "=",
            "",
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
            "--no-advice",
            "--no-lazy-fetch",
            "--attr-source=HEAD",
            "--attr-source=HEAD~1",
            "--namespace=x",
            "--exec-path=/vigil-missing",
            "--bare",
            "-p",
            "--config-env=status.short=HOME",
            "--config-env=status.branch=GIT_CONFIG_NOSYSTEM",
            "--config-env=nonsense",
            "--no-such-global",
        ];
        invocation.globals.push(vec![m.rng.pick(&options).into()]);
    }
}

fn environment(m: &mut Maker, invocation: &mut Invocation) {
    let git_directory = format!("{{ROOT}}/{}", m.git_directory);
    let (git_directory, index) = (git_directory.as_str(), format!("{git_directory}/index"));
    let common = format!("{{ROOT}}/{}", m.common_directory);
    let objects = format!("{common}/objects");
    let sets: &[&[(&str, &str)]] = &[
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
        &[("GIT_INDEX_FILE", "{ROOT}/other-index")],
        &[("GIT_CEILING_DIRECTORIES", "{ROOT}/work/dir:{ROOT}")],
        &[("GIT_CEILING_DIRECTORIES", ":{ROOT}/work/sub::/")],
        &[
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "color.ui"),
            ("GIT_CONFIG_VALUE_0", "always"),
            ("GIT_CONFIG_KEY_1", "core.abbrev"),
            ("GIT_CONFIG_VALUE_1", "5"),
        ],
        &[("GIT_CONFIG_COUNT", "x")],
        &[("GIT_CONFIG_COUNT", "1")],
        &[(
            "GIT_CONFIG_PARAMETERS",
            "'status.short=true' 'status.branch'='1'",
        )],
        &[(
            "GIT_CONFIG_PARAMETERS",
            "'status.showUntrackedFiles=all' nonsense",
        )],
        &[("GIT_CONFIG_GLOBAL", "{ROOT}/included")],
        &[
            ("GIT_CONFIG_NOSYSTEM", "0"),
            ("GIT_CONFIG_SYSTEM", "{ROOT}/included"),
        ],
        &[
            ("XDG_CONFIG_HOME", "{ROOT}/home/.config"),
            ("HOME", "/vigil-missing"),
        ],
        &[("HOME", "")],
        &[("GIT_GLOB_PATHSPECS", "1")],
        &[("GIT_NOGLOB_PATHSPECS", "true")],
        &[("GIT_ICASE_PATHSPECS", "yes")],
        &[("GIT_LITERAL_PATHSPECS", "nonsense")],
        &[("GIT_ADVICE", "0")],
        &[("GIT_ATTR_SOURCE", "HEAD")],
        &[("GIT_NO_REPLACE_OBJECTS", "1")],
        &[("GIT_REPLACE_REF_BASE", "refs/other/")],
        &[("GIT_NAMESPACE", "x")],
        &[
            ("GIT_PAGER_IN_USE", "1"),
            ("TERM", "xterm"),
            ("COLUMNS", "50"),
        ],
        &[("COLUMNS", "30")],
        &[("GIT_TEST_UF_DELAY_WARNING", "1")],
        &[
            ("GIT_DIR", git_directory),
            ("GIT_WORK_TREE", "{ROOT}/work/dir"),
        ],
        &[
            ("GIT_DIR", "{ROOT}/remote.git"),
            ("GIT_WORK_TREE", "{ROOT}/work"),
        ],
        &[("GIT_DIR", git_directory), ("GIT_COMMON_DIR", &common)],
        &[("GIT_OBJECT_DIRECTORY", &objects)],
        &[(
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "{ROOT}/library/.git/objects",
        )],
        &[("GIT_DEFAULT_HASH", "sha256")],
        &[("GIT_SHALLOW_FILE", "{ROOT}/no-such-file")],
        &[("GIT_OPTIONAL_LOCKS", "0"), ("GIT_INDEX_VERSION", "4")],
    ];
    let set = m.rng.pick(sets);
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
