//! Settings that change what status says.

use super::operation::table;
use crate::random::maker::Maker;

table! {
    "change a setting", 18, change_config;
    "remove a setting", 8, remove_config;
    "set a global setting", 3, change_global;
    "write odd configuration", 1, add_odd_config;
}

/// Settings and their values.
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
    ("color.ui", &["auto", "never", "always"]),
    ("color.status.branch", &["cyan", "normal", "bold 208"]),
    ("color.status.added", &["green ul", "#00ff00"]),
    ("color.status.changed", &["yellow", "reverse brightred"]),
    ("color.status.untracked", &["blue bold", "default"]),
    ("color.status.unmerged", &["magenta", "red white"]),
    ("color.status.nobranch", &["red", "no-dim"]),
    ("color.status.header", &["blue", "italic"]),
    ("color.status.localBranch", &["blue", "strike"]),
    ("color.status.remoteBranch", &["1", "-1 7"]),
    ("column.ui", &["always", "never", "auto,dense"]),
    (
        "column.status",
        &[
            "always,row",
            "column,always",
            "always,nodense,plain",
            "never",
        ],
    ),
    ("core.commentString", &["//", "auto"]),
    (
        "status.compareBranches",
        &["@{upstream} @{push}", "@{push}", "@{upstream}"],
    ),
    ("advice.statusUoption", &["true", "false"]),
    ("advice.statusAheadBehindWarning", &["true", "false"]),
    ("advice.sparseIndexExpanded", &["false"]),
    ("sparse.expectFilesOutsideOfPatterns", &["true", "false"]),
    ("core.sparseCheckout", &["true", "false"]),
    ("core.sparseCheckoutCone", &["true", "false"]),
    ("core.untrackedCache", &["true"]),
    ("core.multiPackIndex", &["true", "false"]),
    ("core.commitGraph", &["true", "false"]),
    ("core.useReplaceRefs", &["true", "false"]),
    ("core.packedRefsTimeout", &["-1"]),
    ("core.maxTreeDepth", &["3", "100"]),
    ("core.warnAmbiguousRefs", &["true", "false"]),
    ("core.whitespace", &["cr-at-eol", "-trailing-space"]),
    ("core.logAllRefUpdates", &["true", "false", "always"]),
    ("core.fsmonitor", &["false"]),
    (
        "core.attributesFile",
        &["{ROOT}/attributes", "/vigil-missing"],
    ),
    ("index.threads", &["1", "4", "true"]),
    ("index.recordEndOfIndexEntries", &["true", "false"]),
    ("diff.noprefix", &["true", "false"]),
    ("diff.mnemonicPrefix", &["true", "false"]),
    ("diff.algorithm", &["patience", "histogram"]),
    ("diff.context", &["0", "5"]),
    ("diff.submodule", &["log", "diff", "short"]),
    ("diff.external", &["false"]),
    ("diff.relative", &["true"]),
    ("diff.orderFile", &["/vigil-missing"]),
    ("submodule.recurse", &["true", "false"]),
    ("i18n.logOutputEncoding", &["latin-1", "utf-8"]),
    ("extensions.preciousObjects", &["true", "false"]),
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

/// A random setting and value.
pub(in crate::random) fn setting(m: &mut Maker) -> (&'static str, &'static str) {
    let (name, values) = m.rng.pick(SETTINGS);
    (name, m.rng.pick(values))
}

fn change_config(m: &mut Maker) {
    let (name, value) = setting(m);
    m.git(&["config", name, value]);
}

fn remove_config(m: &mut Maker) {
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
fn add_odd_config(m: &mut Maker) {
    let text = m.rng.pick(&[
        "[include]\n\tpath = {ROOT}/included\n",
        "[includeIf \"gitdir:{ROOT}/work/\"]\n\tpath = {ROOT}/included\n",
        "[includeIf \"onbranch:topic\"]\n\tpath = {ROOT}/included\n",
        "[status]showUntrackedFiles=all ; comment\n",
        "[STATUS]\n\tBranch\n",
        "[core]\n\tquotepath = \"fal\\\nse\"\n",
        "[includeIf \"gitdir/i:{ROOT}/WORK/.git\"]\n\tpath = {ROOT}/included\n",
        "[includeIf \"gitdir:work/\"]\n\tpath = ../../../included\n",
        "[includeIf \"gitdir:**/worktrees/**\"]\n\tpath = {ROOT}/included\n",
        "[includeIf \"onbranch:t*/**\"]\n\tpath = {ROOT}/included\n[includeIf \"onbranch:feature/\"]\n\tpath = {ROOT}/included\n",
        "[includeIf \"hasconfig:remote.*.url:**/remote.git\"]\n\tpath = {ROOT}/included\n",
        "[includeIf \"hasconfig:remote.*.url:{ROOT}/**\"]\n\tpath = ~/../included\n",
        "[status]\n\tshort\n\tbranch = # none\n",
        "[color \"status\"]\n\tuntracked = red ; blue\n",
        "[status]\n\tshowUntrackedFiles = \"a\"ll\n",
        "\u{feff}[status]\n\tshort = yes\n",
        "[core]\n\tabbrev = 1k\n",
        "[core]\n\tabbrev\n",
        "[status\n",
        "[status]\n\tshort = maybe\n",
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
