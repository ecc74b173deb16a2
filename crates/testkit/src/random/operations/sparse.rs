//! Sparse checkouts.

use bstr::BString;

use super::operation::table;
use crate::random::maker::Maker;

table! {
    "check out some directories", 4, |m| set_cone(m, &[]);
    "check out some directories with a sparse index", 4, |m| set_cone(m, &["--sparse-index"]);
    "add a directory to the sparse checkout", 2, |m| {
        let directory = m.directory();
        m.git_paths(&["sparse-checkout", "add", "--skip-checks"], &[directory]);
    };
    "check out by patterns", 3, set_patterns;
    "end the sparse checkout", 5, |m| m.git(&["sparse-checkout", "disable"]);
    "apply the sparse checkout again", 2, |m| m.git(&["sparse-checkout", "reapply"]);
    "switch the sparse index", 2, |m| {
        let value = m.rng.pick(&["--sparse-index", "--no-sparse-index"]);
        m.git(&["sparse-checkout", "reapply", value]);
    };
    "write sparse patterns by hand", 1, write_pattern_file;
    "add a sparse path", 2, |m| { let path = m.path(); m.git_paths(&["add", "--sparse"], &[path]); };
}

fn set_cone(m: &mut Maker, more: &[&str]) {
    let directories: Vec<BString> = (0..1 + m.rng.below(3)).map(|_| m.directory()).collect();
    let arguments = [&["sparse-checkout", "set", "--cone", "--skip-checks"], more].concat();
    m.git_paths(&arguments, &directories);
}

fn set_patterns(m: &mut Maker) {
    let pattern = m.rng.pick(&["*.c", "/*\n!/dir/", "a*", "!*.o", "dir/**"]);
    m.git(&["sparse-checkout", "set", "--no-cone", pattern, "README"]);
}

fn write_pattern_file(m: &mut Maker) {
    let path = format!("{}/info/sparse-checkout", m.git_directory);
    let data = m.rng.pick(&[
        "/*\n!/*/\n",
        "*\n!sub\n",
        "",
        "/*\n!/*/\n/dir/\n",
        "/*\n!/*/\n/dir/\n!/dir/*/\n/dir/sub/\n",
        "dir/\n",
        "!/*\n",
    ]);
    m.act(crate::action::Action::write(path, data));
    m.git(&["config", "core.sparseCheckout", "true"]);
    m.git(&["read-tree", "-m", "-u", "HEAD"]);
}
