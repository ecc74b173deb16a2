//! Ignore rules at all levels.

use bstr::BString;

use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "write ignore rules", 8, |m| { let rules = random_rules(m); m.write(b".gitignore", rules); };
    "write ignore rules in a directory", 8, |m| {
        let directory = m.directory();
        let rules = random_rules(m);
        m.write(&join(&directory, b".gitignore"), rules);
    };
    "write info/exclude", 4, |m| {
        let rules = random_rules(m);
        m.act(Action::write(format!("{}/info/exclude", m.common_directory), rules));
    };
    "write the user's ignore rules", 2, |m| {
        let rules = random_rules(m);
        m.act(Action::write("home/.config/git/ignore", rules));
    };
    "write and name an excludes file", 2, |m| {
        let rules = random_rules(m);
        m.act(Action::write("excludes", rules));
        let name = m.rng.pick(&["{ROOT}/excludes", "~/../excludes", "excludes", "/vigil-missing"]);
        m.git(&["config", "core.excludesFile", name]);
    };
    "ignore a path of its own", 6, |m| {
        let path = m.path();
        let mut rule = BString::from(m.rng.pick(&["", "/", "!", "!/"]));
        rule.extend_from_slice(&path);
        rule.extend_from_slice(m.rng.pick(&["\n", "/\n", "/*\n", ""]).as_bytes());
        m.act(Action::Append { path: "work/.gitignore".into(), data: rule });
    };
    "remove ignore rules", 3, |m| m.remove(b".gitignore");
    "link to ignore rules", 1, |m| {
        m.remove(b".gitignore");
        m.act(Action::Link { path: "work/.gitignore".into(), target: "{ROOT}/excludes".into() });
    };
    "make ignore rules a directory", 1, |m| {
        let directory = m.directory();
        m.act(Action::Directory { path: join(b"work", &join(&directory, b".gitignore")) });
    };
}

/// Rules whose order, negation, anchors and escapes matter.
const RULES: &[&str] = &[
    "*.o\n",
    "*.log\n",
    "!x.log\n",
    "/build\n",
    "build/\n",
    "!build/a\n",
    "a\n",
    "/a\n",
    "a/\n",
    "dir/*\n",
    "!dir/sub/\n",
    "dir/**/x\n",
    "**/sub\n",
    "sub/**\n",
    "*\n",
    "!*/\n",
    "!*.c\n",
    "\\!bang\n",
    "\\#hash\n",
    "# comment\n",
    "trail\\ \n",
    "trail  \n",
    "*.O\n",
    "[a-c]*\n",
    "[!a]*\n",
    "?\n",
    "dir\r\n",
    "\n",
    "**\n",
    "/*/\n",
    "!/*\n",
    "d\\*\n",
    "new/deep\n",
    "deep/er/\n",
    "caf\u{e9}\n",
    "[[:upper:]]*\n",
    "back\\\\slash\n",
    "a/**/b\n",
    "**/\n",
    "!**/z\n",
    ".*\n",
    "!.gitignore\n",
    "s p/\n",
    "vendor\n",
    "a**\n",
    "dir",
    "[]\n",
    "\\\n",
];

fn random_rules(m: &mut Maker) -> BString {
    let mut text = BString::from(if m.rng.chance(5) { "\u{feff}" } else { "" });
    for _ in 0..m.rng.below(5) {
        text.extend_from_slice(m.rng.pick(RULES).as_bytes());
    }
    text
}
