//! The repository that a run starts with.

use bstr::BString;

use crate::action::Action;
use crate::random::maker::Maker;
use crate::scenario::Step;

/// Creates the repository, in one of several formats, with a first commit.
pub fn setup(maker: &mut Maker) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut init = vec!["init", "-q"];
    if maker.formats {
        if maker.rng.chance(8) {
            init.push("--object-format=sha256");
        }
        if maker.rng.chance(8) && maker.reftable {
            init.push("--ref-format=reftable");
        }
    }
    match maker.rng.below(100) {
        0..5 if maker.formats => {
            init.extend(["--separate-git-dir", "separate.git", "work"]);
            maker.git_directory = "separate.git";
            maker.common_directory = "separate.git";
            maker.git_in(".", &init);
        }
        5..12 if maker.formats => {
            init.push("origin");
            maker.git_in(".", &init);
            maker.git_in("origin", &["commit", "-q", "--allow-empty", "-m", "root"]);
            maker.git_in(
                "origin",
                &["worktree", "add", "-q", "-b", "main2", "../work"],
            );
            maker.git_directory = "origin/.git/worktrees/work";
            maker.common_directory = "origin/.git";
        }
        _ => {
            init.push("work");
            maker.git_in(".", &init);
        }
    }
    if maker.formats {
        match maker.rng.below(20) {
            0 => maker.git(&["config", "index.version", "4"]),
            1 => maker.git(&["config", "feature.manyFiles", "true"]),
            2 => maker.git(&["config", "core.untrackedCache", "true"]),
            3 => maker.git(&["config", "core.splitIndex", "true"]),
            4 => maker.git(&["config", "index.skipHash", "true"]),
            5 => maker.git(&["config", "core.ignoreCase", "true"]),
            _ => {}
        }
    }
    steps.push(Step {
        name: "init",
        actions: maker.take(),
    });
    let files: Vec<BString> = maker.pool.files.clone();
    for file in files {
        if maker.rng.chance(65) {
            let data = maker.content();
            maker.write(&file, data);
        }
    }
    if maker.rng.chance(50) {
        maker.write(b".gitignore", "*.o\n/build\n");
    }
    steps.push(Step {
        name: "first files",
        actions: maker.take(),
    });
    if maker.rng.chance(92) {
        maker.git(&["add", "-A"]);
        maker.commit("first commit");
    }
    if maker.rng.chance(50) {
        let path = BString::from(format!("{}/index", maker.git_directory));
        let nanoseconds = maker.later();
        maker.act(Action::SetTime { path, nanoseconds });
    }
    steps.push(Step {
        name: "first commit",
        actions: maker.take(),
    });
    steps
}
