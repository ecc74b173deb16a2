# Talks to a gitstatusd as gitstatus's zsh plugin does: starts it in a process group of its own, by a process
# substitution whose output is the responses; learns the group; greets it; asks about directories; stops the group.
# Needs a terminal, since there is a process group only with job control.
#
#   handshake.zsh OUTPUT DAEMON DIRECTORY...
#
# Writes the answers to the file OUTPUT, one field per line.

emulate -R zsh
setopt extended_glob monitor || exit
zmodload zsh/system zsh/datetime || exit

output=$1 daemon=$2
shift 2
prefix=${output:h}/handshake.$sysparams[pid]
hello=$'}hello\x1f\x1e' welcome=$'}hello\x1f0\x1e'

give_up() {
  print -r -- "$1" >>$output
  exit 1
}

# Runs on the other side of the pipe.
serve() {
  local -i responses
  exec <&- {responses}>&1 >/dev/null 2>&1
  local group=$sysparams[pid]
  builtin cd -q /
  {
    {
      trap '' PIPE
      mkfifo -- $prefix.fifo
      print -rnu $responses -- ${(l:20:)group}
      exec <$prefix.fifo
      rm -- $prefix.fifo
      # Powerlevel10k's options, in its order.
      HOME=$HOME $daemon -G v1.5.5 -s -1 -u -1 -d -1 -c -1 -m -1 -v FATAL -t 4 >&$responses
    } always {
      rm -f -- $prefix.lock $prefix.fifo
      kill -- -$group
    }
  } &!
  # Ends the group if the shell dies before the greeting.
  {
    zsystem flock -- $prefix.lock && sleep 5 && [[ -e $prefix.lock ]] && kill -- -$group
  } &!
}

# Reads exactly $1 bytes into `reply`.
receive() {
  local -i count=$1
  local piece
  reply=
  while (( $#reply < count )); do
    sysread -s $(( count - $#reply )) -t 30 -i $responses piece || return
    reply+=$piece
  done
}

print -rn >$prefix.lock
zsystem flock -f lock $prefix.lock || give_up 'no lock'
sysopen -r -o cloexec -u responses <(serve) || give_up 'no process'

receive 20 || give_up 'no process group'
[[ $reply == ' '#<1-> ]] || give_up "no number: $reply"
group=${reply##* }
sysopen -w -o cloexec -u requests -- $prefix.fifo || give_up 'no way to ask'
print -rnu $requests -- $hello
receive $#welcome || give_up "no welcome: $reply"
[[ $reply == $welcome ]] || give_up "another welcome: $reply"
rm -- $prefix.lock
zsystem flock -u $lock

for directory; do
  print -rnu $requests -- "$EPOCHREALTIME"$'\x1f'$directory$'\x1f0\x1e'
  answer=
  until [[ $answer == *$'\x1e' ]]; do
    receive 1 || give_up "no answer: $answer"
    answer+=$reply
  done
  print -rl -- "answer for $directory" "${(@ps:\x1f:)${answer%?}}" >>$output
done

kill -- -$group
# The end of the pipe shows that no process holds it any more.
until sysread -t 30 -i $responses reply; (( ? == 5 )); do
  (( ? == 4 )) && give_up 'it lives on'
done
[[ -e $prefix.fifo ]] && give_up 'something is left behind'
print -r -- 'all is gone' >>$output
