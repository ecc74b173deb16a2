use gix_hash::ObjectId;
use proptest::prelude::*;

use super::*;
use crate::testing::OpenRepository as _;
use vigil_testkit::sandbox::Sandbox;

/// Compares the counts for a pair of revisions with git's, in both directions.
fn check(sandbox: &Sandbox, objects: &Objects, a: &str, b: &str) {
    let by_git = sandbox.git(["rev-list", "--count", "--left-right", &format!("{a}...{b}")]);
    let (left, right) = by_git.split_once('\t').unwrap();
    let expected = (left.parse().unwrap(), right.parse().unwrap());
    let (a, b) = (sandbox.id(a), sandbox.id(b));
    assert_eq!(count_left_right(objects, &a, &b).unwrap(), expected);
    assert_eq!(
        count_left_right(objects, &b, &a).unwrap(),
        (expected.1, expected.0)
    );
    // Cached.
    assert_eq!(count_left_right(objects, &a, &b).unwrap(), expected);
}

/// A history made by one process, from the parents (earlier commits) and the time of each commit.
fn history(commits: &[(Vec<usize>, i64)]) -> (Sandbox, Vec<ObjectId>) {
    let sandbox = Sandbox::new();
    let mut input = String::new();
    for (n, (parents, time_s)) in commits.iter().enumerate() {
        input.push_str(&format!("reset refs/heads/c{n}\n"));
        input.push_str(&format!("commit refs/heads/c{n}\nmark :{}\n", n + 1));
        // A message of its own, so that two commits with the same parents and time differ.
        let message = format!("{n:08}");
        input.push_str(&format!(
            "committer C <c> {time_s} +0000\ndata 8\n{message}\n"
        ));
        for (at, parent) in parents.iter().enumerate() {
            let word = if at == 0 { "from" } else { "merge" };
            input.push_str(&format!("{word} :{}\n", parent + 1));
        }
        input.push('\n');
    }
    sandbox.git_with_input(["fast-import", "--quiet", "--force"], input.as_bytes());
    let names = sandbox.git(["for-each-ref", "--format=%(objectname) %(refname:lstrip=2)"]);
    let mut ids = vec![ObjectId::null(gix_hash::Kind::Sha1); commits.len()];
    for line in names.lines() {
        let (id, name) = line.split_once(' ').unwrap();
        ids[name[1..].parse::<usize>().unwrap()] = ObjectId::from_hex(id.as_bytes()).unwrap();
    }
    (sandbox, ids)
}

/// Counts by the definition.
fn by_definition(commits: &[(Vec<usize>, i64)], a: usize, b: usize) -> (usize, usize) {
    let reachable = |tip: usize| {
        let mut seen = std::collections::HashSet::from([tip]);
        let mut stack = vec![tip];
        while let Some(next) = stack.pop() {
            for parent in &commits[next].0 {
                if seen.insert(*parent) {
                    stack.push(*parent);
                }
            }
        }
        seen
    };
    let (a, b) = (reachable(a), reachable(b));
    (a.difference(&b).count(), b.difference(&a).count())
}

/// Histories with merges, whose clocks are off by up to `skew_s` seconds.
fn histories(skew_s: i64) -> impl Strategy<Value = Vec<(Vec<usize>, i64)>> {
    let commit = (
        proptest::collection::vec(0_usize..6, 0..3),
        -skew_s..=skew_s,
    );
    proptest::collection::vec(commit, 2..40).prop_map(|commits| {
        commits
            .into_iter()
            .enumerate()
            .map(|(n, (back, error_s))| {
                let mut parents: Vec<_> = back
                    .into_iter()
                    .filter_map(|back| n.checked_sub(back + 1))
                    .collect();
                parents.sort_unstable();
                parents.dedup();
                (parents, 1_600_000_000 + 100 * n as i64 + error_s)
            })
            .collect()
    })
}

fn check_all(commits: &[(Vec<usize>, i64)]) {
    let (sandbox, ids) = history(commits);
    let last = commits.len() - 1;
    for graph in [false, true] {
        if graph {
            sandbox.git(["commit-graph", "write", "--reachable"]);
        }
        let objects = sandbox.open_objects();
        assert_eq!(objects.commit_graph().is_some(), graph);
        for a in 0..=last {
            for b in [last, last.saturating_sub(1), last / 2] {
                let found = count_left_right(&objects, &ids[a], &ids[b]).unwrap();
                assert_eq!(
                    found,
                    by_definition(commits, a, b),
                    "{a} {b} graph: {graph}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_follow_the_definition(commits in histories(0)) {
        check_all(&commits);
    }

    #[test]
    fn counts_follow_the_definition_with_wrong_clocks(commits in histories(1500)) {
        check_all(&commits);
    }
}

#[test]
fn counts_are_those_of_git_with_merges_roots_and_a_partial_graph() {
    let sandbox = Sandbox::new();
    sandbox.commit_at("base", 1000);
    sandbox.git(["branch", "side"]);
    for n in 0..5 {
        sandbox.commit_at(&format!("main {n}"), 2000 + n);
    }
    sandbox.git(["checkout", "-q", "side"]);
    for n in 0..3 {
        sandbox.commit_at(&format!("side {n}"), 1500 + n);
    }
    sandbox.git(["commit-graph", "write", "--reachable"]);
    sandbox.git(["merge", "-q", "-m", "m", "main~2"]);
    sandbox.commit_at("after", 10);
    sandbox.git(["checkout", "-q", "--orphan", "root"]);
    sandbox.commit_at("other root", 5000);
    let objects = sandbox.open_objects();
    assert!(objects.commit_graph().is_some());
    let names = ["main", "side", "side~1", "side~2", "main~3", "root"];
    for a in names {
        for b in names {
            check(&sandbox, &objects, a, b);
        }
    }
}

#[test]
fn an_old_commit_with_a_fast_clock_is_counted_correctly() {
    // The shared commit 1 is later than its child 2, from which the right side reaches it late.
    let commits = vec![
        (vec![], 100),
        (vec![0], 1000),
        (vec![1], 200),
        (vec![2], 300),
        (vec![1], 1100),
    ];
    check_all(&commits);
}

#[test]
fn a_commit_may_be_missing_only_further_down_than_the_common_one() {
    let sandbox = Sandbox::new();
    for n in 0..5 {
        sandbox.commit_at(&format!("{n}"), 1000 + n);
    }
    let [ours, theirs] = ["main", "main~1"].map(|name| sandbox.id(name));
    let file_of = |name| sandbox.loose_object(&sandbox.id(name).to_string());
    let (below, further_down) = (file_of("main~2"), file_of("main~3"));
    std::fs::remove_file(further_down).unwrap();
    assert_eq!(
        count_left_right(&sandbox.open_objects(), &ours, &theirs).unwrap(),
        (1, 0)
    );
    std::fs::remove_file(below).unwrap();
    let result = count_left_right(&sandbox.open_objects(), &ours, &theirs);
    assert!(matches!(result, Err(Error::Missing { .. })));
}

#[test]
fn a_shallow_boundary_and_grafts_end_the_history() {
    let sandbox = Sandbox::new();
    for n in 0..6 {
        sandbox.commit_at(&format!("{n}"), 1000 + n);
    }
    sandbox.git(["branch", "old", "HEAD~4"]);
    sandbox.git(["commit-graph", "write", "--reachable"]);
    let boundary = sandbox.id("HEAD~2");
    std::fs::write(sandbox.git_dir().join("shallow"), format!("{boundary}\n")).unwrap();
    let objects = sandbox.open_objects();
    assert!(objects.commit_graph().is_none());
    check(&sandbox, &objects, "main", "old");
    std::fs::remove_file(sandbox.git_dir().join("shallow")).unwrap();
    let graft = format!("{} {}\n", sandbox.id("HEAD~1"), sandbox.id("old"));
    std::fs::create_dir_all(sandbox.git_dir().join("info")).unwrap();
    std::fs::write(sandbox.git_dir().join("info/grafts"), graft).unwrap();
    check(&sandbox, &sandbox.open_objects(), "main", "main~2");
}

#[test]
fn a_damaged_commit_graph_never_panics() {
    let commits: Vec<_> = (0..30_usize)
        .map(|n| {
            (
                n.checked_sub(1)
                    .into_iter()
                    .chain(n.checked_sub(5))
                    .chain(n.checked_sub(9))
                    .collect(),
                1000 + n as i64,
            )
        })
        .collect();
    let (sandbox, ids) = history(&commits);
    sandbox.git(["commit-graph", "write", "--reachable"]);
    let path = sandbox.git_dir().join("objects/info/commit-graph");
    let good = std::fs::read(&path).unwrap();
    let run = |bytes: &[u8]| {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let _ = count_left_right(&sandbox.open_objects(), &ids[29], &ids[11]);
    };
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0xa5;
        run(&bad);
        run(&good[..at]);
    }
}
