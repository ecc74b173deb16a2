//! Damaged repositories: the answer is an error, or whatever git still reads, and never a crash.

use super::case::cases;
use crate::action::Damage::{Cut, Flip};

cases! {
    "shallow file of nonsense", |b| { b.base().write(".git/shallow", "nonsense\n"); };
    "shallow file of nonsense, on an unborn branch", |b| { b.empty().files().git(&["add", "-A"]).write(".git/shallow", "nonsense\n"); };
    "index cut to nothing", |b| { b.base().damage(".git/index", Cut(0)); };
    "index cut in its header", |b| { b.base().damage(".git/index", Cut(10)); };
    "index cut in the middle", |b| { b.base().damage(".git/index", Cut(500)); };
    "index cut at its end", |b| { b.base().damage(".git/index", Cut(990)); };
    "index with a flipped bit at 0 %", |b| { b.base().damage(".git/index", Flip(0)); };
    "index with a flipped bit at 1 %", |b| { b.base().damage(".git/index", Flip(12)); };
    "index with a flipped bit at 20 %", |b| { b.base().damage(".git/index", Flip(200)); };
    "index with a flipped bit at 45 %", |b| { b.base().damage(".git/index", Flip(450)); };
    "index with a flipped bit at 70 %", |b| { b.base().damage(".git/index", Flip(700)); };
    "index with a flipped bit at 90 %", |b| { b.base().damage(".git/index", Flip(900)); };
    "index with a flipped checksum", |b| { b.base().damage(".git/index", Flip(999)); };
    "index that is a directory", |b| { b.base().remove(".git/index").directory(".git/index"); };
    "HEAD cut", |b| { b.base().damage(".git/HEAD", Cut(400)); };
    "HEAD empty", |b| { b.base().damage(".git/HEAD", Cut(0)); };
    "HEAD with a flipped bit", |b| { b.base().damage(".git/HEAD", Flip(0)); };
    "HEAD missing", |b| { b.base().remove(".git/HEAD"); };
    "HEAD of a missing commit", |b| { b.base().write(".git/HEAD", "1234567890123456789012345678901234567890\n"); };
    "branch of a missing commit", |b| { b.base().write(".git/refs/heads/main", "1234567890123456789012345678901234567890\n"); };
    "branch of nonsense", |b| { b.base().write(".git/refs/heads/main", "nonsense\n"); };
    "branch empty", |b| { b.base().write(".git/refs/heads/main", ""); };
    "settings cut", |b| { b.base().damage(".git/config", Cut(300)); };
    "settings of nonsense", |b| { b.base().write(".git/config", "[core\n"); };
    "settings with a wrong value", |b| { b.base().git(&["config", "status.showUntrackedFiles", "sometimes"]); };
    "settings with a wrong boolean", |b| { b.base().git(&["config", "core.fileMode", "perhaps"]); };
    "settings of the future", |b| { b.base().git(&["config", "core.repositoryFormatVersion", "99"]); };
    "settings with an unknown extension", |b| { b.base().git(&["config", "core.repositoryFormatVersion", "1"]).git(&["config", "extensions.unknown", "1"]); };
    "packed references cut", |b| { b.remote().git(&["pack-refs", "--all"]).damage(".git/packed-refs", Cut(600)); };
    "packed references with a flipped bit", |b| { b.remote().git(&["pack-refs", "--all"]).damage(".git/packed-refs", Flip(600)); };
    "pack cut", |b| { b.fork().git(&["gc", "-q"]).damage(".git/objects/pack/*.pack", Cut(500)).write("a", "x\n"); };
    "pack with a flipped bit", |b| { b.fork().git(&["gc", "-q"]).damage(".git/objects/pack/*.pack", Flip(300)); };
    "pack index cut", |b| { b.fork().git(&["gc", "-q"]).damage(".git/objects/pack/*.idx", Cut(500)); };
    "tree of HEAD missing", |b| { b.base().remove(".git/objects/a7/af2cf49fc287018f1c154e19b0a83d8ce4603b"); };
    "objects missing", |b| { b.base().write("a", "x\n").git(&["add", "a"]).remove(".git/objects").directory(".git/objects"); };
    "git file of nonsense", |b| { b.base().rename(".git", "elsewhere").write(".git", "nonsense\n"); };
    "git file to nowhere", |b| { b.base().rename(".git", "elsewhere").write(".git", "gitdir: nowhere\n"); };
    ".gitmodules of nonsense", |b| { b.submodule().write(".gitmodules", "[submodule\n"); };
    "attributes of no text", |b| { b.base().write(".gitattributes", b"\xff\0\xfe * text\n".as_slice()).write("a", "x\r\n"); };
    "stash of nonsense", |b| { b.base().write("a", "x\n").git(&["stash", "-q"]).write(".git/logs/refs/stash", "nonsense\n"); };
    "merge of nonsense", |b| { b.base().write(".git/MERGE_HEAD", "nonsense\n"); };
    "rebase of nonsense", |b| { b.base().directory(".git/rebase-merge").write(".git/rebase-merge/head-name", "x").write(".git/rebase-merge/done", "\n\n"); };
}
