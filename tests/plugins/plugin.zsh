# Asks the unmodified zsh plugin about every state. Sourced by an interactive zsh on a terminal.
#
# $1: the plugin's checkout; $2: the directory with the states. Answers go to the file `zsh` there, and those after the
# process was killed to `zsh.again`.

source ${0:h}/fields
# The plugin would take an argument for a suffix to its names.
plugin=$1 states=$2
set --
source $plugin/gitstatus.plugin.zsh || exit

ask_all() {
  local name rest
  while IFS='|' read -r name rest; do
    gitstatus_query -d $states/$name -t 30 PROBE || VCS_STATUS_RESULT=failed
    print -r -- "$name|$(fields)"
  done <$states/table >$1
}

start() {
  gitstatus_start -s -1 -u -1 -c -1 -d -1 -m -1 -t 30 PROBE
}

start || exit
ask_all $states/zsh
# After the process is killed from outside, the next question fails, and the process is started again.
kill -KILL -- -$GITSTATUS_DAEMON_PID_PROBE
gitstatus_query -d $states/clean -t 30 PROBE && print -r -- 'a dead process answered' >>$states/zsh
gitstatus_stop PROBE
start || exit
ask_all $states/zsh.again
gitstatus_stop PROBE
exit 0
