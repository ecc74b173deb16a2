# Vigil for zsh: the functions of gitstatus's plugin, answered by Vigil. `vigil init zsh` prints this.
#
# Each NAME has a background process that answers its requests. The process is neither a job nor a child of this shell, which
# opens both of its pipes through /proc. If it has ended or is halted, the next request starts another one. A wait without a time
# limit lasts only while the process runs.

# Like gitstatus's plugin, this defines nothing in a shell that is not interactive. Before 5.1, zsh has no `sysopen`.
if [[ -o interactive && $ZSH_VERSION != (5.<1->*|<6->*) ]]; then
  builtin print -ru2 -- "vigil: zsh 5.1 or later is needed, not $ZSH_VERSION"
elif [[ -o interactive ]] && builtin zmodload zsh/datetime zsh/system; then

typeset -g _vigil_program=@program@
# Themes that bring their own plugin find the program through this.
typeset -g GITSTATUS_DAEMON=${GITSTATUS_DAEMON:-$_vigil_program}

# Keyed by NAME: the state of its process (1 starting, 2 answering), the options it is started with, the index size above which
# the working tree is not scanned, the process id, the id and HOME of the shell it was started for, the descriptors of both
# pipes, and what was received but not handled yet.
typeset -gA _vigil_process_state _vigil_program_options _vigil_dirty_max_index_size _vigil_process_pid _vigil_owner_pid _vigil_owner_home _vigil_request_fd _vigil_response_fd _vigil_receive_buffer
# Keyed by NAME.PID.NUMBER, where PID is the shell's: requests that have no response yet, 1 for those that were sent again, and
# their callbacks.
typeset -gA _vigil_pending_request _vigil_request_is_resent _vigil_request_callback
# Keyed by the descriptor of a response pipe: the NAME.
typeset -gA _vigil_name_of_fd
# The number of the last request.
typeset -gi _vigil_request_number
# The descriptors of pipes that a starting process is being opened with. What is found here later was left by an interrupt.
typeset -gi _vigil_opened_request_fd _vigil_opened_response_fd
# Whether a write to a full pipe would block, as it does before zsh 5.9.
typeset -gi _vigil_writes_may_block
# What a prompt shows for the last response: the segment, its width, its stale form, the directory, and the directory's width.
typeset -ga _vigil_rendered_prompt
# Not 0 while responses are received or a prompt is updated. If it is found so later, an interrupt has ended that at any point.
typeset -gi _vigil_is_busy

# Whether $1 is a number of seconds.
function _vigil_is_number_of_seconds() {
  builtin setopt extended_glob
  [[ $1 == (|+|-)<->(|.<->)(|[eE](|-|+)<->) ]]
}

# Checks that the arguments after $1 are exactly one NAME. Errors are reported in the name of the function $1.
function _vigil_check_name_argument() {
  builtin setopt extended_glob
  if (( ARGC != 2 )); then
    builtin print -ru2 -- "$1: exactly one positional argument is required"
    builtin return 1
  fi
  if [[ $2 != [[:IDENT:]]## ]]; then
    builtin print -ru2 -- "$1: invalid positional argument: $2"
    builtin return 1
  fi
}

# Closes both pipes of NAME's process, and kills it unless a parent shell started it.
function _vigil_stop_process() {
  local -i request_fd=${_vigil_request_fd[$1]:-0} response_fd=${_vigil_response_fd[$1]:-0}
  if (( request_fd > 0 )); then
    # The process id may have been reused, so kill only the process that holds the other end of our pipe.
    if [[ $_vigil_owner_pid[$1] == $sysparams[pid] && /proc/$_vigil_process_pid[$1]/fd/0 -ef /proc/self/fd/$request_fd ]]; then
      builtin kill -KILL $_vigil_process_pid[$1] 2>/dev/null
    fi
    # Before it is closed: after an interrupt, the number may be that of a file of the user's.
    _vigil_request_fd[$1]=
    builtin exec {request_fd}>&-
  fi
  if (( response_fd > 0 )); then
    builtin zle -F $response_fd 2>/dev/null
    builtin unset "_vigil_name_of_fd[$response_fd]"
    _vigil_response_fd[$1]=
    builtin exec {response_fd}<&-
  fi
  _vigil_request_fd[$1]= _vigil_response_fd[$1]= _vigil_process_pid[$1]= _vigil_owner_pid[$1]= _vigil_owner_home[$1]= _vigil_receive_buffer[$1]=
}

# Closes the pipes of a process that did not get to its start.
function _vigil_close_opened() {
  local -i request_fd=$_vigil_opened_request_fd response_fd=$_vigil_opened_response_fd
  _vigil_opened_request_fd=0 _vigil_opened_response_fd=0
  if (( request_fd > 0 )); then
    builtin exec {request_fd}>&-
  fi
  if (( response_fd > 0 )); then
    builtin zle -F $response_fd 2>/dev/null
    builtin exec {response_fd}<&-
  fi
}

# Runs the program with the options $@. Call this in a subshell: it exports the variables that affect how prompts look.
function _vigil_run_program() {
  typeset -gx -m 'VIGIL_PROMPT_*' 'NO_COLOR' 'LC_*' 'LANG'
  $_vigil_program gitstatusd --prompt-for=zsh "$@"
}

# Starts NAME's process, in place of any earlier one.
function _vigil_start_process() {
  _vigil_stop_process $1
  _vigil_close_opened
  local -i shell_pid=$sysparams[pid]
  local pid=$(_vigil_run_program --background --parent-pid=$shell_pid ${(s: :)_vigil_program_options[$1]})
  [[ $pid == <1-> ]] || builtin return
  {
    # Not to local variables: after an interrupt, nothing would close the descriptors.
    if ! builtin sysopen -rw -o cloexec,nonblock -u _vigil_opened_request_fd /proc/$pid/fd/0; then
      # zsh before 5.9 does not know `nonblock`.
      builtin zmodload zsh/zselect && builtin sysopen -rw -o cloexec -u _vigil_opened_request_fd /proc/$pid/fd/0 || builtin return
      _vigil_writes_may_block=1
    fi
    if ! builtin sysopen -r -o cloexec -u _vigil_opened_response_fd /proc/$pid/fd/1; then
      _vigil_close_opened
      builtin return 1
    fi
    builtin zle -F $_vigil_opened_response_fd _vigil_on_readable
  } 2>/dev/null
  _vigil_process_pid[$1]=$pid _vigil_owner_pid[$1]=$shell_pid _vigil_owner_home[$1]=$HOME
  _vigil_name_of_fd[$_vigil_opened_response_fd]=$1
  _vigil_request_fd[$1]=$_vigil_opened_request_fd _vigil_response_fd[$1]=$_vigil_opened_response_fd _vigil_opened_request_fd=0 _vigil_opened_response_fd=0
  typeset -gi GITSTATUS_DAEMON_PID_$1=$pid
}

# Whether NAME has a process that was started for this shell and HOME, and is not halted. A subshell needs its own process, since
# two readers of one pipe would take each other's responses. Another HOME has another user configuration.
function _vigil_process_is_usable() {
  [[ $_vigil_owner_pid[$1] == $sysparams[pid] && $_vigil_owner_home[$1] == "$HOME" ]] || builtin return
  [[ -n $_vigil_process_pid[$1] && /proc/$_vigil_process_pid[$1]/fd/0 -ef /proc/self/fd/$_vigil_request_fd[$1] ]] || builtin return
  local stat=$(</proc/$_vigil_process_pid[$1]/stat) 2>/dev/null
  [[ ${stat##*\) } != [tT]* ]]
}

# Restarts NAME's process and sends the pending requests of this shell again, each at most once.
function _vigil_restart_and_resend() {
  local request_key
  _vigil_start_process $1 2>/dev/null || builtin return
  for request_key in ${(k)_vigil_pending_request}; do
    [[ $request_key == $1.* ]] || continue
    if [[ $request_key != $1.$sysparams[pid].* || -n ${_vigil_request_is_resent[$request_key]} ]]; then
      _vigil_forget_request $request_key
    else
      _vigil_request_is_resent[$request_key]=1
      _vigil_send_request $1 $_vigil_pending_request[$request_key] || _vigil_forget_request $request_key
    fi
  done
}

# Removes the pending request with the key $1.
function _vigil_forget_request() {
  builtin unset "_vigil_pending_request[$1]" "_vigil_request_is_resent[$1]" "_vigil_request_callback[$1]"
}

# Writes the request $2 to NAME's process. Does not block: fails if the pipe is full.
function _vigil_send_request() {
  local -a ready
  (( ! _vigil_writes_may_block )) || builtin zselect -a ready -t 0 -w $_vigil_request_fd[$1] 2>/dev/null || builtin return
  builtin syswrite -o $_vigil_request_fd[$1] -- $2 2>/dev/null
}

# Waits until a whole response from NAME's process is in the buffer. $2 is the deadline (as in $EPOCHREALTIME); if it is negative,
# the wait lasts as long as the process is usable. Returns 1 if the deadline has passed, and 2 if no response will come.
function _vigil_wait_for_response() {
  local -i response_fd=${_vigil_response_fd[$1]:-0}
  local -F read_timeout_s
  local chunk
  (( response_fd > 0 )) || builtin return 2
  while [[ $_vigil_receive_buffer[$1] != *$'\x1e'* ]]; do
    (( read_timeout_s = $2 < 0 ? 0.25 : $2 - EPOCHREALTIME ))
    (( read_timeout_s = read_timeout_s < 0 ? 0 : read_timeout_s > 0.25 ? 0.25 : read_timeout_s ))
    builtin sysread -t $read_timeout_s -i $response_fd chunk
    case $? in
      0) _vigil_receive_buffer[$1]+=$chunk ;;
      4)
        (( $2 >= 0 && EPOCHREALTIME >= $2 )) && builtin return 1
        _vigil_process_is_usable $1 || builtin return 2
        ;;
      *) builtin return 2 ;;
    esac
  done
}

function _vigil_unset_status_variables() {
  builtin unset VCS_STATUS_{WORKDIR,COMMIT,LOCAL_BRANCH,REMOTE_BRANCH,REMOTE_NAME,REMOTE_URL,ACTION,INDEX_SIZE,NUM_STAGED,NUM_UNSTAGED,NUM_CONFLICTED,NUM_UNTRACKED,HAS_STAGED,HAS_UNSTAGED,HAS_CONFLICTED,HAS_UNTRACKED,COMMITS_AHEAD,COMMITS_BEHIND,STASHES,TAG,NUM_UNSTAGED_DELETED,NUM_STAGED_NEW,NUM_STAGED_DELETED,PUSH_REMOTE_NAME,PUSH_REMOTE_URL,PUSH_COMMITS_AHEAD,PUSH_COMMITS_BEHIND,NUM_SKIP_WORKTREE,NUM_ASSUME_UNCHANGED,COMMIT_ENCODING,COMMIT_SUMMARY}
}

# Runs the function $@ to its end, even if an interrupt arrives. _vigil_is_interrupted must be a local variable of a caller. The
# signal is given by its number, since a zsh that was built with a newer C library than it knows has lost the names.
function _vigil_hold_interrupts() {
  builtin setopt local_options local_traps
  builtin trap '_vigil_is_interrupted=1' 2
  "$@"
}

# Lets an interrupt that was held come into effect.
function _vigil_release_interrupts() {
  (( _vigil_is_interrupted )) || builtin return 0
  _vigil_is_interrupted=0
  builtin kill -2 $sysparams[pid]
}

# Removes the first response of NAME's process from the buffer and sets the VCS_STATUS_* variables. Returns 1 if it answers no
# pending request of this shell. The response to the request $2 is in time; any other is late, and its callback is called.
# Interrupts are held until that: a response is there once, and nothing else would call the callback.
function _vigil_handle_response() {
  local callback
  _vigil_hold_interrupts _vigil_take_response "$@" || builtin return
  if [[ -n $callback ]]; then
    builtin emulate zsh -c $callback
  fi
  builtin return 0
}

# Does all of that but calling the callback, which it leaves in `callback`.
function _vigil_take_response() {
  local delivery=async
  # Not with `#`, which takes half a minute for a tag of 64 KiB.
  local -a records=("${(@ps:\x1e:)_vigil_receive_buffer[$1]}")
  local -a fields=("${(@ps:\x1f:)records[1]}")
  _vigil_receive_buffer[$1]="${(pj:\x1e:)records[2,-1]}"
  local request_key=$1.$fields[1]
  [[ -n ${_vigil_pending_request[$request_key]} ]] || builtin return
  if [[ $fields[1] == "$2" ]]; then
    delivery=sync
  else
    callback=$_vigil_request_callback[$request_key]
  fi
  _vigil_forget_request $request_key
  if [[ $fields[2] == 1 ]]; then
    typeset -g VCS_STATUS_RESULT=ok-$delivery \
      VCS_STATUS_WORKDIR=$fields[3] VCS_STATUS_COMMIT=$fields[4] \
      VCS_STATUS_LOCAL_BRANCH=$fields[5] VCS_STATUS_REMOTE_BRANCH=$fields[6] \
      VCS_STATUS_REMOTE_NAME=$fields[7] VCS_STATUS_REMOTE_URL=$fields[8] \
      VCS_STATUS_ACTION=$fields[9] VCS_STATUS_TAG=$fields[18] \
      VCS_STATUS_PUSH_REMOTE_NAME=$fields[22] VCS_STATUS_PUSH_REMOTE_URL=$fields[23] \
      VCS_STATUS_COMMIT_ENCODING=$fields[28] VCS_STATUS_COMMIT_SUMMARY=$fields[29]
    typeset -gi \
      VCS_STATUS_INDEX_SIZE=$fields[10] VCS_STATUS_NUM_STAGED=$fields[11] \
      VCS_STATUS_NUM_UNSTAGED=$fields[12] VCS_STATUS_NUM_CONFLICTED=$fields[13] \
      VCS_STATUS_NUM_UNTRACKED=$fields[14] VCS_STATUS_COMMITS_AHEAD=$fields[15] \
      VCS_STATUS_COMMITS_BEHIND=$fields[16] VCS_STATUS_STASHES=$fields[17] \
      VCS_STATUS_NUM_UNSTAGED_DELETED=$fields[19] VCS_STATUS_NUM_STAGED_NEW=$fields[20] \
      VCS_STATUS_NUM_STAGED_DELETED=$fields[21] VCS_STATUS_PUSH_COMMITS_AHEAD=$fields[24] \
      VCS_STATUS_PUSH_COMMITS_BEHIND=$fields[25] VCS_STATUS_NUM_SKIP_WORKTREE=$fields[26] \
      VCS_STATUS_NUM_ASSUME_UNCHANGED=$fields[27]
    typeset -gi VCS_STATUS_HAS_STAGED='VCS_STATUS_NUM_STAGED > 0' \
      VCS_STATUS_HAS_UNSTAGED='VCS_STATUS_NUM_UNSTAGED > 0' \
      VCS_STATUS_HAS_CONFLICTED='VCS_STATUS_NUM_CONFLICTED > 0' \
      VCS_STATUS_HAS_UNTRACKED='VCS_STATUS_NUM_UNTRACKED > 0'
    if (( _vigil_dirty_max_index_size[$1] >= 0 && VCS_STATUS_INDEX_SIZE > _vigil_dirty_max_index_size[$1] )); then
      VCS_STATUS_HAS_UNSTAGED=-1 VCS_STATUS_HAS_CONFLICTED=-1 VCS_STATUS_HAS_UNTRACKED=-1
    fi
    _vigil_rendered_prompt=("${(@)fields[30,34]}")
  else
    _vigil_unset_status_variables
    typeset -g VCS_STATUS_RESULT=norepo-$delivery
    _vigil_rendered_prompt=("${(@)fields[3,7]}")
  fi
  builtin return 0
}

# Handles all responses on the descriptor $1. Code that must run under the user's own options is left in _vigil_redraw_code.
function _vigil_receive_without_traps() {
  builtin setopt local_options local_traps
  builtin trap - ZERR DEBUG
  # If something has been interrupted already, the next prompt must learn of it.
  local -i was_busy=$_vigil_is_busy _vigil_is_interrupted
  _vigil_is_busy=1
  _vigil_receive_responses "$@"
  _vigil_is_busy=$was_busy
  _vigil_release_interrupts
  builtin return 0
}

function _vigil_receive_responses() {
  typeset -g _vigil_redraw_code=
  local name=$_vigil_name_of_fd[$1]
  if [[ -z $name ]]; then
    builtin zle -F $1
    builtin return
  fi
  while builtin true; do
    _vigil_hold_interrupts _vigil_wait_for_response $name 0
    case $? in
      0) _vigil_handle_response $name '' ;;
      1) builtin return ;;
      *)
        # Without pending requests, the process need not be restarted yet.
        _vigil_stop_process $name
        [[ -n ${(M)${(k)_vigil_pending_request}:#$name.*} ]] && _vigil_restart_and_resend $name
        builtin return
        ;;
    esac
  done
}

# Usage: gitstatus_start [-a] [-t FLOAT] [-s|-u|-c|-d|-m INT] [-e] [-U] [-W] [-D] NAME
function gitstatus_start() {
  builtin setopt extended_glob
  local opt OPTARG options= name
  local -i OPTIND async dirty_max_index_size=-1 _vigil_is_interrupted
  local -F timeout_s=5
  while builtin getopts ":t:s:u:c:d:m:eaUWD" opt; do
    case $opt in
      a) async=1 ;;
      +a) async=0 ;;
      t)
        if ! _vigil_is_number_of_seconds $OPTARG || (( (timeout_s = OPTARG) <= 0 )); then
          builtin print -ru2 -- "gitstatus_start: invalid -t argument: $OPTARG"
          builtin return 1
        fi
        ;;
      s|u|c|d|m)
        if [[ $OPTARG != (|-|+)<-> ]]; then
          builtin print -ru2 -- "gitstatus_start: invalid -$opt argument: $OPTARG"
          builtin return 1
        fi
        options+=" -$opt $OPTARG"
        [[ $opt == m ]] && dirty_max_index_size=OPTARG
        ;;
      e|U|W|D) options+=" -$opt" ;;
      +(e|U|W|D)) options=${options// -${opt#+}/} ;;
      \?) builtin print -ru2 -- "gitstatus_start: invalid option: $OPTARG"; builtin return 1 ;;
      :) builtin print -ru2 -- "gitstatus_start: missing required argument: $OPTARG"; builtin return 1 ;;
      *) builtin print -ru2 -- "gitstatus_start: invalid option: $opt"; builtin return 1 ;;
    esac
  done
  _vigil_check_name_argument gitstatus_start "${@[OPTIND,-1]}" || builtin return
  name=$@[OPTIND]
  if [[ -z ${_vigil_process_state[$name]} ]]; then
    [[ $GITSTATUS_NUM_THREADS == <1-> ]] && options+=" -t $GITSTATUS_NUM_THREADS"
    _vigil_program_options[$name]=$options _vigil_dirty_max_index_size[$name]=$dirty_max_index_size
    typeset -g GITSTATUS_DAEMON_LOG_$name=/dev/null GITSTATUS_XTRACE_$name=/dev/null
    if ! _vigil_start_process $name; then
      gitstatus_stop $name
      builtin print -ru2 -- '[ERROR]: gitstatus failed to initialize.'
      builtin return 1
    fi
    _vigil_process_state[$name]=1
  fi
  if (( async || _vigil_process_state[$name] == 2 )); then
    builtin return 0
  fi
  if ! { { _vigil_process_is_usable $name || _vigil_start_process $name } && _vigil_send_request $name $'}hello\x1f\x1e' && _vigil_wait_for_response $name $(( EPOCHREALTIME + timeout_s )) }; then
    gitstatus_stop $name
    builtin print -ru2 -- '[ERROR]: gitstatus failed to initialize.'
    builtin return 1
  fi
  _vigil_handle_response $name ''
  _vigil_process_state[$name]=2
  _vigil_release_interrupts
}

# Usage: gitstatus_stop NAME
function gitstatus_stop() {
  local request_key
  _vigil_check_name_argument gitstatus_stop "$@" || builtin return
  _vigil_stop_process $1
  for request_key in ${(k)_vigil_pending_request}; do
    [[ $request_key == $1.* ]] && _vigil_forget_request $request_key
  done
  builtin unset "_vigil_process_state[$1]" "_vigil_program_options[$1]" "_vigil_dirty_max_index_size[$1]" "_vigil_process_pid[$1]"
  builtin unset "_vigil_owner_pid[$1]" "_vigil_owner_home[$1]" "_vigil_request_fd[$1]" "_vigil_response_fd[$1]" "_vigil_receive_buffer[$1]"
  builtin unset GITSTATUS_DAEMON_PID_$1 VCS_STATUS_RESULT
  _vigil_unset_status_variables
}

# Usage: gitstatus_check NAME
function gitstatus_check() {
  _vigil_check_name_argument gitstatus_check "$@" || builtin return
  [[ ${_vigil_process_state[$1]} == 2 ]]
}

# Usage: gitstatus_query [-d STR] [-c STR] [-t FLOAT] [-p] NAME
function gitstatus_query() {
  local opt OPTARG dir callback name
  local -i OPTIND no_diff _vigil_is_interrupted
  local -F timeout_s=-1 deadline=-1
  builtin unset VCS_STATUS_RESULT
  while builtin getopts ":d:c:t:p" opt; do
    case $opt in
      +p) no_diff=0 ;;
      p) no_diff=1 ;;
      d) dir=$OPTARG ;;
      c) callback=$OPTARG ;;
      t)
        if ! _vigil_is_number_of_seconds $OPTARG; then
          builtin print -ru2 -- "gitstatus_query: invalid -t argument: $OPTARG"
          builtin return 1
        fi
        timeout_s=OPTARG
        ;;
      \?) builtin print -ru2 -- "gitstatus_query: invalid option: $OPTARG"; builtin return 1 ;;
      :) builtin print -ru2 -- "gitstatus_query: missing required argument: $OPTARG"; builtin return 1 ;;
      *) builtin print -ru2 -- "gitstatus_query: invalid option: $opt"; builtin return 1 ;;
    esac
  done
  _vigil_check_name_argument gitstatus_query "${@[OPTIND,-1]}" || builtin return
  name=$@[OPTIND]
  [[ ${_vigil_process_state[$name]} == 2 ]] || builtin return
  local current_directory=$PWD
  if [[ $PWD != /* || ! $PWD -ef . ]]; then
    current_directory=.
    current_directory=${current_directory:a}
  fi
  if [[ -z $GIT_DIR ]]; then
    [[ $dir == /* ]] || dir=$current_directory${dir:+/$dir}
  elif [[ $GIT_DIR == /* ]]; then
    dir=:$GIT_DIR
  else
    dir=:$current_directory/$GIT_DIR
  fi
  # A request cannot hold a path that contains a separator or is too long.
  if [[ $dir != (|:)/* || $dir == *[$'\x1e\x1f']* ]] || (( $#dir > 4096 )); then
    _vigil_unset_status_variables
    typeset -g VCS_STATUS_RESULT=norepo-sync
    _vigil_rendered_prompt=('' 0 '' '' 0)
    builtin return 0
  fi
  (( timeout_s >= 0 )) && (( deadline = EPOCHREALTIME + timeout_s ))
  # The id of a request contains that of the shell, since a subshell also receives responses that are meant for its parent.
  local request_id=$sysparams[pid].$(( ++_vigil_request_number ))
  local request_key=$name.$request_id
  if ! _vigil_process_is_usable $name; then
    _vigil_restart_and_resend $name || builtin return
  fi
  local directory_field=
  # A prompt shows the directory of the shell, not GIT_DIR.
  [[ $dir == :* && $current_directory == /* && $current_directory != *[$'\x1e\x1f']* ]] && (( $#current_directory <= 4096 )) && directory_field=$'\x1f'$current_directory
  _vigil_pending_request[$request_key]=$request_id$'\x1f'$dir$'\x1f'$no_diff$directory_field$'\x1e' _vigil_request_callback[$request_key]=$callback
  if ! _vigil_send_request $name $_vigil_pending_request[$request_key]; then
    # This sends the new request, too.
    _vigil_restart_and_resend $name || _vigil_forget_request $request_key
    [[ -n ${_vigil_pending_request[$request_key]} ]] || builtin return
  fi
  local -i has_timed_out=$(( timeout_s == 0 ))
  # VCS_STATUS_RESULT does not tell whether the response arrived: a callback may set it by a query of its own.
  while (( ! has_timed_out )) && [[ -n ${_vigil_pending_request[$request_key]} ]]; do
    _vigil_wait_for_response $name $deadline
    case $? in
      0)
        _vigil_handle_response $name $request_id
        _vigil_release_interrupts
        ;;
      1) has_timed_out=1 ;;
      *)
        _vigil_restart_and_resend $name || _vigil_forget_request $request_key
        if [[ -z ${_vigil_pending_request[$request_key]} ]]; then
          builtin unset VCS_STATUS_RESULT
          builtin return 1
        fi
        ;;
    esac
  done
  (( has_timed_out )) || builtin return 0
  _vigil_unset_status_variables
  typeset -g VCS_STATUS_RESULT=tout
  [[ -n $callback ]]
}

# Usage: gitstatus_process_results [-t FLOAT] NAME
function gitstatus_process_results() {
  local opt OPTARG name
  local -i OPTIND _vigil_is_interrupted
  local -F timeout_s=-1 deadline=-1
  while builtin getopts ":t:" opt; do
    case $opt in
      t)
        if ! _vigil_is_number_of_seconds $OPTARG; then
          builtin print -ru2 -- "gitstatus_process_results: invalid -t argument: $OPTARG"
          builtin return 1
        fi
        timeout_s=OPTARG
        ;;
      \?) builtin print -ru2 -- "gitstatus_process_results: invalid option: $OPTARG"; builtin return 1 ;;
      :) builtin print -ru2 -- "gitstatus_process_results: missing required argument: $OPTARG"; builtin return 1 ;;
      *) builtin print -ru2 -- "gitstatus_process_results: invalid option: $opt"; builtin return 1 ;;
    esac
  done
  _vigil_check_name_argument gitstatus_process_results "${@[OPTIND,-1]}" || builtin return
  name=$@[OPTIND]
  [[ ${_vigil_process_state[$name]} == 2 ]] || builtin return
  (( timeout_s >= 0 )) && (( deadline = EPOCHREALTIME + timeout_s ))
  while [[ -n ${(M)${(k)_vigil_pending_request}:#$name.$sysparams[pid].*} ]]; do
    _vigil_wait_for_response $name $deadline
    case $? in
      0)
        _vigil_handle_response $name ''
        _vigil_release_interrupts
        ;;
      1) builtin return 0 ;;
      *) _vigil_restart_and_resend $name || builtin return ;;
    esac
  done
  builtin return 0
}

fi

# --prompt
if [[ -o interactive ]] && (( $+functions[_vigil_run_program] )); then

# Queries the status and sets the variables of the prompt. $1 is the exit code of the user's last command, $2 is `on` if prompts
# expand `!`, and the user's pipestatus follows.
function _vigil_prompt_update() {
  # A command that fails in here must not trigger the user's traps.
  builtin setopt local_options local_traps
  builtin trap - ZERR DEBUG
  # A response that was lost halfway would be waited for by all prompts from now on.
  (( ! _vigil_is_busy )) || gitstatus_stop VIGIL
  _vigil_is_busy=1
  _vigil_prompt_refresh "$@"
  _vigil_is_busy=0
  builtin return 0
}

function _vigil_prompt_refresh() {
  typeset -gi _vigil_prompt_exit_code=$1 _vigil_prompt_request_is_outdated=0
  typeset -g _vigil_prompt_expands_bang=$2
  typeset -ga _vigil_prompt_pipestatus=("${@[3,-1]}")
  # An interrupt ends this function at once. The prompt must not show another directory, or an old response, then.
  _vigil_prompt_set_variables '' 0 "${${(V)PWD}//\%/%%}"
  # A restricted shell cannot start a process. Not with `-o`, which complains of options that it does not know: zsh after 5.9 has
  # no restricted shells.
  if [[ ${options[restricted]-} == on ]]; then
    _vigil_prompt_set_variables '' 0
    builtin return
  fi
  if ! gitstatus_check VIGIL && ! gitstatus_start -s -1 -u -1 -c -1 -d -1 VIGIL 2>/dev/null; then
    _vigil_prompt_set_variables '' 0
    builtin return
  fi
  gitstatus_process_results -t 0 VIGIL
  if [[ -n ${(M)${(k)_vigil_pending_request}:#VIGIL.*} ]]; then
    # The last response is still missing. If it is about another location, it is not needed any more.
    if [[ $_vigil_prompt_request_location == $GIT_DIR:$PWD ]] && _vigil_process_is_usable VIGIL; then
      _vigil_prompt_request_is_outdated=1
      _vigil_prompt_set_stale
      builtin return
    fi
    gitstatus_stop VIGIL
    gitstatus_start -s -1 -u -1 -c -1 -d -1 VIGIL 2>/dev/null
  fi
  typeset -g _vigil_prompt_request_location=$GIT_DIR:$PWD
  local -F timeout_s=0.05
  [[ $VIGIL_PROMPT_PATIENCE_MS == <-> ]] && (( timeout_s = VIGIL_PROMPT_PATIENCE_MS / 1000. ))
  if ! gitstatus_query -t $timeout_s -c _vigil_prompt_on_late_response VIGIL; then
    _vigil_prompt_set_variables '' 0
  elif [[ $VCS_STATUS_RESULT == tout ]]; then
    _vigil_prompt_set_stale
  else
    _vigil_prompt_remember_response
    _vigil_prompt_set_fresh
  fi
}

# Sets what the prompt shows: the segment $1, its width $2, and the directory $3. Without $3, asks the program how to show the
# current directory.
function _vigil_prompt_set_variables() {
  local segment=$1 directory=$3
  if [[ -z $directory ]]; then
    local -a lines
    [[ ${options[restricted]-} == on ]] || lines=("${(@f)$(_vigil_run_program --ask=: --here=$PWD 2>/dev/null </dev/null)}")
    # The directory is the fifth of six lines; the last is its width.
    directory=${lines[5]:-${${(V)${(D)PWD}}//\%/%%}}
  fi
  if [[ $_vigil_prompt_expands_bang == on ]]; then
    directory=${directory//\!/!!} segment=${segment//\!/!!}
  fi
  typeset -g GITSTATUS_PROMPT=$segment _vigil_prompt_directory=$directory
  typeset -gi GITSTATUS_PROMPT_LEN=$2
}

# Keeps the response to the prompt's request as the last one.
function _vigil_prompt_remember_response() {
  typeset -g _vigil_prompt_last_location=$_vigil_prompt_request_location
  typeset -ga _vigil_prompt_last_rendered=("${_vigil_rendered_prompt[@]}")
}

# Shows the last response as an up-to-date one.
function _vigil_prompt_set_fresh() {
  _vigil_prompt_set_variables "$_vigil_prompt_last_rendered[1]" $_vigil_prompt_last_rendered[2] "$_vigil_prompt_last_rendered[4]"
}

# Sets REPLY to the root of the innermost repository that contains the directory $1, or to nothing. Goes up by `..` instead of
# shortening the path, since a part of the path may be a symbolic link.
function _vigil_find_repository_root() {
  REPLY=$1
  while [[ ! -e $REPLY/.git && ! -e $REPLY/.hg ]]; do
    if [[ ! -d $REPLY || $REPLY -ef / ]]; then
      REPLY=
      builtin return
    fi
    REPLY+=/..
  done
}

# Whether the last response is about the repository that the shell is in.
function _vigil_prompt_is_same_repository() {
  local REPLY last_root
  [[ -n $_vigil_prompt_last_location && $PWD -ef . ]] || builtin return
  [[ $_vigil_prompt_last_location == $GIT_DIR:$PWD ]] && builtin return
  # A location consists of the shell's GIT_DIR, a colon, and its directory.
  if [[ -n $GIT_DIR ]]; then
    [[ $GIT_DIR == /* && $_vigil_prompt_last_location == $GIT_DIR:/* ]]
    builtin return
  fi
  _vigil_find_repository_root ${_vigil_prompt_last_location#:}
  last_root=$REPLY
  _vigil_find_repository_root $PWD
  [[ -n $REPLY && $REPLY -ef $last_root ]]
}

# Shows the last response in its stale form, if it is about this repository.
function _vigil_prompt_set_stale() {
  if _vigil_prompt_is_same_repository; then
    _vigil_prompt_set_variables "$_vigil_prompt_last_rendered[3]" $_vigil_prompt_last_rendered[2]
  else
    _vigil_prompt_set_variables '' 0
  fi
}

# Called when a response arrives after the prompt has been shown.
function _vigil_prompt_on_late_response() {
  # The shell may have changed its directory in the meantime.
  [[ $_vigil_prompt_request_location == $GIT_DIR:$PWD ]] || builtin return
  _vigil_prompt_remember_response
  if (( _vigil_prompt_request_is_outdated )); then
    # The request is older than the last command, so query again.
    _vigil_prompt_request_is_outdated=0
    gitstatus_query -t 0 -c _vigil_prompt_on_late_response VIGIL
    _vigil_prompt_set_stale
  else
    _vigil_prompt_set_fresh
  fi
  if builtin zle; then
    # An assignment before a command lasts while it runs, so the redrawn prompt finds the user's pipestatus.
    # By way of a widget: only there does a prompt find the keymap.
    _vigil_redraw_code="'builtin' 'zle' '_vigil_redraw'"
    typeset -g _vigil_widget_code="pipestatus=(${(j: :)_vigil_prompt_pipestatus}) 'builtin' 'zle' '.reset-prompt'"
    if (( _vigil_prompt_exit_code )); then
      # A prompt may show the user's exit code, so set it again. Error handling is off, since nothing has failed anew. A
      # condition around this code would show up in a secondary prompt.
      _vigil_widget_code="'builtin' 'setopt' 'local_options' 'local_traps' 'no_err_exit' 'no_err_return'; 'builtin' 'trap' '-' 'ZERR'
        '_vigil_set_exit_code' $_vigil_prompt_exit_code; $_vigil_widget_code"
    fi
  fi
}

function _vigil_set_exit_code() {
  builtin return $1
}

# Whether the prompt consists of variables of ours. If another script has set one that does not, it may contain names as they are,
# and zsh would run what these contain if it expanded them.
function _vigil_prompt_is_shown() {
  [[ $PROMPT$RPROMPT == *(GITSTATUS_PROMPT|_vigil_prompt_directory)* ]]
}

# Called once, before the first prompt.
function _vigil_forget_first_prompt() {
  precmd_functions=(${precmd_functions:#_vigil_on_first_prompt})
}

# Ends the wait for the descriptor $1.
function _vigil_close_loading_fd() {
  local -i loading_fd=$1
  builtin zle -F $loading_fd
  builtin exec {loading_fd}<&-
}

typeset -ga precmd_functions chpwd_functions
precmd_functions=(${precmd_functions:#_vigil_(precmd|on_first_prompt)} _vigil_precmd)
# What is scheduled comes after these functions, when the prompt is complete.
builtin zmodload zsh/sched 2>/dev/null || precmd_functions+=(_vigil_on_first_prompt)
# A key binding may change the directory and redraw the prompt.
chpwd_functions=(${chpwd_functions:#_vigil_chpwd} _vigil_chpwd)

typeset -g _vigil_prompt_directory GITSTATUS_PROMPT=
typeset -gi GITSTATUS_PROMPT_LEN=0
if [[ -n $NO_COLOR || $TERM == dumb ]]; then
  PROMPT='%n@%m ${_vigil_prompt_directory}${GITSTATUS_PROMPT:+ $GITSTATUS_PROMPT}'$'\n''%# '
else
  PROMPT='%F{70}%n@%m%f ${_vigil_prompt_directory}${GITSTATUS_PROMPT:+ $GITSTATUS_PROMPT}'$'\n''%F{%(?.76.196)}%#%f '
fi

builtin zle -N _vigil_redraw

# If a prompt is shown already, it is drawn again once the function that evaluates the line has ended.
if builtin zle; then
  typeset -g _vigil_loading_fd=
  builtin sysopen -r -o cloexec -u _vigil_loading_fd /dev/null && builtin zle -F $_vigil_loading_fd _vigil_on_loaded
  builtin unset _vigil_loading_fd
fi

fi
# outside
# No word here can be a user's alias. zle calls this when a response arrives:
_vigil_on_readable () 'builtin' 'eval' "'_vigil_receive_without_traps' \"\$@\"; 'builtin' 'eval' \"\${_vigil_redraw_code-}\""
# --prompt
_vigil_redraw () 'builtin' 'eval' "'builtin' 'eval' \"\${_vigil_widget_code-}\""
_vigil_precmd () '_vigil_prompt_update' "$?" "${options[promptbang]-}" "${pipestatus[@]}"
_vigil_chpwd () 'builtin' 'eval' "'builtin' 'zle' && '_vigil_prompt_update' \"\${_vigil_prompt_exit_code-}\" \"\${options[promptbang]-}\" \"\${_vigil_prompt_pipestatus[@]}\" || 'builtin' 'true'"
# Options are set no sooner, since the function that evaluates this script may restore them at its end.
_vigil_on_first_prompt () 'builtin' 'eval' "'_vigil_forget_first_prompt'; '_vigil_prompt_is_shown' && 'builtin' 'setopt' 'prompt_percent' 'prompt_subst' || 'builtin' 'true'"
_vigil_on_loaded () 'builtin' 'eval' "'_vigil_close_loading_fd' \"\$1\"; '_vigil_on_first_prompt'; '_vigil_prompt_update' 0 \"\${options[promptbang]-}\" 0; 'builtin' 'zle' '.reset-prompt'"
# options
'builtin' 'test' "${_vigil_program-}" && 'builtin' 'setopt' 'no_prompt_bang' || 'builtin' 'true'
