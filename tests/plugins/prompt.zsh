# Has an interactive zsh with the unmodified Powerlevel10k visit every state, and reads its prompt from the terminal.
#
#   zsh -f prompt.zsh POWERLEVEL10K STATES [STYLE [VIGIL]]
#
# The style is lean, classic or rainbow. With VIGIL, the program's path, its functions are defined before the theme is loaded.
# What the version control segment shows goes to the file STATES/prompt, and what it shows after the process was killed to
# STATES/prompt.again.

emulate -R zsh -o extended_glob
zmodload zsh/zpty || exit
theme=$1 states=$2 style=${3:-lean} vigil=$4
export ZDOTDIR=$states/zdotdir
mkdir -p $ZDOTDIR

# The style's own configuration, but with marks around the text to read, and waiting for every answer.
[[ -z $vigil ]] || line="eval \"\$(${(q)vigil} init zsh)\""
print -r -- $line >$ZDOTDIR/.zshrc
cat >>$ZDOTDIR/.zshrc <<END
POWERLEVEL9K_DISABLE_CONFIGURATION_WIZARD=true
source ${(q)theme}/powerlevel10k.zsh-theme
source ${(q)theme}/config/p10k-$style.zsh
END
cat >>$ZDOTDIR/.zshrc <<'END'
prompt_place() { p10k segment -t "[[${PWD:t}]]" }
prompt_finish() { p10k segment -t '[[end]]' }
POWERLEVEL9K_LEFT_PROMPT_ELEMENTS=(place vcs finish)
POWERLEVEL9K_RIGHT_PROMPT_ELEMENTS=()
POWERLEVEL9K_INSTANT_PROMPT=off
POWERLEVEL9K_TRANSIENT_PROMPT=off
POWERLEVEL9K_PROMPT_ADD_NEWLINE=false
POWERLEVEL9K_VCS_MAX_SYNC_LATENCY_SECONDS=30
POWERLEVEL9K_VCS_CONTENT_EXPANSION='<<${$((my_git_formatter(1)))+${my_git_format}}>>'
END

shown=
# Waits for the prompt in a directory called $1, and leaves the text of its version control segment in `shown`.
read_prompt() {
  local seen= piece
  while zpty -r shell piece '*\[\[end\]\]*'; do
    seen+=$piece
    # Strip colours and other escape sequences.
    local plain=${${seen//$'\e['[0-9;?>=]#[A-Za-z]/}//[$'\r\n']/}
    local prompt=${plain##*\[\[${(b)1}\]\]}
    [[ $prompt != $plain && $prompt == *'[[end]]'* ]] || continue
    prompt=${prompt%%\[\[end\]\]*}
    shown=
    [[ $prompt == (#b)*'<<'(*)'>>'* ]] && shown=$match[1]
    return 0
  done
  print -ru2 -- "no prompt in $1: ${(V)seen}"
  exit 1
}

go() {
  zpty -w shell "cd -- ${(q)1}"
  read_prompt ${1:t}
}

show_all() {
  local name rest
  while IFS='|' read -r name rest; do
    go $states/$name
    print -r -- "$name|$shown"
  done <$states/table >$1
}

cd -q $states
zpty shell zsh -i || exit
read_prompt ${states:t}
show_all $states/prompt

# Without the process, Powerlevel10k falls back to what it can find out itself; the next shell starts a new one.
zpty -w shell 'kill -KILL -- -$GITSTATUS_DAEMON_PID_POWERLEVEL9K'
read_prompt ${$(tail -n 1 $states/table)%%\|*}
go $states/everything
[[ $shown == 'main +1 !1 ?1' ]] && print -r -- 'a dead process answered' >>$states/prompt
zpty -w shell 'exec zsh -i'
read_prompt everything
show_all $states/prompt.again
zpty -w shell exit
