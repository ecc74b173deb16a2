//! Formats and flags of the index.

use super::builder::Builder;
use super::case::cases;

cases! {
    "index version 4", |b| { dirty(b.base().git(&["update-index", "--index-version", "4"])); };
    "split index", |b| { b.base().git(&["update-index", "--split-index"]); dirty(b); b.git(&["add", "n"]).git(&["rm", "-q", "--cached", "dir/c"]); };
    "deeper than trees may be", |b| {
        b.base().git(&["config", "core.maxTreeDepth", "1"]).write("x/y/z/new", "x\n").git(&["add", "x", "--sparse"]);
        b.write("dir/sub/d", "x\n").git(&["add", "dir"]);
    };
    "deep only in the index", |b| {
        b.empty().write("a", "a\n").commit("a").git(&["config", "core.maxTreeDepth", "0"]).write("x/y/z/new", "x\n").git(&["add", "x"]);
    };
    "index.threads that is no number", |b| { b.base().git(&["config", "index.threads", "many"]); };
    "no index", |b| { b.base().remove(".git/index"); };
    "skipped hash", |b| { b.base().git(&["config", "index.skipHash", "true"]).write("a", "x\n").git(&["add", "a"]); };
    "many files", |b| { b.empty().git(&["config", "feature.manyFiles", "true"]).files().commit("base"); dirty(b); };
    "assume unchanged", |b| { b.base().git(&["update-index", "--assume-unchanged", "a", "b"]); dirty(b); b.remove("b"); };
    "skip worktree", |b| { b.base().git(&["update-index", "--skip-worktree", "a", "b", "dir/c"]).remove("b"); dirty(b); };
    "executable in the index only", |b| { b.base().git(&["update-index", "--chmod=+x", "a"]); };
    "untracked cache", |b| { b.base().git(&["update-index", "--force-untracked-cache"]).write("n", "").git(&["status"]); dirty(b); b.write("dir/sub/x", ""); };
    "untracked cache of a repository inside that is gone", |b| {
        b.base().git(&["config", "core.untrackedCache", "true"]).git(&["init", "-q", "deep/er/nested"]);
        for directory in [".", "deep", "deep/er"] {
            b.time(directory, 1);
        }
        b.git(&["status"]).git(&["status"]).remove("deep/er/nested");
    };
    "sparse checkout, cone", |b| { b.base().git(&["sparse-checkout", "set", "--cone", "dir/sub"]); dirty(b); };
    "sparse checkout, sparse index", |b| { sparse(b); b.write("a", "x\n"); };
    "sparse index with files outside", |b| { sparse(b); b.write("other/deep/f", "x\n").write("other/new", "x\n"); };
    "sparse index with changes staged", |b| { sparse(b); b.write("dir/c", "x\n").git(&["add", "dir/c"]).git(&["update-index", "--force-remove", "other/deep/f"]); };
    "sparse index with a lone directory inside", |b| {
        b.empty().write("dir/none/x", "x\n").write("dir/none/deep/y", "y\n").git(&["add", "-A"]);
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "dir/sub/other"]);
    };
    "sparse index with a file in the place of a directory", |b| { sparse(b); b.write("other", "x\n"); };
    "sparse index with a conflict outside", |b| {
        sparse(b);
        b.git_input(&["update-index", "--index-info"], "100644 1111111111111111111111111111111111111111 2\tother/h\n");
    };
    "sparse index with a conflict outside and no commit", |b| {
        b.empty().write("other/g", "x\n").git(&["add", "-A"]).git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "dir"]);
        b.git_input(&["update-index", "--index-info"], "100644 1111111111111111111111111111111111111111 3\tother/h\n");
    };
    "split index of which git collapses the shared part", |b| {
        b.base().write("other/deep/f", "f\n").write("other/g", "g\n").commit("other");
        b.git(&["sparse-checkout", "set", "--cone", "dir"]).git(&["update-index", "--split-index"]).git(&["config", "index.sparse", "true"]);
    };
    "sparse index of which git wrote an entry several times", |b| {
        b.empty().write("dir-d/build/a", "a\n").git(&["add", "-A"]).write("dir/dir/c", "c\n");
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "dir", "dir/sub"]);
        b.write("dir-d/.gitignore", "x\n").git(&["add", "-N", "dir/dir"]);
    };
    "the same with a commit", |b| {
        b.empty().write("dir-d/build/a", "a\n").commit("base").write("dir/dir/c", "c\n");
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "dir", "dir/sub"]);
        b.write("dir-d/.gitignore", "x\n").git(&["add", "-N", "dir/dir"]);
    };
    "sparse index that git put out of order", |b| {
        b.base().write("z/other/a", "a\n").write("z/other/b", "b\n").commit("other");
        b.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "dir"]);
        let id = "1111111111111111111111111111111111111111";
        b.git_input(&["update-index", "--index-info"], format!("100644 {id} 1\tz/x\n100644 {id} 2\tz/x\n100644 {id} 3\tz/x\n"));
    };
    "sparse index with files outside, as deep as trees may be", |b| {
        sparse(b);
        b.git(&["config", "core.maxTreeDepth", "1"]).write("other/new", "x\n");
    };
    "missing sparse index, and trees outside as deep as they may be", |b| {
        deep_outside(b, "--sparse-index");
        b.remove(".git/index").git(&["config", "core.maxTreeDepth", "4"]);
    };
    "missing sparse index, and trees outside deeper than they may be", |b| {
        deep_outside(b, "--sparse-index");
        b.remove(".git/index").git(&["config", "core.maxTreeDepth", "3"]);
    };
    "missing index of a full checkout, and trees outside deeper than they may be", |b| {
        deep_outside(b, "--no-sparse-index");
        b.remove(".git/index").git(&["config", "core.maxTreeDepth", "4"]);
    };
    "sparse index with changes outside, as deep as they may be", |b| {
        deep_outside(b, "--sparse-index");
        b.git(&["update-index", "--force-remove", "one/two/three/four/five/f"]).git(&["config", "core.maxTreeDepth", "4"]);
    };
    "sparse index with changes outside, deeper than they may be", |b| {
        deep_outside(b, "--sparse-index");
        b.git(&["update-index", "--force-remove", "one/two/three/four/five/f"]).git(&["config", "core.maxTreeDepth", "3"]);
    };
    "sparse index without a directory outside, as deep as it may be", |b| {
        deep_outside(b, "--sparse-index");
        b.git(&["rm", "-rq", "--sparse", "--cached", "one"]).git(&["config", "core.maxTreeDepth", "4"]);
    };
    "sparse index with a directory more outside, as deep as it may be", |b| {
        deep_outside(b, "--sparse-index");
        b.git(&["update-ref", "HEAD", "HEAD^"]).git(&["config", "core.maxTreeDepth", "4"]);
    };
    "sparse index with a directory more outside, deeper than it may be", |b| {
        deep_outside(b, "--sparse-index");
        b.git(&["update-ref", "HEAD", "HEAD^"]).git(&["config", "core.maxTreeDepth", "3"]);
    };
    "index that git makes sparse, with a directory more outside, as deep as it may be", |b| {
        deep_outside(b, "--no-sparse-index");
        b.git(&["config", "--worktree", "index.sparse", "true"]).git(&["update-ref", "HEAD", "HEAD^"]).git(&["config", "core.maxTreeDepth", "4"]);
    };
    "index that git makes sparse, with a directory more outside, deeper than it may be", |b| {
        deep_outside(b, "--no-sparse-index");
        b.git(&["config", "--worktree", "index.sparse", "true"]).git(&["update-ref", "HEAD", "HEAD^"]).git(&["config", "core.maxTreeDepth", "3"]);
    };
    "index that git makes sparse, with changes outside deeper than they may be, but for same trees", |b| {
        deep_outside(b, "--no-sparse-index");
        b.git(&["update-index", "--force-remove", "one/two/g"]).git(&["config", "--worktree", "index.sparse", "true"]).git(&["config", "core.maxTreeDepth", "2"]);
    };
    "index that git makes sparse, with changes outside deeper than they may be", |b| {
        deep_outside(b, "--no-sparse-index");
        b.git(&["update-index", "--force-remove", "one/two/three/four/five/f"]).git(&["config", "--worktree", "index.sparse", "true"]).git(&["config", "core.maxTreeDepth", "3"]);
    };
    "sparse index with an old cache-tree, and directories deeper than they may be", |b| {
        old_cache_tree(b, "--sparse-index");
    };
    "sparse index with an old cache-tree and a directory outside that is there, deeper than it may be", |b| {
        old_cache_tree(b, "--sparse-index");
        b.write("other/new", "x\n");
    };
    "sparse index with an old cache-tree and an intent to add, expanded, deeper than it may be", |b| {
        old_cache_tree(b, "--sparse-index");
        b.write("other/new", "x\n").write("dir/sub/new", "x\n").git(&["add", "-N", "dir/sub/new"]);
    };
    "sparse index with an old cache-tree and a change, expanded, deeper than it may be", |b| {
        old_cache_tree(b, "--sparse-index");
        b.write("other/new", "x\n").write("dir/sub/d", "x\n").git(&["add", "dir/sub/d"]);
    };
    "sparse index with an old cache-tree and a conflict, expanded, deeper than it may be", |b| {
        old_cache_tree(b, "--sparse-index");
        b.write("other/new", "x\n");
        let id = "1111111111111111111111111111111111111111";
        b.git_input(&["update-index", "--index-info"], format!("100644 {id} 1\tdir/x\n100644 {id} 2\tdir/x\n"));
    };
    "sparse index with a conflict, expanded, with directories deeper than they may be", |b| {
        sparse(b);
        let id = "1111111111111111111111111111111111111111";
        b.git_input(&["update-index", "--index-info"], format!("100644 {id} 1\tdir-y\n100644 {id} 2\tdir-y\n"));
        b.write("other/new", "x\n").git(&["config", "core.maxTreeDepth", "1"]);
    };
    "index that git makes sparse with an old cache-tree, deeper than it may be", |b| {
        old_cache_tree(b, "--no-sparse-index");
        b.git(&["config", "--worktree", "index.sparse", "true"]);
    };
    "sparse index whose directories hold what is not asked for", |b| {
        sparse(b);
        b.write("other/.gitattributes", "x\n").git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
    };
    "sparse index whose directories are there and expected", |b| {
        b.empty().write("dir/sub/g", "x\n").git(&["add", "-A"]).git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "other"]);
        b.write("dir/module/file", "x\n").git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
    };
    "sparse index whose directories hold only what is ignored with its directory", |b| {
        sparse(b);
        b.write("other/vendor/x", "x\n").write(".gitignore", "vendor\n").git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
    };
    "sparse index whose directories hold only an empty directory", |b| {
        sparse(b);
        b.directory("other/empty").git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
    };
    "sparse index whose directories are there and empty", |b| {
        sparse(b);
        b.directory("other").git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
    };
    "sparse index whose directories are ignored and hold a file", |b| {
        sparse(b);
        b.write("other/new", "x\n").write(".gitignore", "other\n").git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
    };
    "sparse index whose directories hold an ignored file", |b| {
        sparse(b);
        b.write("other/x.o", "x\n").write("other/.gitignore", "*.o\nsub\n").git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
    };
    "cache tree of more than the index has", |b| {
        b.empty().write("a", "a\n").commit("one").git(&["commit", "-q", "--allow-empty", "-m", "two"]).remove(".git/index");
        b.git_stops(&["rebase", "-q", "-i", "HEAD~1"]);
    };
    "cache tree of a tree that has a file more than once", |b| { commit_of_a_file_three_times(b).write("new", "new\n"); };
    "tree that has a file more than once, and another is staged", |b| {
        commit_of_a_file_three_times(b).git(&["update-index", "--cacheinfo", "100755,5626abf0f72e58d7a153368ba57db4c673c0e171,outer/inner"]);
    };
    "sparse index with an intent to add what is in it", |b| {
        sparse(b);
        b.git(&["read-tree", "--empty"]).git_stops(&["add", "-N", "a", "other"]).git_stops(&["add", "a"]);
    };
    "sparse index by rules that came later", |b| {
        sparse(b);
        b.write(".git/info/sparse-checkout", "/*\n!/*/\n").git(&["read-tree", "-m", "-u", "HEAD"]).write("dir/x", "x\n");
    };
    "cache tree of a directory that the index has not", |b| {
        b.base().remove(".git/index").git_stops(&["rebase", "-q", "-i", "main"]);
    };
    "cache tree of a directory of which the index has less", |b| {
        b.base().remove(".git/index").git_stops(&["rebase", "-q", "-i", "main"]).git(&["add", "b", "dir.x"]);
    };
    "sparse index, missing", |b| { sparse(b); b.remove(".git/index"); };
    "sparse checkout of an empty index", |b| {
        b.base().write("other/deep/f", "f\n").commit("other").git(&["read-tree", "--empty"]).remove("dir").remove("other");
        b.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "dir"]);
    };
    "sparse index with a link staged in the place of a directory", |b| {
        b.base().write("other/deep/f", "f\n").write("other/g", "g\n").commit("other").remove("other").link("other", "a");
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "dir"]).git(&["add", "-A"]);
    };
    "sparse index, emptied", |b| { sparse(b); b.git(&["read-tree", "--empty"]); };
    "empty index that is to be split and sparse", |b| {
        b.empty().git(&["update-index", "--index-version", "2"]);
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "dir"]);
        b.git(&["config", "core.splitIndex", "true"]);
    };
    "sparse index that is to be split", |b| { sparse(b); b.git(&["config", "core.splitIndex", "true"]); };
    "skipped file behind a link", |b| {
        b.base().git(&["update-index", "--skip-worktree", "dir/c"]).git(&["config", "core.sparseCheckout", "true"]);
        b.rename("dir", "real").link("dir", "real");
    };
    "intent to add what is committed, and gone", |b| { b.base().git(&["rm", "-q", "--cached", "a"]).git(&["add", "-N", "a"]).remove("a"); };
    "sparse index, a directory that is one entry in the cone by its case, and a search for renames", |b| {
        b.empty().write("a.b", "one\ntwo\nthree\n").git(&["add", "-A"]).git(&["commit", "-q", "-m", "1"]);
        b.write("dir/a", "one\ntwo\nfour\n").write("dir/sub/a", "one\nfive\n").git(&["rm", "-q", "a.b"]).git(&["add", "-A"]);
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "Dir"]).git(&["config", "core.ignoreCase", "true"]);
    };
    "sparse index, a directory that is one entry in a cone that was edited, and a search for renames", |b| {
        b.empty().write("a.b", "one\ntwo\nthree\n").git(&["add", "-A"]).git(&["commit", "-q", "-m", "1"]);
        b.write("dir/a", "one\ntwo\nfour\n").write("dir/sub/a", "one\nfive\n").git(&["rm", "-q", "a.b"]).git(&["add", "-A"]);
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "other"]).write(".git/info/sparse-checkout", "/*\n!/*/\n/dir/\n");
    };
    "sparse index, a file below one entry in a cone that was edited to name its directory alone, and renames", |b| {
        b.empty().write("a.b", "one\ntwo\nthree\n").git(&["add", "-A"]).git(&["commit", "-q", "-m", "1"]);
        b.write("dir/sub/a", "one\ntwo\nfour\n").git(&["rm", "-q", "a.b"]).git(&["add", "-A"]);
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "other"]).write(".git/info/sparse-checkout", "/*\n!/*/\n/dir/\n!/dir/*/\n");
    };
    "sparse index, a file renamed from deep outside of the cone", |b| {
        b.base().write("out/deep/f", "one\ntwo\n").write("out/g", "three\n").commit("out").git(&["mv", "out/deep/f", "f"]).git(&["mv", "out/g", "g"]);
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "dir"]);
    };
    "sparse index with a directory that is there, and files below another one by another case", |b| {
        b.empty().git(&["config", "core.ignoreCase", "true"]).write("out/f", "f\n").write("Dir/in", "in\n").write("Dir/deep/f", "f\n").commit("1");
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "dir/dir"]);
        b.write("out/new", "").write("dir/deep/f", "f\n").write("dir/deep/g", "");
    };
    "sparse index, a file copied from deep outside of the cone", |b| {
        b.base().write("out/deep/f", "one\ntwo\n").write("out/g", "three\n").commit("out").write("f", "one\ntwo\n").write("out/deep/f", "one\ntwo\nthree\n");
        b.git(&["add", "-A"]).git(&["config", "status.renames", "copies"]);
        b.git(&["sparse-checkout", "set", "--cone", "--skip-checks", "--sparse-index", "dir"]);
    };
    "sparse checkout, ignore rules that are left out and cannot be opened", |b| {
        b.empty().write(".gitignore", "*.o\n").write("dir/.gitignore", "*.a\n").write("dir/f", "f\n").commit("1");
        b.git(&["sparse-checkout", "set", "--no-cone", "/dir/f"]).git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
        b.link(".gitignore", "nowhere").link("dir/.gitignore", "f").write("x.o", "").write("x.a", "").write("dir/x.o", "").write("dir/x.a", "");
    };
    "sparse checkout, ignore rules that are left out and a link in their place", |b| {
        b.empty().write(".gitignore", "*.o\n").write("dir/.gitignore", "*.a\n").write("dir/f", "f\n").commit("1");
        b.git(&["sparse-checkout", "set", "--no-cone", "/dir/f"]);
        b.link(".gitignore", "nowhere").link("dir/.gitignore", "f").write("x.o", "").write("x.a", "").write("dir/x.o", "").write("dir/x.a", "");
    };
    "sparse checkout, ignore rules that are left out and a directory", |b| {
        b.empty().write(".gitignore", "*.o\n").write("dir/f", "f\n").commit("1");
        b.git(&["sparse-checkout", "set", "--no-cone", "/dir/f"]).git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
        b.write(".gitignore/x", "").write("x.o", "").write("dir/x.o", "");
    };
    "sparse checkout by patterns", |b| { b.base().git(&["sparse-checkout", "set", "--no-cone", "/*", "!/dir/sub/"]); dirty(b); };
    "skip-worktree files that exist", |b| { b.base().git(&["sparse-checkout", "set", "--no-cone", "/a"]).write("b", "back\n").write("dir/c", "line\n"); };
    "skip-worktree files that exist and are expected to", |b| {
        b.base().git(&["sparse-checkout", "set", "--no-cone", "/a"]).write("b", "back\n").write("dir/c", "line\n");
        b.git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
    };
    "sparse index with files outside that are expected", |b| {
        sparse(b);
        b.write("other/deep/f", "x\n").write("other/new", "x\n").git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
    };
    "staged as a cache tree does not show", |b| { b.base().write("dir/sub/d", "x\n").git(&["add", "-A"]).git(&["write-tree"]); };
}

fn dirty(b: &mut Builder) {
    b.write("a", "changed\n")
        .write("dir/new", "n\n")
        .write("n", "n\n");
}

/// A sparse checkout of `dir` alone, next to directories of which the last is at depth 5, with the given
/// `kind` of index.
fn deep_outside(b: &mut Builder, kind: &str) {
    b.base()
        .write("one/two/three/four/five/f", "f\n")
        .write("one/two/g", "g\n")
        .write("one/h", "h\n")
        .commit("outside");
    b.git(&["sparse-checkout", "set", "--cone", kind, "dir"]);
}

/// Resets everything to a commit whose tree has one file three times, with two contents.
fn commit_of_a_file_three_times(b: &mut Builder) -> &mut Builder {
    b.empty()
        .write("one", "one\n")
        .write("two", "two\n")
        .git(&["add", "-A"]);
    let (one, two) = (
        "5626abf0f72e58d7a153368ba57db4c673c0e171",
        "f719efd430d52bcfc8566a43b2eb655688d38871",
    );
    let entries = [one, two, two].map(|id| format!("100644 blob {id}\tinner\n"));
    b.git_input(&["mktree"], entries.concat());
    b.git_input(
        &["mktree"],
        "040000 tree a2ddcad495237a1c16a2196cfb01d11268e7f10e\touter\n",
    );
    let by = "A <a@b> 1700000000 +0000";
    let commit = format!(
        "tree c3f9b7b9ea8db41cc5af431e08b75ce7f8ddf4c7\nauthor {by}\ncommitter {by}\n\ntwice\n"
    );
    b.git_input(&["hash-object", "-w", "-t", "commit", "--stdin"], commit);
    b.git(&[
        "reset",
        "-q",
        "--hard",
        "9bf99603a7040ef2b15c9a63d796eb26ccde4a09",
    ])
}

/// Directories in the checkout are deeper than the limit, and the cache-tree no longer shows it.
fn old_cache_tree(b: &mut Builder, kind: &str) {
    b.base().write("other/g", "g\n").commit("other");
    b.git(&["sparse-checkout", "set", "--cone", kind, "dir"])
        .git(&["update-index", "--force-remove", "dir/sub/d"])
        .git(&["update-index", "--add", "dir/sub/d"])
        .git(&["config", "core.maxTreeDepth", "1"]);
}

fn sparse(b: &mut Builder) {
    b.base()
        .write("other/deep/f", "f\n")
        .write("other/g", "g\n")
        .commit("other");
    b.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "dir"]);
}
