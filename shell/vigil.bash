# Vigil for bash: the functions of gitstatus's plugin, answered by Vigil. `vigil init bash` prints this.
#
# A background process answers all requests. It is neither a job nor a child of this shell, which opens both of its pipes through
# /proc. If it has ended or is halted, the next request starts another one. A wait without a time limit lasts only while the
# process runs.

# Aliases are expanded when functions are defined, so turn them off until the end. Those in a command substitution are expanded
# when it runs, so a backslash prevents that. `builtin` bypasses the user's functions.
\builtin shopt -q expand_aliases && __vigil_aliases_were_on=1
\builtin shopt -u expand_aliases

# Functions assign arrays element by element, and not with `array=(...)`, which bash parses as input of its own: an interrupt
# meanwhile would end the shell.

# Names of local variables begin with _vigil_, because a variable that the user has made readonly cannot be made local.

# Paths are compared by `test`, because `[[` takes `a` for `A` if nocasematch is set.

# Like gitstatus's plugin, this defines nothing in a shell that is not interactive.
if [[ $- == *i* && ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -ge 42 ]]; then

# If this script was evaluated before, stop the process that it started then.
[[ ${__vigil_owner_pid-} != "$BASHPID" || -z ${__vigil_request_fd-} ]] || __vigil_stop_process

__vigil_program=@program@
# A parent shell may have exported the id of its process.
builtin unset GITSTATUS_DAEMON_PID
# The options that the process is started with, the index size above which the working tree is not scanned, the descriptors of
# both pipes, and how many bytes of requests the process may not have read yet.
__vigil_program_options=(--background) __vigil_dirty_max_index_size=-1 __vigil_request_fd='' __vigil_response_fd='' __vigil_unread_request_bytes=0
# The number of the last request, the fields of the last response, whether one is being received (if that is found later, an
# interrupt has ended it, and a part may be lost), and the id and HOME of the shell that the process was started for.
__vigil_request_number=0 __vigil_response_fields=() __vigil_is_receiving='' __vigil_owner_pid='' __vigil_owner_home=''
# The request whose response a prompt no longer waited for, and that response, once it arrives.
__vigil_pending_request_id='' __vigil_late_response=''

# Whether our descriptor $2 is still the other end of the process's descriptor $1: the user may have reused the number for another
# file. Once the process has ended, all that can be checked is that the descriptor is a pipe.
function __vigil_is_our_pipe_end {
  builtin local _vigil_process_fd_path="/proc/${GITSTATUS_DAEMON_PID-}/fd/$1"
  [[ -n $2 && -p /proc/self/fd/$2 ]] && [[ ! -e $_vigil_process_fd_path || $_vigil_process_fd_path -ef /proc/self/fd/$2 ]]
}

# Closes both pipes and kills the process, unless a parent shell started it.
function __vigil_stop_process {
  # Before the process is killed: one that has ended has no descriptors to compare with.
  __vigil_is_our_pipe_end 1 "$__vigil_response_fd" || __vigil_response_fd=''
  if __vigil_is_our_pipe_end 0 "$__vigil_request_fd"; then
    # The process id may have been reused, so kill only the process that holds the other end of our pipe.
    if [[ $__vigil_owner_pid == "$BASHPID" && -n ${GITSTATUS_DAEMON_PID-} && /proc/$GITSTATUS_DAEMON_PID/fd/0 -ef /proc/self/fd/$__vigil_request_fd ]]; then
      builtin kill -KILL "$GITSTATUS_DAEMON_PID" 2>/dev/null
    fi
    # Not `builtin exec`: it would not close the descriptor for good.
    exec {__vigil_request_fd}>&-
  fi
  [[ -z $__vigil_response_fd ]] || exec {__vigil_response_fd}<&-
  __vigil_request_fd='' __vigil_response_fd='' __vigil_is_receiving='' __vigil_unread_request_bytes=0 __vigil_pending_request_id='' __vigil_late_response=''
}

# Runs the program with the options $@. Call this in a subshell: it exports the variables that affect how prompts look.
function __vigil_run_program {
  builtin local _vigil_variable_name=''
  for _vigil_variable_name in "${!VIGIL_PROMPT_@}" "${!LC_@}" LANG NO_COLOR; do
    [[ -z ${!_vigil_variable_name+set} ]] || builtin export "${_vigil_variable_name?}"
  done
  "$__vigil_program" gitstatusd --prompt-for=bash "$@"
}

# Starts a process, in place of any earlier one.
function __vigil_start_process {
  __vigil_stop_process
  # After an interrupt, the next query starts a process. Not 0, which somebody may pass to `kill`.
  GITSTATUS_DAEMON_PID=starting
  __vigil_start_anew || gitstatus_stop
  [[ -n ${GITSTATUS_DAEMON_PID-} ]]
}

function __vigil_start_anew {
  builtin local _vigil_process_pid='' _vigil_shell_pid="$BASHPID"
  # Before bash 4.4, `read -t` gives up its handler of SIGALRM before the timer: in between, the signal would end the shell.
  [[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -ge 44 || -n $(\builtin trap -p ALRM) ]] || builtin trap : ALRM
  _vigil_process_pid=$(__vigil_run_program "${__vigil_program_options[@]}" --parent-pid="$_vigil_shell_pid") || builtin return
  [[ $_vigil_process_pid == [1-9]* && $_vigil_process_pid != *[!0-9]* ]] || builtin return
  {
    # Not by way of local variables: after an interrupt, nothing would close the descriptors.
    builtin exec {__vigil_request_fd}<>"/proc/$_vigil_process_pid/fd/0" {__vigil_response_fd}<"/proc/$_vigil_process_pid/fd/1"
    # If varredir_close is set, only a plain `exec` leaves them open.
    [[ /proc/self/fd/$__vigil_response_fd -ef /proc/$_vigil_process_pid/fd/1 ]] || exec {__vigil_request_fd}<>"/proc/$_vigil_process_pid/fd/0" {__vigil_response_fd}<"/proc/$_vigil_process_pid/fd/1"
    [[ /proc/self/fd/$__vigil_response_fd -ef /proc/$_vigil_process_pid/fd/1 ]] || builtin return 1
  } 2>/dev/null
  GITSTATUS_DAEMON_PID=$_vigil_process_pid __vigil_owner_pid=$BASHPID __vigil_owner_home=${HOME-}
}

# Whether there is a process that was started for this shell and HOME, and is not halted. A subshell needs its own process, since
# two readers of one pipe would take each other's responses. Another HOME has another user configuration.
function __vigil_process_is_usable {
  builtin local _vigil_process_stat=''
  [[ $__vigil_owner_pid == "$BASHPID" ]] && builtin test "$__vigil_owner_home" = "${HOME-}" || builtin return
  [[ -n ${GITSTATUS_DAEMON_PID-} && -n $__vigil_request_fd ]] || builtin return
  [[ /proc/$GITSTATUS_DAEMON_PID/fd/0 -ef /proc/self/fd/$__vigil_request_fd ]] || builtin return
  [[ /proc/$GITSTATUS_DAEMON_PID/fd/1 -ef /proc/self/fd/$__vigil_response_fd ]] || builtin return
  { IFS='' builtin read -r _vigil_process_stat <"/proc/$GITSTATUS_DAEMON_PID/stat"; } 2>/dev/null || builtin return
  [[ ${_vigil_process_stat##*) } != [tT]* ]]
}

# Writes the request $1. Fails if earlier ones may be unread and all together exceed 4096 bytes, for which every pipe has room.
function __vigil_send_request {
  if [[ $__vigil_unread_request_bytes -gt 0 && $((__vigil_unread_request_bytes + ${#1})) -gt 4096 ]]; then
    builtin return 1
  fi
  __vigil_unread_request_bytes=$((__vigil_unread_request_bytes + ${#1}))
  { builtin printf '%s' "$1" >&"$__vigil_request_fd"; } 2>/dev/null
}

# Splits the response $1 into __vigil_response_fields.
function __vigil_split_response {
  builtin local _vigil_flags _vigil_field _vigil_count
  # Restores the user's options, even after an interrupt. Before bash 4.4, only the last lines do.
  [[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -lt 44 ]] || builtin local -
  _vigil_flags=$- _vigil_count=0
  # Under `set -k`, assignments would only be part of the environment of `local`.
  builtin set -f +k
  builtin local LC_ALL=C IFS=$'\x1f' 2>/dev/null
  # With a separator at its end, the last field is one even if it is empty.
  builtin set -- "$1"$'\x1f'
  builtin unset -v __vigil_response_fields
  if builtin test "${IFS-}" = $'\x1f'; then
    # Not quoted, so that bash splits it. A loop that does takes twice as long, and seconds for a tag of 64 KiB.
    # shellcheck disable=SC2086
    builtin set -- $1
    for _vigil_field in "$@"; do
      __vigil_response_fields[_vigil_count]=$_vigil_field
      _vigil_count=$((_vigil_count + 1))
    done
  else
    # The user has made IFS readonly.
    while [[ -n $1 ]]; do
      _vigil_field=${1%%$'\x1f'*}
      __vigil_response_fields[_vigil_count]=$_vigil_field
      _vigil_count=$((_vigil_count + 1))
      builtin set -- "${1:${#_vigil_field}+1}"
    done
  fi
  builtin test "$_vigil_flags" != "${_vigil_flags%f*}" || builtin set +f
  builtin test "$_vigil_flags" = "${_vigil_flags%k*}" || builtin set -k
}

# Waits for the response to the request $1 and splits it into __vigil_response_fields. Waits for $2 seconds or, without $2, for as
# long as the process is usable. Returns 1 if the time is up, and 2 if no response will come. Call this with standard error
# redirected: bash complains when it returns to a locale that is not installed.
function __vigil_wait_for_response {
  # Read bytes, not characters. This fails silently if the user has made LC_ALL readonly.
  builtin local LC_ALL=C 2>/dev/null
  builtin local _vigil_read_status=0 _vigil_first_byte='' _vigil_fraction='' _vigil_record='' _vigil_id='' _vigil_read_timeout_ms=0 _vigil_read_timeout_s='' _vigil_remaining_ms=250
  if [[ $# -gt 1 ]]; then
    _vigil_fraction=${2#*.}000
    [[ $2 == *.* ]] || _vigil_fraction=000
    _vigil_remaining_ms=$((10#0${2%%.*} * 1000 + 10#${_vigil_fraction:0:3}))
  fi
  __vigil_is_receiving=1
  while builtin :; do
    _vigil_first_byte='' _vigil_read_status=0
    _vigil_read_timeout_ms=$((_vigil_remaining_ms > 250 ? 250 : _vigil_remaining_ms > 0 ? _vigil_remaining_ms : 1))
    builtin printf -v _vigil_read_timeout_s '0.%03d' "$_vigil_read_timeout_ms"
    # Only one byte: a read whose time is up just as it meets the end of a record drops that end.
    IFS='' builtin read -r -N 1 -t "$_vigil_read_timeout_s" -u "$__vigil_response_fd" _vigil_first_byte || _vigil_read_status=$?
    if [[ -n $_vigil_first_byte ]]; then
      _vigil_record=$_vigil_first_byte
      __vigil_receive_rest || builtin return 2
      _vigil_id=${_vigil_record%%$'\x1f'*}
      # Before bash 5.2, a read whose time is up may lose the byte that arrives just then, which is the first one of a response.
      if [[ $_vigil_id == "$1" || $_vigil_id == "${1:1}" ]]; then
        __vigil_unread_request_bytes=0
        __vigil_split_response "$_vigil_record" 2>/dev/null
        __vigil_is_receiving=''
        builtin return 0
      fi
      # A late response is kept if it is for the pending request, and dropped otherwise.
      [[ $_vigil_id != "$__vigil_pending_request_id" && $_vigil_id != "${__vigil_pending_request_id:1}" ]] || __vigil_late_response=$_vigil_record
    elif [[ $_vigil_read_status -gt 128 ]]; then
      [[ $# -lt 2 ]] || _vigil_remaining_ms=$((_vigil_remaining_ms - 250))
      if [[ $_vigil_remaining_ms -le 0 ]]; then
        __vigil_is_receiving=''
        builtin return 1
      fi
      __vigil_process_is_usable || builtin return 2
    else
      builtin return 2
    fi
  done
}

# Appends the rest of a response to _vigil_record. It is written without a pause: if nothing comes for a while, nothing will. It is
# read in parts, each of which is there at once: before bash 5.2, a read whose time is up may lose what it has read.
function __vigil_receive_rest {
  builtin local _vigil_chunk='' _vigil_read_status=0
  while builtin :; do
    _vigil_chunk='' _vigil_read_status=0
    IFS='' builtin read -r -d $'\x1e' -n 1000 -t 0.25 -u "$__vigil_response_fd" _vigil_chunk || _vigil_read_status=$?
    _vigil_record+=$_vigil_chunk
    if [[ $_vigil_read_status -eq 0 ]]; then
      # A part that is not shorter than asked for does not end with the response.
      [[ ${#_vigil_chunk} -ge 1000 ]] || builtin return 0
    elif [[ $_vigil_read_status -le 128 || -z $_vigil_chunk || ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -lt 52 ]]; then
      builtin return 1
    fi
  done
}

# Checks that $1 is a number of seconds, and reports an error if it is not.
function __vigil_check_number_of_seconds {
  [[ $1 == *[0-9]* && $1 != *[!0-9.]* && $1 != *.*.* ]] && builtin return
  builtin printf 'invalid -t argument: %s\n' "$1" >&2
  builtin return 1
}

function __vigil_unset_status_variables {
  builtin unset VCS_STATUS_WORKDIR VCS_STATUS_COMMIT VCS_STATUS_LOCAL_BRANCH VCS_STATUS_REMOTE_BRANCH \
    VCS_STATUS_REMOTE_NAME VCS_STATUS_REMOTE_URL VCS_STATUS_ACTION VCS_STATUS_INDEX_SIZE VCS_STATUS_NUM_STAGED \
    VCS_STATUS_NUM_UNSTAGED VCS_STATUS_NUM_CONFLICTED VCS_STATUS_NUM_UNTRACKED VCS_STATUS_HAS_STAGED \
    VCS_STATUS_HAS_UNSTAGED VCS_STATUS_HAS_CONFLICTED VCS_STATUS_HAS_UNTRACKED VCS_STATUS_COMMITS_AHEAD \
    VCS_STATUS_COMMITS_BEHIND VCS_STATUS_STASHES VCS_STATUS_TAG VCS_STATUS_NUM_UNSTAGED_DELETED \
    VCS_STATUS_NUM_STAGED_NEW VCS_STATUS_NUM_STAGED_DELETED VCS_STATUS_PUSH_REMOTE_NAME VCS_STATUS_PUSH_REMOTE_URL \
    VCS_STATUS_PUSH_COMMITS_AHEAD VCS_STATUS_PUSH_COMMITS_BEHIND VCS_STATUS_NUM_SKIP_WORKTREE \
    VCS_STATUS_NUM_ASSUME_UNCHANGED VCS_STATUS_COMMIT_ENCODING VCS_STATUS_COMMIT_SUMMARY
}

# Sets what the prompt shows: the segment, its width, its stale form, and the directory.
function __vigil_set_rendered_prompt {
  __vigil_rendered_prompt[0]=${1-}
  __vigil_rendered_prompt[1]=${2:-0}
  __vigil_rendered_prompt[2]=${3-}
  __vigil_rendered_prompt[3]=${4-}
}

# Sets the VCS_STATUS_* variables from the fields of the response.
function __vigil_set_status_variables {
  builtin set -- "${__vigil_response_fields[@]}"
  if [[ $2 != 1 ]]; then
    __vigil_unset_status_variables
    VCS_STATUS_RESULT=norepo-sync
    __vigil_set_rendered_prompt "${@:3}"
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
  if [[ $__vigil_dirty_max_index_size -ge 0 && $VCS_STATUS_INDEX_SIZE -gt $__vigil_dirty_max_index_size ]]; then
    VCS_STATUS_HAS_UNSTAGED=-1 VCS_STATUS_HAS_CONFLICTED=-1 VCS_STATUS_HAS_UNTRACKED=-1
  fi
  __vigil_set_rendered_prompt "${@:30}"
}

# Usage: gitstatus_start [-t FLOAT] [-s|-u|-c|-d|-m|-r INT] [-e] [-U] [-W] [-D]
function gitstatus_start {
  builtin local _vigil_opt='' _vigil_timeout_s=5 _vigil_dirty_max_index_size=-1 OPTIND=1 OPTARG='' OPTERR=1
  # Each option with a line feed after it.
  builtin local _vigil_program_options=--background$'\n' _vigil_count=0
  while builtin getopts 't:s:u:c:d:m:r:eUWD' _vigil_opt; do
    case $_vigil_opt in
      t) _vigil_timeout_s=$OPTARG ;;
      '?') builtin return 1 ;;
      *)
        _vigil_program_options+=-$_vigil_opt${OPTARG-}$'\n'
        [[ $_vigil_opt != m ]] || _vigil_dirty_max_index_size=$OPTARG
        ;;
    esac
  done
  if [[ $OPTIND -ne $(($# + 1)) ]]; then
    builtin printf '%s\n' 'usage: gitstatus_start [OPTION]...' >&2
    builtin return 1
  fi
  [[ -z ${GITSTATUS_DAEMON_PID-} ]] || builtin return 0
  [[ ${GITSTATUS_NUM_THREADS:-0} != [1-9]* ]] || _vigil_program_options+=-t$GITSTATUS_NUM_THREADS$'\n'
  __vigil_check_number_of_seconds "$_vigil_timeout_s" || builtin return
  builtin unset -v __vigil_program_options
  while [[ -n $_vigil_program_options ]]; do
    __vigil_program_options[_vigil_count]=${_vigil_program_options%%$'\n'*}
    _vigil_program_options=${_vigil_program_options#*$'\n'} _vigil_count=$((_vigil_count + 1))
  done
  __vigil_dirty_max_index_size=$_vigil_dirty_max_index_size GITSTATUS_DAEMON_LOG=/dev/null
  if ! { __vigil_start_process && __vigil_send_request $'}hello\x1f\x1e' && __vigil_wait_for_response '}hello' "$_vigil_timeout_s" 2>/dev/null; }; then
    gitstatus_stop
    builtin printf '%s\n' '[ERROR]: gitstatus failed to initialize.' >&2
    builtin return 1
  fi
}

# Usage: gitstatus_stop
function gitstatus_stop {
  __vigil_stop_process
  builtin unset GITSTATUS_DAEMON_PID
  builtin return 0
}

# Usage: gitstatus_check
function gitstatus_check {
  [[ -n ${GITSTATUS_DAEMON_PID-} ]]
}

# Usage: gitstatus_query [-d STR] [-t FLOAT] [-p]
function gitstatus_query {
  builtin local _vigil_opt='' _vigil_timeout_s _vigil_dir='' _vigil_no_diff=0 _vigil_request_id='' _vigil_attempts=0 _vigil_wait_status=0 _vigil_current_directory='' _vigil_directory_field='' OPTIND=1 OPTARG='' OPTERR=1
  # The callback for late responses, -c, is only for zsh: here no response is late.
  while builtin getopts 'd:c:t:p' _vigil_opt; do
    case $_vigil_opt in
      d) _vigil_dir=$OPTARG ;;
      t) _vigil_timeout_s=$OPTARG ;;
      p) _vigil_no_diff=1 ;;
      c) ;;
      *) builtin return 1 ;;
    esac
  done
  if [[ $OPTIND -ne $(($# + 1)) ]]; then
    builtin printf '%s\n' 'usage: gitstatus_query [OPTION]...' >&2
    builtin return 1
  fi
  [[ -z ${_vigil_timeout_s+set} ]] || __vigil_check_number_of_seconds "$_vigil_timeout_s" || builtin return
  gitstatus_check || builtin return
  _vigil_current_directory=${PWD-}
  if [[ $_vigil_current_directory != /* || ! $_vigil_current_directory -ef . ]]; then
    # Only in posix mode does `pwd` notice that the directory was renamed and another one has its name.
    _vigil_current_directory=$(\builtin set -o posix && \builtin pwd -P 2>/dev/null) || _vigil_current_directory=''
  fi
  # Without a current directory, only an absolute path can be queried.
  [[ -n $_vigil_current_directory || ${GIT_DIR:-$_vigil_dir} == /* ]] || builtin return
  if [[ -z ${GIT_DIR-} ]]; then
    [[ $_vigil_dir == /* ]] || _vigil_dir=$_vigil_current_directory${_vigil_dir:+/$_vigil_dir}
  elif [[ $GIT_DIR == /* ]]; then
    _vigil_dir=:$GIT_DIR
  else
    _vigil_dir=:$_vigil_current_directory/$GIT_DIR
  fi
  # A request cannot hold a path that contains a separator or is too long.
  if [[ $_vigil_dir == *[$'\x1e\x1f']* || ${#_vigil_dir} -gt 4096 ]]; then
    __vigil_split_response "$_vigil_request_id"$'\x1f0' 2>/dev/null
    __vigil_set_status_variables
    builtin return 0
  fi
  # A prompt shows the directory of the shell, not GIT_DIR.
  [[ $_vigil_dir != :* || -z $_vigil_current_directory || $_vigil_current_directory == *[$'\x1e\x1f']* || ${#_vigil_current_directory} -gt 4096 ]] || _vigil_directory_field=$'\x1f'$_vigil_current_directory
  # After an interrupt, the next response would be taken for the end of what was received.
  if [[ -n $__vigil_is_receiving ]] || ! __vigil_process_is_usable; then
    __vigil_start_process 2>/dev/null || builtin return
  fi
  # The id of a request contains that of the shell, since a subshell also receives responses that are meant for its parent.
  __vigil_request_number=$((__vigil_request_number + 1))
  _vigil_request_id=$BASHPID.$__vigil_request_number
  while builtin :; do
    _vigil_attempts=$((_vigil_attempts + 1))
    _vigil_wait_status=2
    if __vigil_send_request "$_vigil_request_id"$'\x1f'"$_vigil_dir"$'\x1f'"$_vigil_no_diff$_vigil_directory_field"$'\x1e'; then
      _vigil_wait_status=0
      __vigil_wait_for_response "$_vigil_request_id" ${_vigil_timeout_s+"$_vigil_timeout_s"} 2>/dev/null || _vigil_wait_status=$?
    fi
    case $_vigil_wait_status in
      0)
        __vigil_set_status_variables
        builtin return 0
        ;;
      2)
        if [[ $_vigil_attempts -gt 1 ]] || ! __vigil_start_process 2>/dev/null; then
          builtin return 1
        fi
        ;;
      *) builtin return 1 ;;
    esac
  done
}

elif [[ $- == *i* ]]; then
  builtin printf 'vigil: bash 4.2 or later is needed, not %s\n' "$BASH_VERSION" >&2
fi

# --prompt
if [[ $- == *i* && ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -ge 42 ]]; then

# What the prompt showed for the last response (the segment, its width, its stale form, the directory, and the directory's width),
# and the shell's directory and GIT_DIR at that time; GIT_DIR, a colon, and the directory at the time of the last request; the
# directory as the prompt shows it; and whether the pending response is being received: if that is found later, an interrupt has
# ended it.
__vigil_prompt_last_rendered=('' 0 '') __vigil_prompt_last_directory='' __vigil_prompt_last_git_dir='' __vigil_prompt_request_location='' __vigil_prompt_directory='' __vigil_prompt_is_receiving=''
GITSTATUS_PROMPT='' GITSTATUS_PROMPT_LEN=0
# What PROMPT_COMMAND contains.
__vigil_prompt_command='__vigil_prompt_update "$_" && : "$_"'

# Sets __vigil_repository_root to the root of the innermost repository that contains the directory $1, or to nothing. Goes up by
# `..` instead of shortening the path, since a part of the path may be a symbolic link.
function __vigil_find_repository_root {
  __vigil_repository_root=$1
  while [[ ! -e $__vigil_repository_root/.git && ! -e $__vigil_repository_root/.hg ]]; do
    if [[ ! -d $__vigil_repository_root || $__vigil_repository_root -ef / ]]; then
      __vigil_repository_root=''
      builtin return
    fi
    __vigil_repository_root+=/..
  done
}

# Whether the last response is about the repository that the shell is in.
function __vigil_prompt_is_same_repository {
  builtin local __vigil_repository_root='' _vigil_last_root=''
  [[ -n $__vigil_prompt_last_directory && ${PWD-} -ef . ]] && builtin test "${GIT_DIR-}" = "$__vigil_prompt_last_git_dir" || builtin return
  [[ ${GIT_DIR-} != /* ]] && builtin test "$__vigil_prompt_last_directory" != "$PWD" || builtin return 0
  [[ -z ${GIT_DIR-} ]] || builtin return
  __vigil_find_repository_root "$__vigil_prompt_last_directory"
  _vigil_last_root=$__vigil_repository_root
  __vigil_find_repository_root "$PWD"
  [[ -n $__vigil_repository_root && $__vigil_repository_root -ef $_vigil_last_root ]]
}

# Keeps what the prompt shows for the last response.
function __vigil_prompt_keep_rendered {
  __vigil_prompt_last_rendered[0]=$1
  __vigil_prompt_last_rendered[1]=$2
  __vigil_prompt_last_rendered[2]=$3
  __vigil_prompt_last_rendered[3]=$4
}

# Keeps the response in __vigil_response_fields as the last one.
function __vigil_prompt_remember_response {
  __vigil_set_status_variables
  __vigil_prompt_keep_rendered "${__vigil_rendered_prompt[@]}"
  __vigil_prompt_last_directory=${PWD-} __vigil_prompt_last_git_dir=${GIT_DIR-}
}

# Queries the status and waits for $1 seconds. If there is no response by then, the request is pending.
function __vigil_prompt_query {
  builtin local _vigil_previous_request_number="$__vigil_request_number"
  if gitstatus_query -t "$1"; then
    __vigil_prompt_remember_response
    builtin return 0
  fi
  __vigil_pending_request_id='' __vigil_late_response=''
  # No response will arrive if no request was sent, or if there is no process.
  [[ $__vigil_request_number -eq $_vigil_previous_request_number || -z ${GITSTATUS_DAEMON_PID-} ]] || __vigil_pending_request_id=$BASHPID.$__vigil_request_number
  builtin return 1
}

# Brings the last response up to date. Returns 1 if it may be stale.
function __vigil_prompt_refresh {
  builtin local _vigil_query_timeout_ms=50 _vigil_query_timeout_s='' _vigil_pending_timeout_s=0.001 _vigil_wait_status=0
  [[ ${VIGIL_PROMPT_PATIENCE_MS:-x} == *[!0-9]* ]] || _vigil_query_timeout_ms=$VIGIL_PROMPT_PATIENCE_MS
  [[ ${#_vigil_query_timeout_ms} -le 9 ]] || _vigil_query_timeout_ms=999999999
  builtin printf -v _vigil_query_timeout_s '%d.%03d' "$((10#$_vigil_query_timeout_ms / 1000))" "$((10#$_vigil_query_timeout_ms % 1000))"
  if [[ $- == *r* ]]; then
    # A restricted shell cannot start a process, now or later.
    __vigil_prompt_keep_rendered '' 0 '' ''
    __vigil_prompt_last_directory=''
    builtin return 0
  fi
  if ! gitstatus_check; then
    gitstatus_start -s -1 -u -1 -c -1 -d -1 2>/dev/null || builtin return
  fi
  if [[ -n $__vigil_pending_request_id ]]; then
    if [[ -n $__vigil_prompt_is_receiving || -n $__vigil_is_receiving ]] || builtin test "$__vigil_prompt_request_location" != "${GIT_DIR-}:${PWD-}" || ! __vigil_process_is_usable; then
      # The pending request keeps the process from answering others, or an interrupt has lost its response.
      __vigil_prompt_is_receiving=''
      __vigil_start_process 2>/dev/null || builtin return
    else
      __vigil_prompt_is_receiving=1
      [[ -n $__vigil_late_response ]] || __vigil_wait_for_response "$__vigil_pending_request_id" "$_vigil_pending_timeout_s" 2>/dev/null || _vigil_wait_status=$?
      if [[ $_vigil_wait_status -eq 1 ]]; then
        _vigil_pending_timeout_s=$_vigil_query_timeout_s _vigil_query_timeout_s=0.001 _vigil_wait_status=0
        __vigil_wait_for_response "$__vigil_pending_request_id" "$_vigil_pending_timeout_s" 2>/dev/null || _vigil_wait_status=$?
      fi
      if [[ $_vigil_wait_status -eq 1 ]]; then
        __vigil_prompt_is_receiving=''
        builtin return 1
      fi
      if [[ $_vigil_wait_status -eq 0 ]]; then
        [[ -z $__vigil_late_response ]] || __vigil_split_response "$__vigil_late_response" 2>/dev/null
        # The request is older than the last command: keep its response, and query again below.
        __vigil_prompt_remember_response
      fi
      __vigil_pending_request_id='' __vigil_late_response=''
    fi
    __vigil_prompt_is_receiving=''
  fi
  __vigil_prompt_request_location=${GIT_DIR-}:${PWD-}
  __vigil_prompt_query "$_vigil_query_timeout_s"
}

# Sets GITSTATUS_PROMPT, GITSTATUS_PROMPT_LEN and the directory that the prompt shows.
function __vigil_prompt_set_variables {
  builtin local _vigil_lines=''
  GITSTATUS_PROMPT='' GITSTATUS_PROMPT_LEN=0 __vigil_prompt_directory=''
  if __vigil_prompt_refresh; then
    GITSTATUS_PROMPT=${__vigil_prompt_last_rendered[0]-} GITSTATUS_PROMPT_LEN=${__vigil_prompt_last_rendered[1]-0} __vigil_prompt_directory=${__vigil_prompt_last_rendered[3]-}
  elif __vigil_prompt_is_same_repository; then
    # Show the last response in its stale form.
    GITSTATUS_PROMPT=${__vigil_prompt_last_rendered[2]-} GITSTATUS_PROMPT_LEN=${__vigil_prompt_last_rendered[1]-0}
  fi
  if [[ -z $__vigil_prompt_directory && $- != *r* ]]; then
    _vigil_lines=$(__vigil_run_program --ask=: --here="${PWD-}" 2>/dev/null </dev/null)
    # The directory is the fifth of six lines; the last is its width.
    _vigil_lines=${_vigil_lines%$'\n'*}
    __vigil_prompt_directory=${_vigil_lines##*$'\n'}
  fi
  [[ -n $__vigil_prompt_directory ]] || builtin printf -v __vigil_prompt_directory '%q' "${PWD-}"
  if [[ ! -o emacs && ! -o vi ]]; then
    # Only line editing interprets the marks around text without width. Without them, nothing would keep a prompt that contains the
    # segment from expanding a name.
    GITSTATUS_PROMPT=${GITSTATUS_PROMPT//[\\$]$'\x01\x02'/?}
    GITSTATUS_PROMPT=${GITSTATUS_PROMPT//[$'\x01\x02']/} __vigil_prompt_directory=${__vigil_prompt_directory//[$'\x01\x02']/}
  fi
}

# Runs before each prompt, followed by `&& :`, so that the exit code it returns does not count as a failure. $_ is passed to both,
# so that what runs later in the same string finds the user's.
function __vigil_prompt_update {
  # Not a local variable: under `set -k`, its assignment would only be part of the environment of `local`.
  builtin set -- "$?" "$-"
  # Keep this out of the user's traces and traps.
  [[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -lt 44 ]] || builtin local -
  builtin set +x +T +E +k
  __vigil_prompt_set_variables || builtin :
  if [[ -n ${bash_preexec_imported-}${__bp_imported-} ]]; then
    # bash-preexec was loaded after this script.
    __vigil_prompt_register_with_preexec
  fi
  if [[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -lt 44 ]]; then
    # Not with patterns of `[[`: if nocasematch is set, these take `e` for `E`.
    builtin test "$2" = "${2%E*}" || builtin set -E
    builtin test "$2" = "${2%T*}" || builtin set -T
    builtin test "$2" = "${2%k*}" || builtin set -k
    builtin test "$2" = "${2%x*}" || builtin set -x
  fi
  # Commands after this one in the same string must see the user's exit code.
  builtin return "$1"
}

# Moves the call to bash-preexec's list of functions, since bash-preexec would take a call in PROMPT_COMMAND for a command of the
# user's.
function __vigil_prompt_register_with_preexec {
  builtin local _vigil_index='' _vigil_functions=''
  # Not with `*`, which puts the first character of IFS between them.
  builtin printf -v _vigil_functions ' %s ' "${precmd_functions[@]-}"
  [[ $_vigil_functions == *' __vigil_prompt_update '* ]] || precmd_functions+=(__vigil_prompt_update)
  # Not `PROMPT_COMMAND[0]=`, which would turn a string into an array.
  [[ -z ${PROMPT_COMMAND-} ]] || PROMPT_COMMAND=${PROMPT_COMMAND//"$__vigil_prompt_command"/:}
  for _vigil_index in "${!PROMPT_COMMAND[@]}"; do
    if [[ ${PROMPT_COMMAND[_vigil_index]} == "$__vigil_prompt_command" ]]; then
      PROMPT_COMMAND[_vigil_index]=:
    fi
  done
}

# If the rc file is read again, it sets the first element to what was moved to a later one, which must not run twice.
function __vigil_prompt_free_first_element {
  builtin local _vigil_index=''
  for _vigil_index in "${!PROMPT_COMMAND[@]}"; do
    if [[ $_vigil_index -gt 0 ]] && builtin test "${PROMPT_COMMAND[_vigil_index]}" = "${PROMPT_COMMAND[0]-}"; then
      PROMPT_COMMAND[0]=:
    fi
  done
}

# Whether PROMPT_COMMAND contains more than our call.
function __vigil_prompt_has_other_commands {
  builtin local _vigil_command=''
  for _vigil_command in "${PROMPT_COMMAND[@]-}"; do
    [[ -z $_vigil_command || $_vigil_command == : || $_vigil_command == "$__vigil_prompt_command" ]] || builtin return 0
  done
  builtin return 1
}

if [[ -n ${bash_preexec_imported-}${__bp_imported-} ]]; then
  __vigil_prompt_register_with_preexec
elif [[ "${PROMPT_COMMAND[*]-}" != *__vigil_prompt_update* ]]; then
  # VS Code has its own script read the rc file, and then keeps only the first element. It takes what another one runs after its own
  # call for a command of the user's.
  if [[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -lt 51 || -n ${VSCODE_INJECTION-} ]]; then
    # Not with a line feed, since an older bash adds all lines but the first to the history.
    PROMPT_COMMAND=$__vigil_prompt_command${PROMPT_COMMAND:+"; $PROMPT_COMMAND"}
  elif [[ -z ${PROMPT_COMMAND[*]-} ]]; then
    # Scripts that take PROMPT_COMMAND for a string set its first element, so leave that one free.
    PROMPT_COMMAND=([1]="$__vigil_prompt_command")
  else
    # They may also append to it. Each element finds the exit code of the user's command.
    PROMPT_COMMAND=(: "$__vigil_prompt_command" "${PROMPT_COMMAND[@]}")
  fi
else
  __vigil_prompt_free_first_element
fi
# If it was turned off, the prompt of another script may contain names as they are, and would now run what these contain.
builtin shopt -q promptvars || __vigil_prompt_has_other_commands || builtin shopt -s promptvars

if [[ -n ${NO_COLOR-} || ${TERM-} == dumb ]]; then
  PS1='\u@\h ${__vigil_prompt_directory}${GITSTATUS_PROMPT:+ $GITSTATUS_PROMPT}\n\$ '
else
  PS1='\[\e[38;5;70m\]\u@\h\[\e[39m\] ${__vigil_prompt_directory}${GITSTATUS_PROMPT:+ $GITSTATUS_PROMPT}\n\[\e[$((32-($?>0)))m\]\$\[\e[39m\] '
fi

fi
# --end
[[ -z ${__vigil_aliases_were_on-} ]] || builtin shopt -s expand_aliases
\builtin unset __vigil_aliases_were_on
