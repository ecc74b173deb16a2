# For a zsh that is about to read its first line: completes each line of the file $ASK as if it had been typed, writes what
# could be added to the file $ANSWERS, and ends.
#
# Before that the file $SETUP is read.

autoload -Uz compinit
compinit -u -D
typeset -ga ask_lines ask_matches
ask_lines=("${(@f)$(<$ASK)}")
source $SETUP

# Notes what is added, where it is not only sorted out (compadd's -O, -A and -D).
compadd() {
  local -a added
  if [[ " ${(j: :)@} " == *' -'[OAD]' '* ]]; then
    builtin compadd "$@"
    return
  fi
  builtin compadd -O added "$@"
  ask_matches+=("${added[@]}")
  builtin compadd "$@"
}

# Whatever the options are by now.
zle-line-init() {
  local asked
  for asked in "${ask_lines[@]}"; do
    ask_matches=()
    BUFFER="$asked"
    CURSOR="${#BUFFER}"
    zle list-choices || true
    print -r -- "$asked => ${(j: :)ask_matches[@]}" >>"$ANSWERS"
  done
  exit 0
}
zle -N zle-line-init
