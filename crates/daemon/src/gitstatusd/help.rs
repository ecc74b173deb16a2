//! The text of `--help`.

pub(super) const TEXT: &str = "\
Usage: gitstatusd [OPTION]...
Answers requests for the status of git working copies, read from standard input.

  -l, --lock-fd=NUM                       exit when this descriptor's lock is gone [-1: never]
  -p, --parent-pid=NUM                    exit when this process is gone [-1: never]
  -t, --num-threads=NUM                   the most threads of a scan [1]
  -v, --log-level=STR                     DEBUG, INFO, WARN, ERROR or FATAL [INFO]
  -r, --repo-ttl-seconds=NUM              forget repositories idle for so long [3600; negative: never]
  -z, --max-commit-summary-length=NUM     cut commit summaries to so many bytes [256]
  -s, --max-num-staged=NUM                count at most so many staged changes [1; negative: all]
  -u, --max-num-unstaged=NUM              count at most so many unstaged changes [1; negative: all]
  -c, --max-num-conflicted=NUM            count at most so many conflicts [1; negative: all]
  -d, --max-num-untracked=NUM             count at most so many untracked files [1; negative: all]
  -m, --dirty-max-index-size=NUM          with more files than this tracked, count neither unstaged
                                          nor untracked ones [-1: always count]
  -e, --recurse-untracked-dirs            count each file in untracked directories
  -U, --ignore-status-show-untracked-files
                                          count untracked files even if status.showUntrackedFiles is off
  -W, --ignore-bash-show-untracked-files  count untracked files even if bash.showUntrackedFiles is off
  -D, --ignore-bash-show-dirty-state      count changes even if bash.showDirtyState is off
  -V, --version                           print the version and exit
  -G, --version-glob=STR                  exit with 11 unless the version matches [*]
  -h, --help                              print this and exit

A request is ID 0x1F DIRECTORY [0x1F FLAG] 0x1E. A directory with ':' before it is a GIT_DIR. FLAG 1 leaves
out all that needs the index. A response is fields separated by 0x1F and ended by 0x1E:

   1 ID             9 action            16 behind             23 push remote's URL
   2 0 or 1        10 index size        17 stashes            24 ahead of push remote
   3 work tree     11 staged            18 tag                25 behind push remote
   4 commit        12 unstaged          19 unstaged deleted   26 skip-worktree files
   5 branch        13 conflicted        20 staged new         27 assume-unchanged files
   6 remote branch 14 untracked         21 staged deleted     28 commit's encoding
   7 remote        15 ahead             22 push remote        29 commit's summary
   8 remote's URL

Field 2 is 0, and the last, where the directory is in no working copy.
";
