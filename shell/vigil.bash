# Vigil for bash: the functions of gitstatus's plugin, answered by Vigil. `vigil init bash` prints this.
#
# A background process answers. It is neither a job nor a child of this shell, which opens both of its pipes through /proc. If it
# has ended or is halted, the next question starts another one. Only the wait for an answer of a working process has no limit.

# Aliases are expanded when functions are defined, so turn them off meanwhile. `builtin` bypasses functions of the user's.
\builtin shopt -q expand_aliases && __vigil_aliases=1
\builtin shopt -u expand_aliases

# Local variables begin with _vigil_: a name that the user has made readonly could not be made local.

# Like gitstatus's plugin, this defines nothing in a shell that is not interactive.
if [[ $- == *i* && ${BASH_VERSINFO[0]} -ge 4 ]]; then

# If this script was evaluated before, end the process that it started then.
[[ ${__vigil_owner-} != "$BASHPID" || -z ${__vigil_request-} ]] || __vigil_leave

__vigil_program=@program@
# A parent shell may have exported the id of its own process.
builtin unset GITSTATUS_DAEMON_PID
# The process's options, the index size above which the working tree is not scanned, both pipes, and the bytes perhaps unread.
__vigil_options=() __vigil_index_max=-1 __vigil_request='' __vigil_response='' __vigil_unread=0
__vigil_number=0 __vigil_fields=() __vigil_came='' __vigil_owner='' __vigil_home=''
# The question whose answer a prompt no longer waited for, and that answer, once it arrives.
__vigil_pending='' __vigil_late=''

# Whether the descriptor $2 is still the other end of the process's descriptor $1: the user may have reused the number for
# another file. Once the process has ended, all that can be checked is that it is a pipe.
function __vigil_is_end {
  builtin local _vigil_other="/proc/${GITSTATUS_DAEMON_PID-}/fd/$1"
  [[ -n $2 && -p /proc/self/fd/$2 ]] && [[ ! -e $_vigil_other || $_vigil_other -ef /proc/self/fd/$2 ]]
}

# Closes both pipes and kills the process, whatever it is doing.
function __vigil_leave {
  # Before the kill: a process that has ended has no descriptors to compare with.
  __vigil_is_end 1 "$__vigil_response" || __vigil_response=''
  if __vigil_is_end 0 "$__vigil_request"; then
    # The id may have been reused: kill only the process that holds the other end of our pipe, and not that of a parent shell.
    if [[ $__vigil_owner == "$BASHPID" && -n ${GITSTATUS_DAEMON_PID-} && /proc/$GITSTATUS_DAEMON_PID/fd/0 -ef /proc/self/fd/$__vigil_request ]]; then
      builtin kill -KILL "$GITSTATUS_DAEMON_PID" 2>/dev/null
    fi
    # Not `builtin exec`: it would not close the descriptor for good.
    exec {__vigil_request}>&-
  fi
  [[ -z $__vigil_response ]] || exec {__vigil_response}<&-
  __vigil_request='' __vigil_response='' __vigil_came='' __vigil_unread=0 __vigil_pending='' __vigil_late=''
  builtin unset GITSTATUS_DAEMON_PID
}

# Runs the program with the options $@ and the variables that affect how prompts look. It exports these: call it in a subshell.
function __vigil_run {
  builtin local _vigil_name=''
  for _vigil_name in "${!VIGIL_PROMPT_@}" "${!LC_@}" LANG NO_COLOR; do
    [[ -z ${!_vigil_name+set} ]] || builtin export "${_vigil_name?}"
  done
  "$__vigil_program" gitstatusd --prompt-for=bash "$@"
}

# Starts a process, in place of any earlier one.
function __vigil_launch {
  builtin local _vigil_pid='' _vigil_request='' _vigil_response='' _vigil_shell="$BASHPID"
  __vigil_leave
  _vigil_pid=$(__vigil_run --background --parent-pid="$_vigil_shell" "${__vigil_options[@]}") || builtin return
  [[ $_vigil_pid == [1-9]* && $_vigil_pid != *[!0-9]* ]] || builtin return
  {
    builtin exec {_vigil_request}<>"/proc/$_vigil_pid/fd/0" {_vigil_response}<"/proc/$_vigil_pid/fd/1"
    # If varredir_close is set, only a plain `exec` leaves them open.
    [[ /proc/self/fd/$_vigil_response -ef /proc/$_vigil_pid/fd/1 ]] || exec {_vigil_request}<>"/proc/$_vigil_pid/fd/0" {_vigil_response}<"/proc/$_vigil_pid/fd/1"
    [[ /proc/self/fd/$_vigil_response -ef /proc/$_vigil_pid/fd/1 ]] || builtin return 1
  } 2>/dev/null
  __vigil_request=$_vigil_request __vigil_response=$_vigil_response GITSTATUS_DAEMON_PID=$_vigil_pid __vigil_owner=$BASHPID __vigil_home=${HOME-}
}

# Whether there is a process that was started for this shell and is not halted. A subshell needs its own: two readers of one pipe
# would take each other's answers. So does another HOME, because it has another user configuration.
function __vigil_works {
  builtin local _vigil_stat=''
  [[ $__vigil_owner == "$BASHPID" && $__vigil_home == "${HOME-}" ]] || builtin return
  [[ -n ${GITSTATUS_DAEMON_PID-} && -n $__vigil_request ]] || builtin return
  [[ /proc/$GITSTATUS_DAEMON_PID/fd/0 -ef /proc/self/fd/$__vigil_request ]] || builtin return
  [[ /proc/$GITSTATUS_DAEMON_PID/fd/1 -ef /proc/self/fd/$__vigil_response ]] || builtin return
  { IFS='' builtin read -r _vigil_stat <"/proc/$GITSTATUS_DAEMON_PID/stat"; } 2>/dev/null || builtin return
  [[ ${_vigil_stat##*) } != [tT]* ]]
}

# Writes the record $1. Fails if earlier ones may be unread and all together exceed 4096 bytes, for which every pipe has room.
function __vigil_send {
  if [[ $__vigil_unread -gt 0 && $((__vigil_unread + ${#1})) -gt 4096 ]]; then
    builtin return 1
  fi
  __vigil_unread=$((__vigil_unread + ${#1}))
  { builtin printf '%s' "$1" >&"$__vigil_request"; } 2>/dev/null
}

# Splits the record $1 into __vigil_fields.
function __vigil_split {
  builtin local LC_ALL=C 2>/dev/null
  builtin local _vigil_rest="$1"
  __vigil_fields=()
  while [[ $_vigil_rest == *$'\x1f'* ]]; do
    __vigil_fields+=("${_vigil_rest%%$'\x1f'*}")
    _vigil_rest=${_vigil_rest#*$'\x1f'}
  done
  __vigil_fields+=("$_vigil_rest")
}

# Waits for the answer to the question $1 and splits it into __vigil_fields: for $2 seconds or, without $2, for as long as the
# process works. Returns 1 if the time is up, and 2 if no answer will come. Call it with standard error redirected: bash
# complains when it goes back to a locale that is not installed.
function __vigil_wait {
  # Read bytes, not characters. This fails, silently, if the user has made LC_ALL readonly.
  builtin local LC_ALL=C 2>/dev/null
  builtin local _vigil_status=0 _vigil_part='' _vigil_step='' _vigil_left_ms=250
  if [[ $# -gt 1 ]]; then
    _vigil_part=${2#*.}000
    [[ $2 == *.* ]] || _vigil_part=000
    _vigil_left_ms=$((10#0${2%%.*} * 1000 + 10#${_vigil_part:0:3}))
  fi
  while builtin :; do
    _vigil_part='' _vigil_status=0
    _vigil_step=$((_vigil_left_ms > 250 ? 250 : _vigil_left_ms > 0 ? _vigil_left_ms : 1))
    builtin printf -v _vigil_step '0.%03d' "$_vigil_step"
    IFS='' builtin read -r -d $'\x1e' -t "$_vigil_step" -u "$__vigil_response" _vigil_part || _vigil_status=$?
    __vigil_came+=$_vigil_part
    if [[ $_vigil_status -gt 128 ]]; then
      [[ $# -lt 2 ]] || _vigil_left_ms=$((_vigil_left_ms - 250))
      [[ $_vigil_left_ms -gt 0 ]] || builtin return 1
      __vigil_works || builtin return 2
    elif [[ $_vigil_status -ne 0 ]]; then
      builtin return 2
    else
      _vigil_part=$__vigil_came __vigil_came=''
      if [[ ${_vigil_part%%$'\x1f'*} == "$1" ]]; then
        __vigil_unread=0
        __vigil_split "$_vigil_part" 2>/dev/null
        builtin return 0
      fi
      # A late answer is kept for the pending question, and dropped for any other.
      [[ ${_vigil_part%%$'\x1f'*} != "$__vigil_pending" ]] || __vigil_late=$_vigil_part
    fi
  done
}

# Checks that $1 is a number of seconds.
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

# Sets the variables from the fields of an answer.
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
  builtin local _vigil_opt='' _vigil_timeout=5 _vigil_index_max=-1 OPTIND=1 OPTARG='' OPTERR=1
  builtin local _vigil_options
  _vigil_options=()
  while builtin getopts 't:s:u:c:d:m:r:eUWD' _vigil_opt; do
    case $_vigil_opt in
      t) _vigil_timeout=$OPTARG ;;
      '?') builtin return 1 ;;
      *)
        _vigil_options+=("-$_vigil_opt${OPTARG-}")
        [[ $_vigil_opt != m ]] || _vigil_index_max=$OPTARG
        ;;
    esac
  done
  if [[ $OPTIND -ne $(($# + 1)) ]]; then
    builtin printf '%s\n' 'usage: gitstatus_start [OPTION]...' >&2
    builtin return 1
  fi
  [[ -z ${GITSTATUS_DAEMON_PID-} ]] || builtin return 0
  [[ ${GITSTATUS_NUM_THREADS:-0} != [1-9]* ]] || _vigil_options+=("-t$GITSTATUS_NUM_THREADS")
  __vigil_is_time "$_vigil_timeout" || builtin return
  __vigil_options=("${_vigil_options[@]}") __vigil_index_max=$_vigil_index_max GITSTATUS_DAEMON_LOG=/dev/null
  if ! { __vigil_launch && __vigil_send $'}hello\x1f\x1e' && __vigil_wait '}hello' "$_vigil_timeout" 2>/dev/null; }; then
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
  builtin local _vigil_opt='' _vigil_dir='' _vigil_no_diff=0 _vigil_id='' _vigil_tries=0 _vigil_status=0 _vigil_here='' _vigil_tail='' OPTIND=1 OPTARG='' OPTERR=1
  builtin local _vigil_timeout
  _vigil_timeout=()
  # -c, the callback for late answers, is only for zsh: here no answer is late.
  while builtin getopts 'd:c:t:p' _vigil_opt; do
    case $_vigil_opt in
      d) _vigil_dir=$OPTARG ;;
      t) _vigil_timeout=("$OPTARG") ;;
      p) _vigil_no_diff=1 ;;
      c) ;;
      *) builtin return 1 ;;
    esac
  done
  if [[ $OPTIND -ne $(($# + 1)) ]]; then
    builtin printf '%s\n' 'usage: gitstatus_query [OPTION]...' >&2
    builtin return 1
  fi
  [[ ${#_vigil_timeout[@]} -eq 0 ]] || __vigil_is_time "${_vigil_timeout[0]}" || builtin return
  gitstatus_check || builtin return
  _vigil_here=${PWD-}
  if [[ $_vigil_here != /* || ! $_vigil_here -ef . ]]; then
    _vigil_here=$(builtin pwd -P 2>/dev/null) || builtin return
  fi
  if [[ -z ${GIT_DIR-} ]]; then
    [[ $_vigil_dir == /* ]] || _vigil_dir=$_vigil_here${_vigil_dir:+/$_vigil_dir}
  elif [[ $GIT_DIR == /* ]]; then
    _vigil_dir=:$GIT_DIR
  else
    _vigil_dir=:$_vigil_here/$GIT_DIR
  fi
  # A request cannot hold a path that contains a separator or is too long.
  if [[ $_vigil_dir == *[$'\x1e\x1f']* || ${#_vigil_dir} -gt 4096 ]]; then
    __vigil_fields=("$_vigil_id" 0)
    __vigil_set
    builtin return 0
  fi
  # The directory that a prompt shows is the shell's, not GIT_DIR.
  [[ $_vigil_dir != :* || $_vigil_here == *[$'\x1e\x1f']* || ${#_vigil_here} -gt 4096 ]] || _vigil_tail=$'\x1f'$_vigil_here
  if ! __vigil_works; then
    __vigil_launch 2>/dev/null || builtin return
  fi
  # The question's number includes the process id, since a subshell also hears answers that are meant for its parent.
  __vigil_number=$((__vigil_number + 1))
  _vigil_id=$BASHPID.$__vigil_number
  while builtin :; do
    _vigil_tries=$((_vigil_tries + 1))
    _vigil_status=2
    if __vigil_send "$_vigil_id"$'\x1f'"$_vigil_dir"$'\x1f'"$_vigil_no_diff$_vigil_tail"$'\x1e'; then
      _vigil_status=0
      __vigil_wait "$_vigil_id" "${_vigil_timeout[@]}" 2>/dev/null || _vigil_status=$?
    fi
    case $_vigil_status in
      0)
        __vigil_set
        builtin return 0
        ;;
      2)
        if [[ $_vigil_tries -gt 1 ]] || ! __vigil_launch 2>/dev/null; then
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

# What the prompt showed for the last answer, and the shell's directory and GIT_DIR at that time.
__vigil_last=('' 0 '') __vigil_last_directory='' __vigil_last_git_dir='' __vigil_pending_place='' __vigil_directory=''
GITSTATUS_PROMPT='' GITSTATUS_PROMPT_LEN=0

# Leaves the top folder of the innermost repository around $1 in __vigil_top, or nothing. It goes up by `..` instead of
# shortening the path, since a part of the path may be a symbolic link.
function __vigil_find_top {
  __vigil_top=$1
  while [[ ! -e $__vigil_top/.git && ! -e $__vigil_top/.hg ]]; do
    if [[ ! -d $__vigil_top || $__vigil_top -ef / ]]; then
      __vigil_top=''
      builtin return
    fi
    __vigil_top+=/..
  done
}

# Whether the last answer was about the working copy that the shell is in.
function __vigil_is_same {
  builtin local __vigil_top='' _vigil_last_top=''
  [[ -n $__vigil_last_directory && ${PWD-} -ef . && ${GIT_DIR-} == "$__vigil_last_git_dir" ]] || builtin return
  [[ $__vigil_last_directory != "$PWD" && ${GIT_DIR-} != /* ]] || builtin return 0
  [[ -z ${GIT_DIR-} ]] || builtin return
  __vigil_find_top "$__vigil_last_directory"
  _vigil_last_top=$__vigil_top
  __vigil_find_top "$PWD"
  [[ -n $__vigil_top && $__vigil_top -ef $_vigil_last_top ]]
}

# Keeps the answer in __vigil_fields as the last one.
function __vigil_prompt_keep {
  __vigil_set
  __vigil_last=("${__vigil_drawn[@]}") __vigil_last_directory=${PWD-} __vigil_last_git_dir=${GIT_DIR-}
}

# Asks, and waits for $1 seconds. If the answer is not there by then, the question is pending.
function __vigil_prompt_ask {
  builtin local _vigil_number="$__vigil_number"
  if gitstatus_query -t "$1"; then
    __vigil_prompt_keep
    builtin return 0
  fi
  __vigil_pending='' __vigil_late=''
  # Nothing will arrive if no question was sent, or if there is no process.
  [[ $__vigil_number -eq $_vigil_number || -z ${GITSTATUS_DAEMON_PID-} ]] || __vigil_pending=$BASHPID.$__vigil_number
  builtin return 1
}

# Brings the last answer up to date. Returns 1 if it may be stale.
function __vigil_prompt_find {
  builtin local _vigil_patience=50 _vigil_soon=0.001 _vigil_status=0
  [[ ${VIGIL_PROMPT_PATIENCE_MS:-x} == *[!0-9]* ]] || _vigil_patience=$VIGIL_PROMPT_PATIENCE_MS
  [[ ${#_vigil_patience} -le 9 ]] || _vigil_patience=999999999
  builtin printf -v _vigil_patience '%d.%03d' "$((10#$_vigil_patience / 1000))" "$((10#$_vigil_patience % 1000))"
  if [[ $- == *r* ]]; then
    # A restricted shell cannot ask anything, now or later.
    __vigil_last=('' 0 '') __vigil_last_directory=''
    builtin return 0
  fi
  if ! gitstatus_check; then
    gitstatus_start -s -1 -u -1 -c -1 -d -1 2>/dev/null || builtin return
  fi
  if [[ -n $__vigil_pending ]]; then
    if [[ $__vigil_pending_place != "${GIT_DIR-}:${PWD-}" ]] || ! __vigil_works; then
      # The pending question keeps the process from answering others.
      __vigil_launch 2>/dev/null || builtin return
    else
      [[ -n $__vigil_late ]] || __vigil_wait "$__vigil_pending" "$_vigil_soon" 2>/dev/null || _vigil_status=$?
      if [[ $_vigil_status -eq 1 ]]; then
        _vigil_soon=$_vigil_patience _vigil_patience=0.001 _vigil_status=0
        __vigil_wait "$__vigil_pending" "$_vigil_soon" 2>/dev/null || _vigil_status=$?
      fi
      [[ $_vigil_status -ne 1 ]] || builtin return 1
      if [[ $_vigil_status -eq 0 ]]; then
        [[ -z $__vigil_late ]] || __vigil_split "$__vigil_late" 2>/dev/null
        # The question is older than the last command: keep its answer, and ask again below.
        __vigil_prompt_keep
      fi
      __vigil_pending='' __vigil_late=''
    fi
  fi
  __vigil_pending_place=${GIT_DIR-}:${PWD-}
  __vigil_prompt_ask "$_vigil_patience"
}

# Sets GITSTATUS_PROMPT.
function __vigil_prompt_set {
  builtin local _vigil_lines=''
  GITSTATUS_PROMPT='' GITSTATUS_PROMPT_LEN=0 __vigil_directory=''
  if __vigil_prompt_find; then
    GITSTATUS_PROMPT=${__vigil_last[0]-} GITSTATUS_PROMPT_LEN=${__vigil_last[1]-0} __vigil_directory=${__vigil_last[3]-}
  elif __vigil_is_same; then
    # The last answer in its stale form, if it was about this working copy.
    GITSTATUS_PROMPT=${__vigil_last[2]-} GITSTATUS_PROMPT_LEN=${__vigil_last[1]-0}
  fi
  if [[ -z $__vigil_directory && $- != *r* ]]; then
    _vigil_lines=$(__vigil_run --ask=: --here="${PWD-}" 2>/dev/null </dev/null)
    # The directory is the fifth of six lines; the last is its width.
    _vigil_lines=${_vigil_lines%$'\n'*}
    __vigil_directory=${_vigil_lines##*$'\n'}
  fi
  [[ -n $__vigil_directory ]] || builtin printf -v __vigil_directory '%q' "${PWD-}"
  if [[ ! -o emacs && ! -o vi ]]; then
    # Only line editing interprets these marks.
    GITSTATUS_PROMPT=${GITSTATUS_PROMPT//[$'\x01\x02']/} __vigil_directory=${__vigil_directory//[$'\x01\x02']/}
  fi
}

# Runs before each prompt, followed by `&& :` so that the exit code it returns does not count as a failure.
function __vigil_prompt_update {
  # Not in a local variable: under `set -k`, the assignment would only be part of the environment of `local`.
  builtin set -- "$?"
  # Keep this out of the user's traces and traps.
  [[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -lt 44 ]] || builtin local -
  builtin set +x +T +E +k
  __vigil_prompt_set || builtin :
  if [[ -n ${bash_preexec_imported-}${__bp_imported-} ]]; then
    # bash-preexec was loaded after this script.
    __vigil_prompt_leave_to_preexec
  fi
  # Commands after this one in the same string must see the user's exit code.
  builtin return "$1"
}

# Moves the call to bash-preexec's list of functions: it would take a call in PROMPT_COMMAND for a command of the user's.
function __vigil_prompt_leave_to_preexec {
  builtin local _vigil_number=''
  [[ " ${precmd_functions[*]-} " == *' __vigil_prompt_update '* ]] || precmd_functions+=(__vigil_prompt_update)
  for _vigil_number in "${!PROMPT_COMMAND[@]}"; do
    if [[ ${PROMPT_COMMAND[_vigil_number]} == '__vigil_prompt_update && :' ]]; then
      PROMPT_COMMAND[_vigil_number]=:
    fi
  done
}

if [[ -n ${bash_preexec_imported-}${__bp_imported-} ]]; then
  __vigil_prompt_leave_to_preexec
elif [[ "${PROMPT_COMMAND[*]-}" != *__vigil_prompt_update* ]]; then
  if [[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -lt 51 ]]; then
    PROMPT_COMMAND="__vigil_prompt_update && :"${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}
  elif [[ -z ${PROMPT_COMMAND[*]-} ]]; then
    # Scripts that take PROMPT_COMMAND for a string set its first element, so leave that free.
    PROMPT_COMMAND=([1]='__vigil_prompt_update && :')
  else
    # They may also append to it. Each element finds the exit code of the user's command.
    PROMPT_COMMAND=(: '__vigil_prompt_update && :' "${PROMPT_COMMAND[@]}")
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
