# Vigil for bash: the functions of gitstatus's plugin, answered by Vigil. `vigil init bash` prints this.
#
# A process in the background answers. It is no job and no child of this shell, which opens both its ends in /proc. Where it has
# ended or is halted, a question starts another one. Nothing is waited for without end but an answer of a process that works.

# Aliases are expanded when functions are defined: none is now. Commands are builtins, whatever functions there are.
\builtin shopt -q expand_aliases && __vigil_aliases=1
\builtin shopt -u expand_aliases

# gitstatus's plugin defines nothing for scripts either.
if [[ $- == *i* && ${BASH_VERSINFO[0]} -ge 4 ]]; then

__vigil_program=@program@
# A shell above this one may have told of its own process.
builtin unset GITSTATUS_DAEMON_PID
# Its options; the size of an index beyond which is not looked; both ends; how many bytes may lie there unread.
__vigil_options=() __vigil_index_max=-1 __vigil_request='' __vigil_response='' __vigil_unread=0
__vigil_number=0 __vigil_fields=() __vigil_came='' __vigil_owner=''

# Closes both ends, and has the process end, whatever it does.
function __vigil_leave {
  if [[ -n $__vigil_request ]]; then
    # It is that process only if it has the other end. A subshell lets it live.
    if [[ $__vigil_owner == "$BASHPID" && -n ${GITSTATUS_DAEMON_PID-} && /proc/$GITSTATUS_DAEMON_PID/fd/0 -ef /proc/self/fd/$__vigil_request ]]; then
      builtin kill -KILL "$GITSTATUS_DAEMON_PID" 2>/dev/null
    fi
    # `builtin exec` would close nothing for good.
    exec {__vigil_request}>&-
  fi
  [[ -z $__vigil_response ]] || exec {__vigil_response}<&-
  __vigil_request='' __vigil_response='' __vigil_came='' __vigil_unread=0
  builtin unset GITSTATUS_DAEMON_PID
}

# Starts a process in the place of the one that may be there.
function __vigil_launch {
  builtin local pid='' request='' response='' name=''
  __vigil_leave
  pid=$(
    for name in "${!VIGIL_PROMPT_@}" "${!LC_@}" LANG NO_COLOR; do
      [[ -z ${!name+set} ]] || builtin export "${name?}"
    done
    "$__vigil_program" gitstatusd --background --parent-pid="$$" --prompt-for=bash "${__vigil_options[@]}"
  ) || builtin return
  [[ $pid == [1-9]* && $pid != *[!0-9]* ]] || builtin return
  {
    builtin exec {request}<>"/proc/$pid/fd/0" {response}<"/proc/$pid/fd/1"
    # With varredir_close only the plain word leaves them open.
    [[ /proc/self/fd/$response -ef /proc/$pid/fd/1 ]] || exec {request}<>"/proc/$pid/fd/0" {response}<"/proc/$pid/fd/1"
    [[ /proc/self/fd/$response -ef /proc/$pid/fd/1 ]] || builtin return 1
  } 2>/dev/null
  __vigil_request=$request __vigil_response=$response GITSTATUS_DAEMON_PID=$pid __vigil_owner=$BASHPID
}

# Whether the process is there and not halted.
function __vigil_works {
  builtin local stat=''
  [[ -n ${GITSTATUS_DAEMON_PID-} && -n $__vigil_request ]] || builtin return
  [[ /proc/$GITSTATUS_DAEMON_PID/fd/0 -ef /proc/self/fd/$__vigil_request ]] || builtin return
  { IFS='' builtin read -r stat <"/proc/$GITSTATUS_DAEMON_PID/stat"; } 2>/dev/null || builtin return
  [[ ${stat##*) } != [tT]* ]]
}

# Writes the record $1. What is not read yet has room in every pipe.
function __vigil_send {
  if [[ $__vigil_unread -gt 0 && $((__vigil_unread + ${#1})) -gt 4096 ]]; then
    builtin return 1
  fi
  __vigil_unread=$((__vigil_unread + ${#1}))
  { builtin printf '%s' "$1" >&"$__vigil_request"; } 2>/dev/null
}

# Waits for the answer to the question $1, and leaves its fields: for $2 seconds, or, if there is no second argument, as long as
# the process works. Returns 1 if the time is over, and 2 if nothing will come.
function __vigil_wait {
  # Bytes, whatever they mean. The user may have forbidden to change it.
  builtin local LC_ALL=C 2>/dev/null
  builtin local status=0 part='' step='' left_ms=250
  if [[ $# -gt 1 ]]; then
    part=${2#*.}000
    [[ $2 == *.* ]] || part=000
    left_ms=$((10#0${2%%.*} * 1000 + 10#${part:0:3}))
  fi
  while builtin :; do
    part='' status=0
    step=$((left_ms > 250 ? 250 : left_ms > 0 ? left_ms : 1))
    builtin printf -v step '0.%03d' "$step"
    IFS='' builtin read -r -d $'\x1e' -t "$step" -u "$__vigil_response" part || status=$?
    __vigil_came+=$part
    if [[ $status -gt 128 ]]; then
      [[ $# -lt 2 ]] || left_ms=$((left_ms - 250))
      [[ $left_ms -gt 0 ]] || builtin return 1
      __vigil_works || builtin return 2
    elif [[ $status -ne 0 ]]; then
      builtin return 2
    else
      part=$__vigil_came __vigil_came=''
      # What comes after the time of an older question is nobody's.
      if [[ ${part%%$'\x1f'*} == "$1" ]]; then
        __vigil_unread=0
        __vigil_fields=()
        while [[ $part == *$'\x1f'* ]]; do
          __vigil_fields+=("${part%%$'\x1f'*}")
          part=${part#*$'\x1f'}
        done
        __vigil_fields+=("$part")
        builtin return 0
      fi
    fi
  done
}

# Whether a word is a number of seconds.
function __vigil_is_time {
  [[ $1 == *[0-9]* && $1 != *[!0-9.]* && $1 != *.*.* ]] && builtin return
  builtin printf 'invalid -t argument: %s\n' "$1" >&2
  builtin return 1
}

function __vigil_clear {
  builtin unset VCS_STATUS_WORKDIR VCS_STATUS_COMMIT VCS_STATUS_LOCAL_BRANCH VCS_STATUS_REMOTE_BRANCH \
    VCS_STATUS_REMOTE_NAME VCS_STATUS_REMOTE_URL VCS_STATUS_ACTION VCS_STATUS_INDEX_SIZE VCS_STATUS_NUM_STAGED \
    VCS_STATUS_NUM_UNSTAGED VCS_STATUS_NUM_CONFLICTED VCS_STATUS_NUM_UNTRACKED VCS_STATUS_HAS_STAGED \
    VCS_STATUS_HAS_UNSTAGED VCS_STATUS_HAS_CONFLICTED VCS_STATUS_HAS_UNTRACKED VCS_STATUS_COMMITS_AHEAD \
    VCS_STATUS_COMMITS_BEHIND VCS_STATUS_STASHES VCS_STATUS_TAG VCS_STATUS_NUM_UNSTAGED_DELETED \
    VCS_STATUS_NUM_STAGED_NEW VCS_STATUS_NUM_STAGED_DELETED VCS_STATUS_PUSH_REMOTE_NAME VCS_STATUS_PUSH_REMOTE_URL \
    VCS_STATUS_PUSH_COMMITS_AHEAD VCS_STATUS_PUSH_COMMITS_BEHIND VCS_STATUS_NUM_SKIP_WORKTREE \
    VCS_STATUS_NUM_ASSUME_UNCHANGED VCS_STATUS_COMMIT_ENCODING VCS_STATUS_COMMIT_SUMMARY
}

# Sets what the fields of an answer say.
function __vigil_set {
  builtin set -- "${__vigil_fields[@]}"
  if [[ $2 != 1 ]]; then
    __vigil_clear
    VCS_STATUS_RESULT=norepo-sync
    __vigil_drawn=("${@:3}")
    builtin return 0
  fi
  VCS_STATUS_RESULT=ok-sync
  VCS_STATUS_WORKDIR=$3
  VCS_STATUS_COMMIT=$4
  VCS_STATUS_LOCAL_BRANCH=$5
  VCS_STATUS_REMOTE_BRANCH=$6
  VCS_STATUS_REMOTE_NAME=$7
  VCS_STATUS_REMOTE_URL=$8
  VCS_STATUS_ACTION=$9
  VCS_STATUS_INDEX_SIZE=${10}
  VCS_STATUS_NUM_STAGED=${11}
  VCS_STATUS_NUM_UNSTAGED=${12}
  VCS_STATUS_NUM_CONFLICTED=${13}
  VCS_STATUS_NUM_UNTRACKED=${14}
  VCS_STATUS_COMMITS_AHEAD=${15}
  VCS_STATUS_COMMITS_BEHIND=${16}
  VCS_STATUS_STASHES=${17}
  VCS_STATUS_TAG=${18}
  VCS_STATUS_NUM_UNSTAGED_DELETED=${19}
  VCS_STATUS_NUM_STAGED_NEW=${20}
  VCS_STATUS_NUM_STAGED_DELETED=${21}
  VCS_STATUS_PUSH_REMOTE_NAME=${22}
  VCS_STATUS_PUSH_REMOTE_URL=${23}
  VCS_STATUS_PUSH_COMMITS_AHEAD=${24}
  VCS_STATUS_PUSH_COMMITS_BEHIND=${25}
  VCS_STATUS_NUM_SKIP_WORKTREE=${26}
  VCS_STATUS_NUM_ASSUME_UNCHANGED=${27}
  VCS_STATUS_COMMIT_ENCODING=${28}
  VCS_STATUS_COMMIT_SUMMARY=${29}
  VCS_STATUS_HAS_STAGED=$((VCS_STATUS_NUM_STAGED > 0))
  VCS_STATUS_HAS_UNSTAGED=$((VCS_STATUS_NUM_UNSTAGED > 0))
  VCS_STATUS_HAS_CONFLICTED=$((VCS_STATUS_NUM_CONFLICTED > 0))
  VCS_STATUS_HAS_UNTRACKED=$((VCS_STATUS_NUM_UNTRACKED > 0))
  if [[ $__vigil_index_max -ge 0 && $VCS_STATUS_INDEX_SIZE -gt $__vigil_index_max ]]; then
    VCS_STATUS_HAS_UNSTAGED=-1 VCS_STATUS_HAS_CONFLICTED=-1 VCS_STATUS_HAS_UNTRACKED=-1
  fi
  __vigil_drawn=("${@:30}")
}

# Usage: gitstatus_start [-t FLOAT] [-s|-u|-c|-d|-m|-r INT] [-e] [-U] [-W] [-D]
function gitstatus_start {
  builtin local opt='' timeout=5 index_max=-1 OPTIND=1 OPTARG='' OPTERR=1
  builtin local options
  options=()
  while builtin getopts 't:s:u:c:d:m:r:eUWD' opt; do
    case $opt in
      t) timeout=$OPTARG ;;
      '?') builtin return 1 ;;
      *)
        options+=("-$opt${OPTARG-}")
        [[ $opt != m ]] || index_max=$OPTARG
        ;;
    esac
  done
  if [[ $OPTIND -ne $(($# + 1)) ]]; then
    builtin printf '%s\n' 'usage: gitstatus_start [OPTION]...' >&2
    builtin return 1
  fi
  [[ -z ${GITSTATUS_DAEMON_PID-} ]] || builtin return 0
  [[ ${GITSTATUS_NUM_THREADS:-0} != [1-9]* ]] || options+=("-t$GITSTATUS_NUM_THREADS")
  __vigil_is_time "$timeout" || builtin return
  __vigil_options=("${options[@]}") __vigil_index_max=$index_max GITSTATUS_DAEMON_LOG=/dev/null
  if ! { __vigil_launch && __vigil_send $'}hello\x1f\x1e' && __vigil_wait '}hello' "$timeout"; }; then
    gitstatus_stop
    builtin printf '%s\n' '[ERROR]: gitstatus failed to initialize.' >&2
    builtin return 1
  fi
}

# Usage: gitstatus_stop
function gitstatus_stop {
  __vigil_leave
  builtin return 0
}

# Usage: gitstatus_check
function gitstatus_check {
  [[ -n ${GITSTATUS_DAEMON_PID-} ]]
}

# Usage: gitstatus_query [-d STR] [-t FLOAT] [-p]
function gitstatus_query {
  builtin local opt='' dir='' no_diff=0 id='' tries=0 status=0 here='' tail='' OPTIND=1 OPTARG='' OPTERR=1
  builtin local timeout
  timeout=()
  # -c is for the functions in zsh; here nothing is late.
  while builtin getopts 'd:c:t:p' opt; do
    case $opt in
      d) dir=$OPTARG ;;
      t) timeout=("$OPTARG") ;;
      p) no_diff=1 ;;
      c) ;;
      *) builtin return 1 ;;
    esac
  done
  if [[ $OPTIND -ne $(($# + 1)) ]]; then
    builtin printf '%s\n' 'usage: gitstatus_query [OPTION]...' >&2
    builtin return 1
  fi
  [[ ${#timeout[@]} -eq 0 ]] || __vigil_is_time "${timeout[0]}" || builtin return
  gitstatus_check || builtin return
  here=${PWD-}
  if [[ $here != /* || ! $here -ef . ]]; then
    here=$(builtin pwd -P 2>/dev/null) || builtin return
  fi
  if [[ -z ${GIT_DIR-} ]]; then
    [[ $dir == /* ]] || dir=$here${dir:+/$dir}
  elif [[ $GIT_DIR == /* ]]; then
    dir=:$GIT_DIR
  else
    dir=:$here/$GIT_DIR
  fi
  # No request holds a path with a separator in it, and none is as long.
  if [[ $dir == *[$'\x1e\x1f']* || ${#dir} -gt 4096 ]]; then
    __vigil_fields=("$id" 0)
    __vigil_set
    builtin return 0
  fi
  # What a prompt shows is where the shell is, not its GIT_DIR.
  [[ $dir != :* || $here == *[$'\x1e\x1f']* || ${#here} -gt 4096 ]] || tail=$'\x1f'$here
  if ! __vigil_works; then
    __vigil_launch 2>/dev/null || builtin return
  fi
  # A number of this process's own: a subshell hears what is meant for the shell.
  __vigil_number=$((__vigil_number + 1))
  id=$BASHPID.$__vigil_number
  while builtin :; do
    tries=$((tries + 1))
    status=2
    if __vigil_send "$id"$'\x1f'"$dir"$'\x1f'"$no_diff$tail"$'\x1e'; then
      status=0
      __vigil_wait "$id" "${timeout[@]}" || status=$?
    fi
    case $status in
      0)
        __vigil_set
        builtin return 0
        ;;
      2)
        if [[ $tries -gt 1 ]] || ! __vigil_launch 2>/dev/null; then
          builtin return 1
        fi
        ;;
      *) builtin return 1 ;;
    esac
  done
}

fi

# --prompt
if [[ $- == *i* && ${BASH_VERSINFO[0]} -ge 4 ]]; then

__vigil_last=('' 0 '') __vigil_top='' __vigil_directory=''
GITSTATUS_PROMPT='' GITSTATUS_PROMPT_LEN=0

# Asks, and sets GITSTATUS_PROMPT.
function __vigil_prompt_update {
  builtin local status=$? patience=50
  [[ ${VIGIL_PROMPT_PATIENCE_MS:-x} == *[!0-9]* ]] || patience=$VIGIL_PROMPT_PATIENCE_MS
  builtin printf -v patience '%d.%03d' "$((10#$patience / 1000))" "$((10#$patience % 1000))"
  GITSTATUS_PROMPT='' GITSTATUS_PROMPT_LEN=0 __vigil_drawn=()
  if ! gitstatus_check; then
    gitstatus_start -s -1 -u -1 -c -1 -d -1 2>/dev/null || builtin :
  fi
  if gitstatus_query -t "$patience"; then
    __vigil_top=${VCS_STATUS_WORKDIR-} __vigil_last=("${__vigil_drawn[@]}")
    GITSTATUS_PROMPT=${__vigil_drawn[0]-} GITSTATUS_PROMPT_LEN=${__vigil_drawn[1]-0}
  elif [[ -n $__vigil_top && ${PWD-}/ == "$__vigil_top"/* ]]; then
    # What was known last, if it is of the same working copy.
    GITSTATUS_PROMPT=${__vigil_last[2]} GITSTATUS_PROMPT_LEN=${__vigil_last[1]}
  fi
  __vigil_directory=${__vigil_drawn[3]-}
  [[ -n $__vigil_directory ]] || builtin printf -v __vigil_directory '%q' "${PWD-}"
  # In one string with the user's commands, these are to see his.
  builtin return "$status"
}

if [[ "${PROMPT_COMMAND[*]-}" != *__vigil_prompt_update* ]]; then
  if [[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -ge 51 ]]; then
    # Each element finds what the user's command left. Who knows of one alone sets the first, which is not this.
    PROMPT_COMMAND=([1]=__vigil_prompt_update "${PROMPT_COMMAND[@]}")
  else
    PROMPT_COMMAND=__vigil_prompt_update${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}
  fi
fi
builtin shopt -s promptvars

if [[ -n ${NO_COLOR-} || ${TERM-} == dumb ]]; then
  PS1='\u@\h ${__vigil_directory}${GITSTATUS_PROMPT:+ $GITSTATUS_PROMPT}\n\$ '
else
  PS1='\[\e[38;5;70m\]\u@\h\[\e[39m\] ${__vigil_directory}${GITSTATUS_PROMPT:+ $GITSTATUS_PROMPT}\n\[\e[$((31+!$?))m\]\$\[\e[39m\] '
fi

fi
# --end
[[ -z ${__vigil_aliases-} ]] || builtin shopt -s expand_aliases
builtin unset __vigil_aliases
