//! Tests which settings are read from the configuration, and which values are refused.

use bstr::BStr;

use super::sandbox::{Sandbox, assert_same_as_git};
use crate::repository::settings::Settings;
use vigil_model::request::{IgnoreSubmodules, RenameRule, UntrackedMode};

#[test]
fn settings_are_those_of_git() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    let settings = || {
        let repository = assert_same_as_git(&sandbox, "main", &[]).unwrap();
        Settings::new(&repository).unwrap()
    };
    let defaults = settings();
    assert_eq!(
        defaults.excludes_file,
        Some(sandbox.root.join("home/.config/git/ignore"))
    );
    assert_eq!(
        defaults.attributes_file,
        Some(sandbox.root.join("home/.config/git/attributes"))
    );
    assert_eq!(defaults.untracked, UntrackedMode::Normal);
    assert!(defaults.stat_rules.check_all && defaults.quote_path && defaults.relative_paths);
    let rule = RenameRule {
        copies: false,
        min_score: 30_000,
        limit: 1000,
    };
    assert_eq!(defaults.rename_rule(), Some(rule));

    sandbox.write(
        "home/.gitconfig",
        "[core]\nexcludesFile=~/x\nattributesFile=y\ncheckStat=Minimal\nfileMode=no\n\
         [status]\nshowUntrackedFiles=ALL\nshowUntrackedFiles=all\nrenameLimit=7\nsubmoduleSummary\n\
         [diff]\nrenames=copies\nrenames=false\nrenameLimit=9\nignoreSubmodules=dirty\n[vigil]\nthreads=3\n",
    );
    assert!(assert_same_as_git(&sandbox, "main", &[]).is_none());
    let text = std::fs::read_to_string(sandbox.root.join("home/.gitconfig")).unwrap();
    sandbox.write("home/.gitconfig", &text.replace("=ALL", "=2"));
    let settings = settings();
    assert_eq!(settings.excludes_file, Some(sandbox.root.join("home/x")));
    assert_eq!(settings.attributes_file, Some(sandbox.root.join("main/y")));
    assert!(!settings.stat_rules.check_all && settings.stat_rules.trust_ctime);
    assert_eq!(settings.untracked, UntrackedMode::All);
    assert_eq!(settings.submodule_summary, -1);
    assert_eq!(settings.ignore_submodules, Some(IgnoreSubmodules::Dirty));
    assert_eq!(settings.threads_max, Some(3));
    let rule = RenameRule {
        copies: true,
        min_score: 30_000,
        limit: 7,
    };
    assert_eq!(settings.rename_rule(), Some(rule));
}

#[test]
fn values_are_refused_as_git_refuses_them() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    for entry in [
        "core.fileMode=x",
        "core.checkStat",
        "core.checkStat=x",
        "core.excludesFile",
        "core.excludesFile=",
        "core.excludesFile=~nobody-here/x",
        "core.attributesFile=:(optional)~/x",
        "core.quotePath=2",
        "core.abbrev=3",
        "core.abbrev=no",
        "core.abbrev=x",
        "core.compression=10",
        "core.looseCompression=x",
        "core.autocrlf=Input",
        "core.autocrlf=x",
        "core.safecrlf=x",
        "core.editor",
        "core.ignoreStat=x",
        "core.commitGraph=x",
        "core.maxTreeDepth=x",
        "core.commentChar=",
        "core.commentString",
        "core.createObject=x",
        "core.deltaBaseCacheLimit=-7",
        "core.hooksPath",
        "core.packedGitLimit",
        "core.preloadIndex=x",
        "core.untrackedCache",
        "pack.packSizeLimit=x",
        "core.unknown=x",
        "index.version=9g",
        "index.skipHash=x",
        "feature.manyFiles=x",
        "status.short=x",
        "status.branch=x",
        "status.aheadBehind=x",
        "status.showStash=x",
        "status.relativePaths=x",
        "status.displayCommentPrefix=x",
        "status.submoduleSummary=x",
        "status.showUntrackedFiles",
        "status.showUntrackedFiles=x",
        "status.renames=x",
        "status.renames=copy",
        "status.renameLimit=x",
        "status.renameLimit=-5",
        "diff.renames=x",
        "diff.renameLimit=1kb",
        "diff.ignoreSubmodules",
        "diff.ignoreSubmodules=x",
        "diff.context=-1",
        "diff.context=x",
        "diff.algorithm=Patience",
        "diff.algorithm=",
        "diff.algorithm=x",
        "diff.colorMoved=2",
        "diff.colorMoved=Zebra",
        "diff.colorMoved=dimmed_zebra",
        "diff.colorMovedWS",
        "diff.colorMovedWS=",
        "diff.colorMovedWS=x, ignore-all-space ,y",
        "diff.colorMovedWS=allow-indentation-change,ignore-space-change",
        "diff.colorMovedWS=ignore-all-space,no,allow-indentation-change",
        "diff.colorMovedWS=ignore-space-at-eol",
        "diff.dirstat",
        "diff.d.binary=Auto",
        "diff.d.binary=x",
        "diff.d.cacheTextconv=x",
        "diff.d.trustExitCode=x",
        "diff.d.textconv",
        "diff.d.xfuncname",
        "diff.d.funcname",
        "diff.d.wordRegex",
        "diff.d.command",
        "diff.d.algorithm",
        "diff.d.unknown",
        "diff.wsErrorHighlight=old,new,",
        "diff.wsErrorHighlight=All",
        "diff.wsErrorHighlight=all,,new",
        "diff.noPrefix=x",
        "diff.orderFile=~nobody-here/x",
        "diff.indentHeuristic=x",
        "color.ui=x",
        "color.status=Auto",
        "color.advice=x",
        "advice.statusHints=x",
        "advice.unknown=x",
        "push.default=x",
        "branch.autoSetupMerge=simple",
        "branch.autoSetupMerge=x",
        "branch.autoSetupRebase",
        "branch.autoSetupRebase=x",
        "branch.autoSetupRebase=always",
        "user.useConfigOnly=x",
        "user.name",
        "i18n.commitEncoding",
        "pack.compression=11",
        "sparse.expectFilesOutsideOfPatterns=x",
        "vigil.unknown=x",
        "include.path",
        "include.path=x",
        "include.path=~nobody-here/x",
        "x",
        ".x",
        "x.",
        "x.1",
        "x._",
        "x.y.z",
        "",
    ] {
        let mut environment = sandbox.with(&[], "main");
        environment.push_config_parameter(BStr::new(entry));
        let parameters = environment
            .get("GIT_CONFIG_PARAMETERS")
            .unwrap()
            .to_string();
        assert_same_as_git(&sandbox, "main", &[("GIT_CONFIG_PARAMETERS", &parameters)]);
        let Some((section, name)) = entry.split_once('.') else {
            continue;
        };
        if section.is_empty() || name.is_empty() || section == "x" {
            continue;
        }
        let of_driver = name.strip_prefix("d.");
        let text = match of_driver {
            Some(name) => format!("[{section} \"d\"]\n{name}\n"),
            None => format!("[{section}]\n{name}\n"),
        };
        sandbox.write("home/.gitconfig", &text);
        assert_same_as_git(&sandbox, "main", &[]);
        std::fs::remove_file(sandbox.root.join("home/.gitconfig")).unwrap();
    }
}
