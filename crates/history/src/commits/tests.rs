use std::fs;

use super::*;
use crate::testing::OpenRepository as _;
use vigil_testkit::sandbox::Sandbox;

/// The number of commits in a history.
const COUNT: usize = 600;

/// Returns the history of `tip`: the data of each commit, and the message about one that cannot be
/// read.
fn walk(sandbox: &Sandbox, tip: &oid) -> Vec<String> {
    let repository = sandbox.repository();
    let objects = Objects::open(&repository).unwrap();
    let mut commits = Commits::new(&objects);
    let mut pending = vec![commits.number_of(tip)];
    let mut lines = Vec::new();
    while let Some(number) = pending.pop() {
        if commits.flags_of(number) != 0 {
            continue;
        }
        commits.add_flags(number, 1);
        let id = commits.id_of(number).unwrap();
        if let Err(error) = commits.read(number) {
            lines.push(error.to_string());
            continue;
        }
        assert_eq!(commits.first_bytes_of(number), first_bytes(&id));
        let parents = (0..commits.parent_count(number))
            .map(|at| commits.parent(number, at).unwrap())
            .collect::<Vec<_>>();
        let names = parents
            .iter()
            .map(|parent| format!(" {}", commits.id_of(*parent).unwrap()));
        let (tree, time_s) = (commits.tree_of(number).unwrap(), commits.time_of(number));
        lines.push(format!("{id} {time_s} {tree}{}", names.collect::<String>()));
        pending.extend(parents);
    }
    lines.sort();
    lines
}

/// Returns the history of `tip` by git, in the same format.
fn git_history(sandbox: &Sandbox, tip: &oid) -> Vec<String> {
    let text = sandbox.git(["log", "--format=%H %ct %T %P", &tip.to_string()]);
    let lines = text.lines().map(|line| line.trim_end().to_owned());
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

#[test]
fn a_history_is_as_git_has_it_with_a_graph_of_all_of_some_and_of_none() {
    let sandbox = Sandbox::with_history(COUNT);
    let check = |remark: &str, least: usize| {
        let tip = sandbox.id("HEAD");
        let lines = walk(&sandbox, &tip);
        assert!(lines == git_history(&sandbox, &tip), "{remark}");
        assert!(lines.len() >= least, "{remark} {}", lines.len());
    };
    check("of objects", COUNT);
    sandbox.git(["commit-graph", "write", "--reachable"]);
    check("of a graph", COUNT);
    sandbox.commit("on top");
    check("of both", COUNT + 1);
    let [one, other] = ["HEAD~10", "HEAD~400"].map(|name| sandbox.id(name).to_string());
    sandbox.git(["replace", "--graft", &one, &other]);
    check("with a replacement", COUNT / 4);
    sandbox.git(["replace", "-d", &one]);
    fs::write(sandbox.git_dir().join("shallow"), format!("{one}\n")).unwrap();
    check("with an end", 5);
}

#[test]
fn a_missing_commit_ends_the_history_and_is_reported() {
    let sandbox = Sandbox::with_history(COUNT);
    let [gone, top] = ["gone", "top"].map(|message| sandbox.commit(message));
    fs::remove_file(sandbox.loose_object(&gone.to_string())).unwrap();
    let lines = walk(&sandbox, &top);
    assert_eq!(lines.len(), 2);
    assert!(lines.contains(&format!("bad object {gone}")), "{lines:?}");
}

#[test]
fn a_commit_that_many_references_name_is_read_ahead() {
    let sandbox = Sandbox::new();
    let [once, often] = ["once", "often"].map(|message| sandbox.commit(message));
    let repository = sandbox.repository();
    let objects = Objects::open(&repository).unwrap();
    let mut commits = Commits::new(&objects);
    commits.read_ahead(std::iter::once(once));
    assert!(!commits.was_read(&once), "this is not worthwhile");
    commits.read_ahead(std::iter::repeat_n(often, MANY));
    assert!(commits.was_read(&often));
}
