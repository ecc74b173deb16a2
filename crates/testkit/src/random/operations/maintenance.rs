//! The storage of objects and references.

use super::operation::table;

table! {
    "collect garbage", 2, |m| m.git(&["gc", "-q"]);
    "pack the references", 2, |m| m.git(&["pack-refs", "--all"]);
    "repack", 1, |m| m.git(&["repack", "-q", "-a", "-d", "--depth=50", "--window=50"]);
    "write a commit graph", 2, |m| m.git(&["commit-graph", "write", "--reachable"]);
    "write a split commit graph", 1, |m| m.git(&["commit-graph", "write", "--reachable", "--split"]);
    "write a multi-pack index", 1, |m| { m.git(&["repack", "-q"]); m.git(&["multi-pack-index", "write"]); };
    "replace a commit", 1, |m| m.git(&["replace", "-f", "HEAD", "HEAD~1"]);
    "end replacing", 1, |m| m.git(&["replace", "-d", "HEAD"]);
    "expire the reflog", 1, |m| m.git(&["reflog", "expire", "--expire=now", "--all"]);
    "prune objects", 1, |m| m.git(&["prune", "--expire=now"]);
}
