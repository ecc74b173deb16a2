//! The text of `--help`.

use super::options::{KNOWN_OPTIONS, KnownOption};

/// The column at which help texts begin.
const HELP_COLUMN: usize = 42;

/// Returns the whole text.
pub(super) fn text() -> String {
    let (of_this, of_answers) = KNOWN_OPTIONS.split_at(3);
    let (help, versions) = of_this.split_at(1);
    let options = [of_answers, versions, help].concat();
    let lines: String = options.iter().map(line).collect();
    format!("{HEAD}{lines}{TAIL}")
}

fn line(known: &KnownOption) -> String {
    let mut left = format!("  -{}, --{}", char::from(known.letter), known.long);
    if let Some(argument) = known.argument {
        left.extend(["=", argument]);
    }
    let indent = " ".repeat(HELP_COLUMN);
    let gap = match HELP_COLUMN.checked_sub(left.len()) {
        Some(gap @ 1..) => " ".repeat(gap),
        _ => format!("\n{indent}"),
    };
    let help = known.help.replace('\n', &format!("\n{indent}"));
    format!("{left}{gap}{help}\n")
}

const HEAD: &str = "\
Usage: gitstatusd [OPTION]...
Answers requests for the status of git working copies, read from standard input.

";

const TAIL: &str = "
For Vigil's own scripts for shells (see 'vigil init'), by their full names:

      --background                        start a process that answers, print its number and exit; the
                                          caller opens its standard input and output in /proc
      --prompt-for=SHELL                  add the fields of a prompt for zsh, bash or fish
      --ask=DIRECTORY                     print the answer to one request, a field a line, and exit
      --here=DIRECTORY                    in that answer, show this directory where DIRECTORY is a GIT_DIR
      --skip-index                        in that answer, leave out all that needs the index
      --within-ms=NUM                     exit with 75 if that takes longer
      --leave-for=PID.NUM                 have a process in the background leave that answer for question
                                          NUM of a shell, to which it sends URG then; print its number
      --hold-for=PID.NUM                  send that shell no signal, until it looks what was left
      --take-for=PID.NUM                  print what was left for that, once

A request is ID 0x1F DIRECTORY [0x1F FLAG [0x1F WHERE]] 0x1E. A directory with ':' before it is a GIT_DIR, and
WHERE the directory that a prompt shows. FLAG 1 leaves out all that needs the index. A response is fields separated by 0x1F and ended by 0x1E:

   1 ID             9 action            16 behind             23 push remote's URL
   2 0 or 1        10 index size        17 stashes            24 ahead of push remote
   3 work tree     11 staged            18 tag                25 behind push remote
   4 commit        12 unstaged          19 unstaged deleted   26 skip-worktree files
   5 branch        13 conflicted        20 staged new         27 assume-unchanged files
   6 remote branch 14 untracked         21 staged deleted     28 commit's encoding
   7 remote        15 ahead             22 push remote        29 commit's summary
   8 remote's URL

Field 2 is 0, and the last, where the directory is in no working copy. With --prompt-for five fields follow:
the prompt's segment, its width in columns, the segment as it looks while a newer one is waited for, the
directory, and its width. Of a process in the background, the request with the ID '}bye' is the last.
";
