//! Attributes, line endings and filters.

use bstr::BString;

use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "write attributes", 7, |m| { let lines = random_attributes(m); m.write(b".gitattributes", lines); };
    "write attributes in a directory", 4, |m| {
        let directory = m.directory();
        let lines = random_attributes(m);
        m.write(&join(&directory, b".gitattributes"), lines);
    };
    "write info/attributes", 2, |m| {
        let lines = random_attributes(m);
        m.act(Action::write(format!("{}/info/attributes", m.common_directory), lines));
    };
    "write and name an attributes file", 1, |m| {
        let lines = random_attributes(m);
        m.act(Action::write("attributes", lines));
        m.git(&["config", "core.attributesFile", "{ROOT}/attributes"]);
    };
    "write the user's attributes", 1, |m| {
        let lines = random_attributes(m);
        m.act(Action::write("home/.config/git/attributes", lines));
    };
    "remove attributes", 2, |m| m.remove(b".gitattributes");
    "configure a filter", 4, configure_filter;
    "check attributes out again", 2, |m| { m.git(&["rm", "-rq", "--cached", "."]); m.git(&["reset", "-q", "--hard"]); };
}

/// Attribute lines.
const LINES: &[&str] = &[
    "* text=auto\n",
    "*.txt text\n",
    "* -text\n",
    "* text eol=crlf\n",
    "* eol=lf\n",
    "a* text=auto eol=crlf\n",
    "*.c ident\n",
    "* ident\n",
    "b binary\n",
    "* filter=upper\n",
    "a filter=upper\n",
    "*.o filter=missing\n",
    "* filter=fails\n",
    "c.txt working-tree-encoding=UTF-16\n",
    "README working-tree-encoding=UTF-16LE-BOM\n",
    "z working-tree-encoding=latin-1\n",
    "* !text\n",
    "dir/* text=auto\n",
    "*.log -diff\n",
    "[attr]mine text eol=crlf\n",
    "*.c mine\n",
    "* crlf\n",
    "* -crlf\n",
    "* crlf=input\n",
    "\"with space\" text eol=crlf\n",
    "# comment\n",
    "!neg text\n",
    "**/sub/** -text\n",
    "a/ text\n",
    "README text\r\n",
    "* -filter\n",
    "f* export-ignore label=x\n",
];

fn random_attributes(m: &mut Maker) -> BString {
    let mut text = BString::default();
    for _ in 0..1 + m.rng.below(3) {
        text.extend_from_slice(m.rng.pick(LINES).as_bytes());
    }
    text
}

fn configure_filter(m: &mut Maker) {
    let settings: &[(&str, &str)] = match m.rng.below(6) {
        0 | 1 => &[
            ("filter.upper.clean", "tr a-z A-Z"),
            ("filter.upper.smudge", "tr A-Z a-z"),
        ],
        2 => &[
            ("filter.upper.clean", "sed -e s/line/LINE/"),
            ("filter.upper.required", "true"),
        ],
        3 => &[("filter.fails.clean", "false")],
        4 => &[
            ("filter.fails.clean", "false"),
            ("filter.fails.required", "true"),
        ],
        _ => &[
            ("filter.upper.clean", "cat"),
            ("filter.upper.smudge", "cat"),
            ("filter.fails.required", "false"),
        ],
    };
    for (name, value) in settings {
        m.git(&["config", name, value]);
    }
}
