//! Settings that change what status says.

use super::table;
use crate::random::maker::Maker;

table! {
    "change a setting", 18, change;
    "remove a setting", 8, remove;
    "set a global setting", 3, change_global;
    "write odd configuration", 1, odd;
}

/// Settings with their values.
const SETTINGS: &[(&str, &[&str])] = &[
    ("core.fileMode", &["true", "false"]),
    ("core.symlinks", &["true", "false"]),
    ("core.trustctime", &["true", "false"]),
    ("core.checkStat", &["default", "minimal"]),
    ("core.autocrlf", &["true", "false", "input"]),
    ("core.eol", &["lf", "crlf", "native"]),
    ("core.safecrlf", &["true", "false", "warn"]),
    ("core.ignoreCase", &["true", "false"]),
    ("core.quotePath", &["true", "false"]),
    ("core.precomposeUnicode", &["true", "false"]),
    ("core.untrackedCache", &["true", "false", "keep"]),
    ("core.splitIndex", &["true", "false"]),
    ("core.preloadIndex", &["true", "false"]),
    ("core.commentChar", &[";", "auto"]),
    ("core.abbrev", &["4", "12", "no"]),
    ("core.bigFileThreshold", &["1", "512m"]),
    ("core.checkRoundtripEncoding", &["utf-16"]),
    ("index.version", &["2", "3", "4"]),
    ("index.skipHash", &["true", "false"]),
    ("index.sparse", &["true", "false"]),
    ("index.recordOffsetTable", &["true", "false"]),
    (
        "status.showUntrackedFiles",
        &["no", "normal", "all", "false", "true"],
    ),
    ("status.branch", &["true", "false"]),
    ("status.short", &["true", "false"]),
    ("status.showStash", &["true", "false"]),
    ("status.aheadBehind", &["true", "false"]),
    ("status.relativePaths", &["true", "false"]),
    ("status.displayCommentPrefix", &["true", "false"]),
    ("status.renames", &["true", "false", "copies"]),
    ("status.renameLimit", &["1", "0", "1000"]),
    ("status.submoduleSummary", &["true", "false", "1"]),
    ("diff.renames", &["true", "false", "copies"]),
    ("diff.renameLimit", &["1", "2", "1000"]),
    (
        "diff.ignoreSubmodules",
        &["none", "untracked", "dirty", "all"],
    ),
    ("advice.statusHints", &["true", "false"]),
    ("color.status", &["auto", "never"]),
    (
        "push.default",
        &["simple", "current", "upstream", "nothing"],
    ),
    ("merge.conflictStyle", &["diff3", "merge"]),
    ("log.showSignature", &["false"]),
    ("feature.manyFiles", &["true", "false"]),
    ("bash.showDirtyState", &["true", "false"]),
    ("bash.showUntrackedFiles", &["true", "false"]),
];

/// Some setting and value.
pub(in crate::random) fn setting(m: &mut Maker) -> (&'static str, &'static str) {
    let (name, values) = m.rng.pick(SETTINGS);
    (name, m.rng.pick(values))
}

fn change(m: &mut Maker) {
    let (name, value) = setting(m);
    m.git(&["config", name, value]);
}

fn remove(m: &mut Maker) {
    for _ in 0..5 {
        let (name, _) = setting(m);
        m.git(&["config", "--unset-all", name]);
    }
}

fn change_global(m: &mut Maker) {
    let (name, value) = setting(m);
    if m.rng.chance(50) {
        m.git(&["config", "--global", name, value]);
    } else {
        m.git(&["config", "--global", "--unset-all", name]);
    }
}

/// Includes, conditions and forms that a simple reader of configuration gets wrong.
fn odd(m: &mut Maker) {
    let text = m.rng.pick(&[
        "[include]\n\tpath = {ROOT}/included\n",
        "[includeIf \"gitdir:{ROOT}/work/\"]\n\tpath = {ROOT}/included\n",
        "[includeIf \"onbranch:topic\"]\n\tpath = {ROOT}/included\n",
        "[status]showUntrackedFiles=all ; comment\n",
        "[STATUS]\n\tBranch\n",
        "[core]\n\tquotepath = \"fal\\\nse\"\n",
    ]);
    m.act(crate::action::Action::write(
        "included",
        "[status]\n\tshowUntrackedFiles = no\n\tshort = true\n",
    ));
    m.act(crate::action::Action::write(
        "home/.config/git/config",
        text,
    ));
}
