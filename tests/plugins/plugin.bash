# Asks the unmodified bash plugin about every state.
#
# $1: the plugin's checkout; $2: the directory with the states. Answers go to the file `bash` there, and those after the
# process was killed to `bash.again`.

source "${BASH_SOURCE[0]%/*}"/fields
source "$1"/gitstatus.plugin.sh || exit

ask_all() {
	local name rest
	while IFS='|' read -r name rest; do
		gitstatus_query -d "$2/$name" -t 30 || VCS_STATUS_RESULT=failed
		echo "$name|$(fields)"
	done <"$2"/table >"$1"
}

start() {
	gitstatus_start -s -1 -u -1 -c -1 -d -1 -m -1 -t 30
}

start || exit
ask_all "$2"/bash "$2"
# After the process is killed from outside, a question soon fails, and the process is started again. Writing a question
# that nobody reads must not end this shell.
trap '' PIPE
kill -KILL $(cat /proc/"$GITSTATUS_DAEMON_PID"/task/"$GITSTATUS_DAEMON_PID"/children)
while gitstatus_query -d "$2"/clean -t 30; do :; done
gitstatus_stop
start || exit
ask_all "$2"/bash.again "$2"
gitstatus_stop
