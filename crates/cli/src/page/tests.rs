use super::*;
use crate::options::{OptionTable, Value};

const TABLE: OptionTable<()> = OptionTable {
    synopsis: "git show [<options>] <a>\n   or: git show\n            --b",
    headings: &[],
    entries: &[
        OptionEntry {
            short: Some(b'u'),
            argument: Argument::Optional("mode"),
            ..OptionEntry::flag((), "untracked", "show (what)")
        },
        OptionEntry {
            argument: Argument::Required("n"),
            negatable: false,
            ..OptionEntry::flag((), "number", "so many")
        },
        OptionEntry::flag((), "no-renames", "'.' and \\ are text"),
    ],
};

const COMMAND: Command = Command {
    name: "show",
    summary: "Show it",
    options: &TABLE,
    arguments: Some(Value::Any),
    subcommands: &[],
    prose: "# DESCRIPTION\nSome `words`\nof <one> paragraph.\n\n.Another\n\n# FILES\n`a`, `b`::\nBoth.\n\n    as it\n      is\n",
};

#[test]
fn a_page_as_text() {
    let page = of_command(&COMMAND);
    assert_eq!(
        text(&page, 80),
        "\
NAME
       vigil-show - Show it

SYNOPSIS
       vigil show [<options>] <a>
       vigil show --b

DESCRIPTION
       Some words of <one> paragraph.

       .Another

OPTIONS
       -u[<mode>], --[no-]untracked[=<mode>]
              Show (what)

       --number=<n>
              So many.

       --no-renames
              '.' and \\ are text.

       --renames
              The opposite of --no-renames.

FILES
       a, b
              Both.

           as it
             is
"
    );
    let narrow = text(&page, 1);
    let first = "       vigil-show - Show it\n";
    assert!(narrow.contains(first), "{narrow}");
    assert!(narrow.lines().all(|line| line.len() <= 40), "{narrow}");
}

#[test]
fn a_page_as_roff_has_no_requests_in_its_text() {
    let roff = roff(&of_command(&COMMAND));
    let head = ".TH VIGIL\\-SHOW 1 ";
    assert!(roff.starts_with(head), "{roff}");
    for line in [
        ".HP 4\n\\fBvigil show\\fR [\\fIoptions\\fR] \\fIa\\fR\n",
        "\n.SH \"DESCRIPTION\"\nSome \\fBwords\\fR of \\fIone\\fR paragraph.\n.PP\n\\&.Another\n",
        ".TP\n\\fB\\-u\\fR[\\fImode\\fR], \\fB\\-\\-[no\\-]untracked\\fR[=\\fImode\\fR]\nShow (what)\n",
        "\n\\(aq.\\(aq and \\e are text.\n",
        ".nf\n\\fBas it\\fR\n\\fB  is\\fR\n.fi\n",
    ] {
        assert!(roff.contains(line), "{line} in {roff}");
    }
}
