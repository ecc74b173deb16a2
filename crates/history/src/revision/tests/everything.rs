//! A repository in which every kind of name means something, and names for it.

use super::*;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Writes a blob whose id starts with the four digits of `prefix` to the repository.
///
/// To find one takes 65,536 tries, so what was found is kept: the repositories have the same ids.
fn write_blob_like(sandbox: &Sandbox, prefix: &str) -> ObjectId {
    static FOUND: Mutex<BTreeMap<(Kind, u16), (String, ObjectId)>> = Mutex::new(BTreeMap::new());
    let number = u16::from_str_radix(prefix, 16).unwrap();
    let (content, id) = FOUND
        .lock()
        .unwrap()
        .entry((sandbox.hash, number))
        .or_insert_with(|| {
            (0_u32..)
                .map(|count| format!("{prefix} {count}"))
                .map(|content| {
                    let id = hash_blob(sandbox.hash, content.as_bytes());
                    (content, id)
                })
                .find(|(_, id)| id.as_bytes().starts_with(&number.to_be_bytes()))
                .unwrap()
        })
        .clone();
    let written = sandbox.git_with_input(["hash-object", "-w", "--stdin"], content.as_bytes());
    assert_eq!(written, id.to_string());
    id
}

/// A repository with a history, tags of all kinds, branches with upstreams, logs, links and conflicts.
pub(super) fn repository_with_everything(format: RefFormat, hash: Kind) -> Sandbox {
    let sandbox = Sandbox::with_formats(format, hash);
    let top = sandbox.top();
    let write = |path: &str, content: &str| {
        let path = top.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let link = |target: &str, path: &str| {
        std::os::unix::fs::symlink(target, top.join(path)).unwrap();
    };
    write("file", "one\n");
    write("dir/file", "two\n");
    write("dir/sub/deep", "three\n");
    write("dir-x", "four\n");
    write("a:b", "colon\n");
    for (target, path) in [
        ("file", "to-file"),
        ("dir", "to-dir"),
        ("../file", "dir/up"),
        ("sub/deep", "dir/down"),
        ("../../out", "dir/out"),
        ("/etc/passwd", "absolute"),
        ("nothing", "dangling"),
        ("loop", "loop"),
        ("two", "one"),
        ("one", "two"),
        ("..", "parent"),
        (".", "self"),
        ("dir/..", "back"),
        ("dir/sub/../file", "winding"),
        ("to-dir/down", "chain"),
        ("file/x", "through-file"),
        ("dir//file", "doubled"),
        ("dir/", "slashed"),
        ("module/x", "into-module"),
    ] {
        link(target, path);
    }
    sandbox.git(["add", "."]);
    let some = sandbox.git(["hash-object", "-w", "file"]);
    let module = sandbox.git(["write-tree"]);
    sandbox.git([
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{module},module"),
    ]);
    sandbox.git([
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{some},gone-module"),
    ]);
    sandbox.commit_at("first subject\n\nwith a body", 1_699_900_000);
    sandbox.git(["tag", "light"]);
    sandbox.git(["tag", "-a", "-m", "annotated", "v1"]);
    sandbox.git(["tag", "-a", "-m", "nested", "nested", "v1"]);
    sandbox.git(["tag", "-a", "-m", "of a tree", "tree-tag", "HEAD^{tree}"]);
    sandbox.git(["tag", "-a", "-m", "of a blob", "blob-tag", "HEAD:file"]);
    sandbox.commit_at("second [subject]", 1_699_910_000);
    sandbox.commit_at("third: fix !bang", 1_699_920_000);
    sandbox.git(["checkout", "-q", "-b", "side", "HEAD~1"]);
    sandbox.commit_at("!side", 1_699_930_000);
    sandbox.git(["checkout", "-q", "-b", "topic/name"]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.git(["merge", "-q", "-m", "merge side", "side"]);
    // Names that several rules match, and names that look like ids.
    sandbox.git(["branch", "both", "HEAD~1"]);
    sandbox.git(["tag", "both", "HEAD~2"]);
    sandbox.git(["branch", "dead", "HEAD~1"]);
    sandbox.git(["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    sandbox.git(["update-ref", "refs/remotes/origin/side", "side"]);
    sandbox.git([
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
    sandbox.git(["symbolic-ref", "refs/heads/alias", "refs/heads/side"]);
    sandbox.git(["symbolic-ref", "refs/heads/hollow", "refs/heads/no-such"]);
    for (key, value) in [
        ("remote.origin.url", "/nowhere"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/main"),
        ("branch.side.remote", "."),
        ("branch.side.merge", "refs/heads/main"),
        ("branch.both.remote", "origin"),
        ("branch.both.merge", "refs/heads/gone"),
        ("branch.dead.remote", "elsewhere"),
        ("branch.dead.merge", "refs/heads/dead"),
    ] {
        sandbox.git(["config", key, value]);
    }
    let head = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.git(["update-ref", &format!("refs/heads/{head}"), "HEAD~1"]);
    for revision in ["HEAD", "HEAD^{tree}", "v1", "HEAD~1"] {
        let id = sandbox.git(["rev-parse", revision]);
        write_blob_like(&sandbox, &id[..4]);
    }
    // Two blobs with the same abbreviated id, one of which is also the name of a branch.
    let blob = sandbox.git(["rev-parse", "HEAD:file"]);
    write_blob_like(&sandbox, &blob[..4]);
    let lone = sandbox.git(["rev-parse", "HEAD:dir/file"]);
    sandbox.git(["branch", &lone[..7], "HEAD~1"]);
    // A conflict in the index.
    let stages = format!(
        "0 {} 0\tfought\n100644 {blob} 1\tfought\n100755 {lone} 2\tfought\n",
        "0".repeat(blob.len())
    );
    sandbox.git_with_input(["update-index", "--index-info"], stages.as_bytes());
    write("untracked", "x");
    sandbox
}

/// Names that mean something, or nothing, in such a repository.
pub(super) fn names_of_everything(sandbox: &Sandbox) -> Vec<String> {
    let mut names = owned_names(&[
        "HEAD",
        "@",
        "main",
        "side",
        "light",
        "v1",
        "nested",
        "tree-tag",
        "blob-tag",
        "both",
        "heads/both",
        "tags/both",
        "refs/heads/both",
        "refs/tags/both",
        "origin",
        "origin/main",
        "remotes/origin/main",
        "alias",
        "hollow",
        "heads/hollow",
        "refs/heads/hollow",
        "no-such",
        "topic/name",
        "name",
        "heads",
        "refs",
        "refs/heads",
        "refs/heads/",
        "",
        ".",
        "..",
        "a..b",
        "a b",
        "main.lock",
        "/main",
        "main/",
        "config",
        "objects",
        "hooks/x",
        "FETCH_HEAD",
        "ORIG_HEAD",
        "HEAD^",
        "HEAD^1",
        "HEAD^2",
        "HEAD^3",
        "HEAD^0",
        "HEAD~",
        "HEAD~0",
        "HEAD~1",
        "HEAD~3",
        "HEAD~99",
        "HEAD^^",
        "HEAD~1^2",
        "HEAD^2~1",
        "main^2^",
        "HEAD^10",
        "HEAD~00",
        "HEAD^4294967296",
        "HEAD~2147483648",
        "HEAD~99999999999999999999",
        "v1^",
        "v1~1",
        "nested^0",
        "tree-tag^0",
        "blob-tag^0",
        "tree-tag~1",
        "blob-tag^",
        "no-such^",
        "no-such~2",
        "^",
        "~",
        "^1",
        "~1",
        "HEAD^{}",
        "v1^{}",
        "nested^{}",
        "deadbee",
        "HEAD^{commit}",
        "v1^{commit}",
        "v1^{tag}",
        "nested^{tag}",
        "v1^{tree}",
        "v1^{blob}",
        "v1^{object}",
        "nested^{object}",
        "HEAD^{tag}",
        "HEAD^{blob}",
        "HEAD^{tree}^{commit}",
        "tree-tag^{commit}",
        "tree-tag^{tree}",
        "blob-tag^{blob}",
        "blob-tag^{tree}",
        "HEAD:file^{blob}",
        "HEAD^{x}",
        "HEAD^{",
        "HEAD^}",
        "HEAD^{commit",
        "HEAD^{commit}}",
        "HEAD^{tree}x",
        "no-such^{}",
        "no-such^{commit}",
        "^{}",
        "^{commit}",
        "v1^{commit}^{tree}",
        "v1^{}^{}~1",
        "HEAD^{/first}",
        "HEAD^{/subject}",
        "HEAD^{/^second}",
        "HEAD^{/no such}",
        "HEAD^{/}",
        "HEAD^{/}x}",
        "HEAD^{/!-merge}",
        "HEAD^{/!!side}",
        "HEAD^{/!x}",
        "HEAD^{/!!bang}",
        "HEAD^{/body$}",
        "v1^{/first}",
        "HEAD^{/(}",
        "HEAD^{/[}",
        "HEAD^{/first|third}",
        "HEAD^{/\\[sub}",
        "side^{/third}",
        "HEAD^{/s.*d \\[}",
        "HEAD^{/^merge}~1",
        "HEAD^{/third}:file",
        "HEAD^{/(first|no: such)}",
        "HEAD@{2038-01-01 10:30}:file",
        "tree-tag^{/x}",
        ":/first",
        ":/third",
        ":/merge",
        ":/^!side",
        ":/!!side",
        ":/!-merge",
        ":/!x",
        ":/",
        ":/no such text",
        ":/s{2}",
        ":/e{1",
        ":/*",
        ":/subject",
        "HEAD:",
        "HEAD:file",
        "HEAD:dir",
        "HEAD:dir/",
        "HEAD:dir/file",
        "HEAD:dir//file",
        "HEAD:/file",
        "HEAD:dir/sub/deep",
        "HEAD:dir/no",
        "HEAD:no",
        "HEAD:no/no",
        "HEAD:file/x",
        "HEAD:file/",
        "HEAD:dir-x",
        "HEAD:a:b",
        "HEAD:a",
        "HEAD:untracked",
        "HEAD:module",
        "HEAD:module/",
        "HEAD:module/x",
        "HEAD:gone-module",
        "v1:file",
        "nested:dir/file",
        "tree-tag:file",
        "tree-tag:",
        "blob-tag:",
        "blob-tag:x",
        "HEAD:dir:x",
        "no-such:file",
        "no-such:",
        "HEAD~1:file",
        "HEAD~99:file",
        "HEAD:./file",
        "HEAD:../file",
        "HEAD:./",
        "HEAD:./dir/../file",
        "HEAD:./no",
        "HEAD:../../x",
        "HEAD:.",
        "HEAD:dir/.",
        "HEAD:to-file",
        "HEAD:to-dir",
        "HEAD:to-dir/file",
        "HEAD:to-dir/",
        "HEAD:to-dir/up",
        "HEAD:to-dir/no",
        "HEAD:dir/up",
        "HEAD:dir/down",
        "HEAD:dir/out",
        "HEAD:dir/out/more",
        "HEAD:absolute",
        "HEAD:absolute/x",
        "HEAD:dangling",
        "HEAD:dangling/x",
        "HEAD:loop",
        "HEAD:one",
        "HEAD:two/x",
        "HEAD:parent",
        "HEAD:parent/x",
        "HEAD:self",
        "HEAD:self/file",
        "HEAD:back",
        "HEAD:back/file",
        "HEAD:winding",
        "HEAD:chain",
        "HEAD:through-file",
        "HEAD:doubled",
        "HEAD:slashed",
        "HEAD:slashed/file",
        "HEAD:into-module",
        "HEAD:to-file/x",
        "HEAD:dir/../file",
        "HEAD:..",
        ":",
        ":file",
        ":dir/file",
        ":dir",
        ":dir/",
        ":no",
        ":untracked",
        ":a:b",
        ":./file",
        ":../file",
        ":./no",
        ":0:file",
        ":1:file",
        ":2:file",
        ":3:file",
        ":4:file",
        ":0:fought",
        ":1:fought",
        ":2:fought",
        ":3:fought",
        ":fought",
        ":0:",
        ":0",
        ":0:./file",
        ":1:./fought",
        ":../../../x",
        ":/file",
        ":module",
        ":gone-module",
        ":0:no",
        "@{0}",
        "@{1}",
        "@{2}",
        "@{3}",
        "@{4}",
        "@{5}",
        "@{6}",
        "@{99}",
        "HEAD@{0}",
        "HEAD@{1}",
        "HEAD@{3}",
        "HEAD@{7}",
        "HEAD@{8}",
        "HEAD@{99}",
        "main@{0}",
        "main@{1}",
        "main@{4}",
        "side@{0}",
        "side@{1}",
        "side@{2}",
        "refs/heads/main@{1}",
        "heads/main@{1}",
        "light@{0}",
        "both@{0}",
        "both@{1}",
        "origin/main@{0}",
        "origin/main@{1}",
        "origin@{0}",
        "alias@{0}",
        "no-such@{0}",
        "no-such@{1}",
        "HEAD@{1}^{tree}",
        "HEAD@{1}~1",
        "HEAD@{1}:file",
        "@{1}:file",
        "@{-1}",
        "@{-2}",
        "@{-3}",
        "@{-4}",
        "@{-9}",
        "@{-0}",
        "@{-1}~1",
        "@{-1}^{tree}",
        "@{-1}:file",
        "@{-1}@{0}",
        "@{-1}@{u}",
        "@{-3}@{u}",
        "x@{-1}",
        "@{--1}",
        "@{-1x}",
        "@{-x}",
        "@{u}",
        "@{upstream}",
        "@{U}",
        "@{UpStream}",
        "@@{u}",
        "HEAD@{u}",
        "main@{u}",
        "main@{upstream}",
        "side@{u}",
        "both@{u}",
        "dead@{u}",
        "light@{u}",
        "no-such@{u}",
        "main@{u}~1",
        "main@{u}:file",
        "main@{u}^{tree}",
        "main@{u}@{0}",
        "main@{u}@{u}",
        "@{push}",
        "main@{push}",
        "side@{push}",
        "both@{push}",
        "dead@{push}",
        "no-such@{push}",
        "@{PUSH}",
        "@{garbage}",
        "@{friday}",
        "@{now}",
        "@{yesterday}",
        "@{3 days ago}",
        "HEAD@{2023-11-14}",
        "HEAD@{2023-11-13 18:26:40 +0000}",
        "HEAD@{1699900000}",
        "HEAD@{1699920000}",
        "@{1}^{blob}",
        "HEAD@{1699920001}",
        "main@{1699910000}",
        "main@{1699000000}",
        "HEAD@{1 year ago}",
        "side@{1699930000}",
        "HEAD@{never}",
        "@{noon yesterday}",
        "light@{yesterday}",
        "@{u}@{now}",
        "main@{x}",
        "main@{}",
        "@{}",
        "@{",
        "main@{1",
        "@{1}@{1}",
        "@@{0}",
        "@@",
        "@~1",
        "@^{tree}",
        "@:file",
        "@x",
        "x@",
        "a@b",
        "HEAD^!",
        "HEAD^@",
        "HEAD^-",
        "HEAD..main",
        "HEAD...main",
        "v1-0-gdeadbeef",
        "--",
        "\u{fc}",
        "HEAD:\u{fc}",
        ":\u{fc}",
    ]);
    let ids = [
        "HEAD",
        "HEAD^{tree}",
        "v1",
        "HEAD~1",
        "HEAD:file",
        "HEAD:dir/file",
        "nested",
        "HEAD:dir-x",
    ];
    for revision in ids {
        let id = sandbox.git(["rev-parse", revision]);
        names.push(id.to_uppercase());
        names.push(format!("{id}^{{commit}}"));
        for length in [3, 4, 5, 7, 12, id.len() - 1, id.len()] {
            names.push(id[..length].to_owned());
        }
        let short = &id[..4];
        for text in [
            "~1",
            "^",
            "^0",
            "^{commit}",
            "^{tree}",
            "^{tag}",
            "^{blob}",
            "^{}",
            "^{/first}",
            ":file",
            ":",
            "@{0}",
            "@{u}",
        ] {
            names.push(format!("{short}{text}"));
        }
        for text in [
            "v1-3-g", "x-0-g", "x-f-g", "x-y-g", "x--g", "-1-g", "a..b-1-g", "x-1-G", "g",
            "x:y-1-g",
        ] {
            names.push(format!("{text}{short}"));
            names.push(format!("{text}{}", &id[..9]));
        }
        names.push(short.to_uppercase());
    }
    let length = sandbox.hash.len_in_hex();
    for id in [
        "0".repeat(length),
        "1".repeat(length),
        "1".repeat(40),
        "1".repeat(64),
        "1".repeat(65),
    ] {
        names.push(id.clone());
        names.push(format!("{id}^{{}}"));
        names.push(format!("{id}^"));
        names.push(format!("{id}~1"));
        names.push(format!("{id}:x"));
    }
    names.retain(|name| name != "--");
    names
}
