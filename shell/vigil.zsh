# Vigil for zsh: the functions of gitstatus's plugin, answered by Vigil. `vigil init zsh` prints this.
#
# A background process answers, one for each NAME. It is neither a job nor a child of this shell, which opens both of its pipes
# through /proc. If it has ended or is halted, the next question starts another one. Only the wait for an answer of a working
# process has no limit.

# Like gitstatus's plugin, this defines nothing in a shell that is not interactive.
if [[ -o interactive ]] && builtin zmodload zsh/datetime zsh/system; then

typeset -g _vigil_program=@program@
# Themes that bring their own plugin find the program through this.
typeset -g GITSTATUS_DAEMON=${GITSTATUS_DAEMON:-$_vigil_program}

# Keyed by NAME: the state (1 starting, 2 answering), options, the index size above which the working tree is not scanned, the
# process id, the shell and HOME that the process was started for, both pipes, and bytes received but not taken yet.
typeset -gA _vigil_state _vigil_options _vigil_index_max _vigil_pid _vigil_owner _vigil_home _vigil_request _vigil_response _vigil_came
# Keyed by NAME, shell and number: questions without an answer yet, those that were asked a second time, and their callbacks.
typeset -gA _vigil_asked _vigil_again _vigil_callback
# Keyed by descriptor: the NAME.
typeset -gA _vigil_name
typeset -gi _vigil_number
# What a prompt shows for the last answer: the segment, its width, its stale form, the directory, and the directory's width.
typeset -ga _vigil_drawn

# Whether $1 is a number of seconds.
function _vigil_is_time() {
  builtin setopt extended_glob
  [[ $1 == (|+|-)<->(|.<->)(|[eE](|-|+)<->) ]]
}

# Checks that the remaining arguments of the function $1, which follow, are exactly one NAME.
function _vigil_has_name() {
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

# Closes both pipes of NAME's process. A second argument kills it as well, whatever it is doing, unless a parent shell started it.
function _vigil_leave() {
  local -i request=${_vigil_request[$1]:-0} response=${_vigil_response[$1]:-0}
  if (( request > 0 )); then
    # The id may have been reused: kill only the process that holds the other end of our pipe.
    if (( ARGC == 2 )) && [[ $_vigil_owner[$1] == $sysparams[pid] && /proc/$_vigil_pid[$1]/fd/0 -ef /proc/self/fd/$request ]]; then
      builtin kill -KILL $_vigil_pid[$1] 2>/dev/null
    fi
    builtin exec {request}>&-
  fi
  if (( response > 0 )); then
    builtin zle -F $response 2>/dev/null
    builtin unset "_vigil_name[$response]"
    builtin exec {response}<&-
  fi
  _vigil_request[$1]= _vigil_response[$1]= _vigil_pid[$1]= _vigil_owner[$1]= _vigil_home[$1]= _vigil_came[$1]=
}

# Runs the program with the options $@ and the variables that affect how prompts look. It exports these: call it in a subshell.
function _vigil_run() {
  typeset -gx -m 'VIGIL_PROMPT_*' 'NO_COLOR' 'LC_*' 'LANG'
  $_vigil_program gitstatusd --prompt-for=zsh "$@"
}

# Starts NAME's process, in place of any earlier one.
function _vigil_launch() {
  _vigil_leave $1 now
  local -i shell=$sysparams[pid] request response
  local pid=$(_vigil_run --background --parent-pid=$shell ${(s: :)_vigil_options[$1]})
  [[ $pid == <1-> ]] || builtin return
  {
    builtin sysopen -rw -o cloexec,nonblock -u request /proc/$pid/fd/0 || builtin return
    if ! builtin sysopen -r -o cloexec -u response /proc/$pid/fd/1; then
      builtin exec {request}>&-
      builtin return 1
    fi
    builtin zle -F $response _vigil_heard
  } 2>/dev/null
  _vigil_pid[$1]=$pid _vigil_owner[$1]=$shell _vigil_home[$1]=$HOME _vigil_request[$1]=$request _vigil_response[$1]=$response
  _vigil_name[$response]=$1
  typeset -gi GITSTATUS_DAEMON_PID_$1=$pid
}

# Whether NAME has a process that was started for this shell and is not halted. A subshell needs its own: two readers of one pipe
# would take each other's answers. So does another HOME, because it has another user configuration.
function _vigil_works() {
  [[ $_vigil_owner[$1] == $sysparams[pid] && $_vigil_home[$1] == "$HOME" ]] || builtin return
  [[ -n $_vigil_pid[$1] && /proc/$_vigil_pid[$1]/fd/0 -ef /proc/self/fd/$_vigil_request[$1] ]] || builtin return
  local stat=$(</proc/$_vigil_pid[$1]/stat) 2>/dev/null
  [[ ${stat##*\) } != [tT]* ]]
}

# Restarts NAME's process and repeats the questions of this shell that went unanswered, each at most once.
function _vigil_heal() {
  local key
  _vigil_launch $1 2>/dev/null || builtin return
  for key in ${(k)_vigil_asked}; do
    [[ $key == $1.* ]] || continue
    if [[ $key != $1.$sysparams[pid].* || -n ${_vigil_again[$key]} ]]; then
      _vigil_forget $key
    else
      _vigil_again[$key]=1
      _vigil_send $1 $_vigil_asked[$key] || _vigil_forget $key
    fi
  done
}

function _vigil_forget() {
  builtin unset "_vigil_asked[$1]" "_vigil_again[$1]" "_vigil_callback[$1]"
}

# Writes to NAME's process without blocking: fails if the pipe is full.
function _vigil_send() {
  builtin syswrite -o $_vigil_request[$1] -- $2 2>/dev/null
}

# Waits for a whole record from NAME's process: until the time $2 (as in $EPOCHREALTIME) or, if $2 is negative, for as long as the
# process works. Returns 1 if the time is up, and 2 if no record will come.
function _vigil_wait() {
  local -i response=${_vigil_response[$1]:-0}
  local -F rest
  local chunk
  (( response > 0 )) || builtin return 2
  while [[ $_vigil_came[$1] != *$'\x1e'* ]]; do
    (( rest = $2 < 0 ? 0.25 : $2 - EPOCHREALTIME ))
    (( rest = rest < 0 ? 0 : rest > 0.25 ? 0.25 : rest ))
    builtin sysread -t $rest -i $response chunk
    case $? in
      0) _vigil_came[$1]+=$chunk ;;
      4)
        (( $2 >= 0 && EPOCHREALTIME >= $2 )) && builtin return 1
        _vigil_works $1 || builtin return 2
        ;;
      *) builtin return 2 ;;
    esac
  done
}

function _vigil_clear() {
  builtin unset VCS_STATUS_{WORKDIR,COMMIT,LOCAL_BRANCH,REMOTE_BRANCH,REMOTE_NAME,REMOTE_URL,ACTION,INDEX_SIZE,NUM_STAGED,NUM_UNSTAGED,NUM_CONFLICTED,NUM_UNTRACKED,HAS_STAGED,HAS_UNSTAGED,HAS_CONFLICTED,HAS_UNTRACKED,COMMITS_AHEAD,COMMITS_BEHIND,STASHES,TAG,NUM_UNSTAGED_DELETED,NUM_STAGED_NEW,NUM_STAGED_DELETED,PUSH_REMOTE_NAME,PUSH_REMOTE_URL,PUSH_COMMITS_AHEAD,PUSH_COMMITS_BEHIND,NUM_SKIP_WORKTREE,NUM_ASSUME_UNCHANGED,COMMIT_ENCODING,COMMIT_SUMMARY}
}

# Takes the first record received from NAME's process and sets the variables. Returns 1 if this shell did not ask for it. The
# answer to the question $2 is in time; any other is late, and its callback is called.
function _vigil_take() {
  local record=${_vigil_came[$1]%%$'\x1e'*} when=async callback
  _vigil_came[$1]=${_vigil_came[$1]#*$'\x1e'}
  local -a fields=("${(@ps:\x1f:)record}")
  local key=$1.$fields[1]
  [[ -n ${_vigil_asked[$key]} ]] || builtin return
  callback=$_vigil_callback[$key]
  _vigil_forget $key
  [[ $fields[1] == "$2" ]] && when=sync
  if [[ $fields[2] == 1 ]]; then
    typeset -g VCS_STATUS_RESULT=ok-$when \
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
    if (( _vigil_index_max[$1] >= 0 && VCS_STATUS_INDEX_SIZE > _vigil_index_max[$1] )); then
      VCS_STATUS_HAS_UNSTAGED=-1 VCS_STATUS_HAS_CONFLICTED=-1 VCS_STATUS_HAS_UNTRACKED=-1
    fi
    _vigil_drawn=("${(@)fields[30,34]}")
  else
    _vigil_clear
    typeset -g VCS_STATUS_RESULT=norepo-$when
    _vigil_drawn=("${(@)fields[3,7]}")
  fi
  if [[ $when == async && -n $callback ]]; then
    builtin emulate zsh -c $callback
  fi
  builtin return 0
}

# Takes what arrived on the descriptor $1. Code that must run under the user's own options is left in _vigil_redraw.
function _vigil_hear() {
  builtin setopt local_options local_traps
  builtin trap - ZERR DEBUG
  _vigil_hear_all "$@"
  builtin return 0
}

function _vigil_hear_all() {
  typeset -g _vigil_redraw=
  local name=$_vigil_name[$1]
  if [[ -z $name ]]; then
    builtin zle -F $1
    builtin return
  fi
  while builtin true; do
    _vigil_wait $name 0
    case $? in
      0) _vigil_take $name '' ;;
      1) builtin return ;;
      *)
        # Without a question to repeat, the process need not be restarted yet.
        _vigil_leave $name now
        [[ -n ${(M)${(k)_vigil_asked}:#$name.*} ]] && _vigil_heal $name
        builtin return
        ;;
    esac
  done
}

# Usage: gitstatus_start [-a] [-t FLOAT] [-s|-u|-c|-d|-m INT] [-e] [-U] [-W] [-D] NAME
function gitstatus_start() {
  builtin setopt extended_glob
  local opt OPTARG options= name
  local -i OPTIND async index_max=-1
  local -F timeout=5
  while builtin getopts ":t:s:u:c:d:m:eaUWD" opt; do
    case $opt in
      a) async=1 ;;
      +a) async=0 ;;
      t)
        if ! _vigil_is_time $OPTARG || (( (timeout = OPTARG) <= 0 )); then
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
        [[ $opt == m ]] && index_max=OPTARG
        ;;
      e|U|W|D) options+=" -$opt" ;;
      +(e|U|W|D)) options=${options// -${opt#+}/} ;;
      \?) builtin print -ru2 -- "gitstatus_start: invalid option: $OPTARG"; builtin return 1 ;;
      :) builtin print -ru2 -- "gitstatus_start: missing required argument: $OPTARG"; builtin return 1 ;;
      *) builtin print -ru2 -- "gitstatus_start: invalid option: $opt"; builtin return 1 ;;
    esac
  done
  _vigil_has_name gitstatus_start "${@[OPTIND,-1]}" || builtin return
  name=$@[OPTIND]
  if [[ -z ${_vigil_state[$name]} ]]; then
    [[ $GITSTATUS_NUM_THREADS == <1-> ]] && options+=" -t $GITSTATUS_NUM_THREADS"
    _vigil_options[$name]=$options _vigil_index_max[$name]=$index_max
    typeset -g GITSTATUS_DAEMON_LOG_$name=/dev/null GITSTATUS_XTRACE_$name=/dev/null
    if ! _vigil_launch $name; then
      gitstatus_stop $name
      builtin print -ru2 -- '[ERROR]: gitstatus failed to initialize.'
      builtin return 1
    fi
    _vigil_state[$name]=1
  fi
  if (( async || _vigil_state[$name] == 2 )); then
    builtin return 0
  fi
  if ! { { _vigil_works $name || _vigil_launch $name } && _vigil_send $name $'}hello\x1f\x1e' && _vigil_wait $name $(( EPOCHREALTIME + timeout )) }; then
    gitstatus_stop $name
    builtin print -ru2 -- '[ERROR]: gitstatus failed to initialize.'
    builtin return 1
  fi
  _vigil_take $name ''
  _vigil_state[$name]=2
}

# Usage: gitstatus_stop NAME
function gitstatus_stop() {
  local key
  _vigil_has_name gitstatus_stop "$@" || builtin return
  _vigil_leave $1 now
  for key in ${(k)_vigil_asked}; do
    [[ $key == $1.* ]] && _vigil_forget $key
  done
  builtin unset "_vigil_state[$1]" "_vigil_options[$1]" "_vigil_index_max[$1]" "_vigil_pid[$1]"
  builtin unset "_vigil_owner[$1]" "_vigil_home[$1]" "_vigil_request[$1]" "_vigil_response[$1]" "_vigil_came[$1]"
  builtin unset GITSTATUS_DAEMON_PID_$1 VCS_STATUS_RESULT
  _vigil_clear
}

# Usage: gitstatus_check NAME
function gitstatus_check() {
  _vigil_has_name gitstatus_check "$@" || builtin return
  [[ ${_vigil_state[$1]} == 2 ]]
}

# Usage: gitstatus_query [-d STR] [-c STR] [-t FLOAT] [-p] NAME
function gitstatus_query() {
  local opt OPTARG dir callback name
  local -i OPTIND no_diff tries
  local -F timeout=-1 end=-1
  builtin unset VCS_STATUS_RESULT
  while builtin getopts ":d:c:t:p" opt; do
    case $opt in
      +p) no_diff=0 ;;
      p) no_diff=1 ;;
      d) dir=$OPTARG ;;
      c) callback=$OPTARG ;;
      t)
        if ! _vigil_is_time $OPTARG; then
          builtin print -ru2 -- "gitstatus_query: invalid -t argument: $OPTARG"
          builtin return 1
        fi
        timeout=OPTARG
        ;;
      \?) builtin print -ru2 -- "gitstatus_query: invalid option: $OPTARG"; builtin return 1 ;;
      :) builtin print -ru2 -- "gitstatus_query: missing required argument: $OPTARG"; builtin return 1 ;;
      *) builtin print -ru2 -- "gitstatus_query: invalid option: $opt"; builtin return 1 ;;
    esac
  done
  _vigil_has_name gitstatus_query "${@[OPTIND,-1]}" || builtin return
  name=$@[OPTIND]
  [[ ${_vigil_state[$name]} == 2 ]] || builtin return
  local here=$PWD
  if [[ $PWD != /* || ! $PWD -ef . ]]; then
    here=.
    here=${here:a}
  fi
  if [[ -z $GIT_DIR ]]; then
    [[ $dir == /* ]] || dir=$here${dir:+/$dir}
  elif [[ $GIT_DIR == /* ]]; then
    dir=:$GIT_DIR
  else
    dir=:$here/$GIT_DIR
  fi
  # A request cannot hold a path that contains a separator or is too long.
  if [[ $dir != (|:)/* || $dir == *[$'\x1e\x1f']* ]] || (( $#dir > 4096 )); then
    _vigil_clear
    typeset -g VCS_STATUS_RESULT=norepo-sync
    _vigil_drawn=('' 0 '' '' 0)
    builtin return 0
  fi
  (( timeout >= 0 )) && (( end = EPOCHREALTIME + timeout ))
  # The question's number includes the process id, since a subshell also hears answers that are meant for its parent.
  local id=$sysparams[pid].$(( ++_vigil_number ))
  local key=$name.$id
  if ! _vigil_works $name; then
    _vigil_heal $name || builtin return
  fi
  local tail=
  # The directory that a prompt shows is the shell's, not GIT_DIR.
  [[ $dir == :* && $here == /* && $here != *[$'\x1e\x1f']* ]] && (( $#here <= 4096 )) && tail=$'\x1f'$here
  _vigil_asked[$key]=$id$'\x1f'$dir$'\x1f'$no_diff$tail$'\x1e' _vigil_callback[$key]=$callback
  if ! _vigil_send $name $_vigil_asked[$key]; then
    # This repeats the new question, too, if it can be sent.
    _vigil_heal $name || _vigil_forget $key
    [[ -n ${_vigil_asked[$key]} ]] || builtin return
  fi
  local -i is_late=$(( timeout == 0 ))
  # VCS_STATUS_RESULT does not tell whether the answer came: a callback may ask a question of its own and set it.
  while (( ! is_late )) && [[ -n ${_vigil_asked[$key]} ]]; do
    _vigil_wait $name $end
    case $? in
      0) _vigil_take $name $id ;;
      1) is_late=1 ;;
      *)
        _vigil_heal $name || _vigil_forget $key
        if [[ -z ${_vigil_asked[$key]} ]]; then
          builtin unset VCS_STATUS_RESULT
          builtin return 1
        fi
        ;;
    esac
  done
  (( is_late )) || builtin return 0
  _vigil_clear
  typeset -g VCS_STATUS_RESULT=tout
  [[ -n $callback ]]
}

# Usage: gitstatus_process_results [-t FLOAT] NAME
function gitstatus_process_results() {
  local opt OPTARG name
  local -i OPTIND
  local -F timeout=-1 end=-1
  while builtin getopts ":t:" opt; do
    case $opt in
      t)
        if ! _vigil_is_time $OPTARG; then
          builtin print -ru2 -- "gitstatus_process_results: invalid -t argument: $OPTARG"
          builtin return 1
        fi
        timeout=OPTARG
        ;;
      \?) builtin print -ru2 -- "gitstatus_process_results: invalid option: $OPTARG"; builtin return 1 ;;
      :) builtin print -ru2 -- "gitstatus_process_results: missing required argument: $OPTARG"; builtin return 1 ;;
      *) builtin print -ru2 -- "gitstatus_process_results: invalid option: $opt"; builtin return 1 ;;
    esac
  done
  _vigil_has_name gitstatus_process_results "${@[OPTIND,-1]}" || builtin return
  name=$@[OPTIND]
  [[ ${_vigil_state[$name]} == 2 ]] || builtin return
  (( timeout >= 0 )) && (( end = EPOCHREALTIME + timeout ))
  while [[ -n ${(M)${(k)_vigil_asked}:#$name.$sysparams[pid].*} ]]; do
    _vigil_wait $name $end
    case $? in
      0) _vigil_take $name '' ;;
      1) builtin return 0 ;;
      *) _vigil_heal $name || builtin return ;;
    esac
  done
  builtin return 0
}

fi

# --prompt
if [[ -o interactive ]] && (( $+functions[gitstatus_query] )); then

# Asks, and sets GITSTATUS_PROMPT. $1 is the user's exit code, $2 is `on` if prompts expand `!`, and the exit codes of all
# commands in the user's pipeline follow.
function _vigil_prompt_update() {
  # Commands that fail in here must not trigger the user's traps.
  builtin setopt local_options local_traps
  builtin trap - ZERR DEBUG
  _vigil_prompt_find "$@"
  builtin return 0
}

function _vigil_prompt_find() {
  typeset -gi _vigil_prompt_status=$1 _vigil_prompt_again=0
  typeset -g _vigil_prompt_bang=$2
  typeset -ga _vigil_prompt_codes=("${@[3,-1]}")
  # A restricted shell cannot start a process.
  if [[ -o restricted ]]; then
    _vigil_prompt_set '' 0
    builtin return
  fi
  if ! gitstatus_check VIGIL && ! gitstatus_start -s -1 -u -1 -c -1 -d -1 VIGIL 2>/dev/null; then
    _vigil_prompt_set '' 0
    builtin return
  fi
  gitstatus_process_results -t 0 VIGIL
  if [[ -n ${(M)${(k)_vigil_asked}:#VIGIL.*} ]]; then
    # The last answer is still missing. If it is for another place, it is of no use any more.
    if [[ $_vigil_prompt_place == $GIT_DIR:$PWD ]] && _vigil_works VIGIL; then
      _vigil_prompt_again=1
      _vigil_prompt_set_stale
      builtin return
    fi
    gitstatus_stop VIGIL
    gitstatus_start -s -1 -u -1 -c -1 -d -1 VIGIL 2>/dev/null
  fi
  typeset -g _vigil_prompt_place=$GIT_DIR:$PWD
  local -F patience=0.05
  [[ $VIGIL_PROMPT_PATIENCE_MS == <-> ]] && (( patience = VIGIL_PROMPT_PATIENCE_MS / 1000. ))
  if ! gitstatus_query -t $patience -c _vigil_prompt_arrived VIGIL; then
    _vigil_prompt_set '' 0
  elif [[ $VCS_STATUS_RESULT == tout ]]; then
    _vigil_prompt_set_stale
  else
    _vigil_prompt_keep
    _vigil_prompt_set_fresh
  fi
}

# Sets what the prompt shows: the segment $1, its width $2, and the directory $3. Without $3, asks how to show the current one.
function _vigil_prompt_set() {
  local segment=$1 directory=$3
  if [[ -z $directory ]]; then
    local -a lines
    [[ -o restricted ]] || lines=("${(@f)$(_vigil_run --ask=: --here=$PWD 2>/dev/null </dev/null)}")
    # The directory is the fifth of six lines; the last is its width.
    directory=${lines[5]:-${${(V)${(D)PWD}}//\%/%%}}
  fi
  if [[ $_vigil_prompt_bang == on ]]; then
    directory=${directory//\!/!!} segment=${segment//\!/!!}
  fi
  typeset -g GITSTATUS_PROMPT=$segment _vigil_directory=$directory
  typeset -gi GITSTATUS_PROMPT_LEN=$2
}

function _vigil_prompt_keep() {
  typeset -g _vigil_prompt_last_place=$_vigil_prompt_place
  typeset -ga _vigil_prompt_last=("${_vigil_drawn[@]}")
}

function _vigil_prompt_set_fresh() {
  _vigil_prompt_set "$_vigil_prompt_last[1]" $_vigil_prompt_last[2] "$_vigil_prompt_last[4]"
}

# Leaves the top folder of the innermost repository around $1 in REPLY, or nothing. It goes up by `..` instead of shortening the
# path, since a part of the path may be a symbolic link.
function _vigil_find_top() {
  REPLY=$1
  while [[ ! -e $REPLY/.git && ! -e $REPLY/.hg ]]; do
    if [[ ! -d $REPLY || $REPLY -ef / ]]; then
      REPLY=
      builtin return
    fi
    REPLY+=/..
  done
}

# Whether the last answer was about the working copy that the shell is in.
function _vigil_prompt_is_same() {
  local REPLY last_top
  [[ -n $_vigil_prompt_last_place && $PWD -ef . ]] || builtin return
  [[ $_vigil_prompt_last_place == $GIT_DIR:$PWD ]] && builtin return
  # A place is the shell's GIT_DIR, a colon, and its directory.
  if [[ -n $GIT_DIR ]]; then
    [[ $GIT_DIR == /* && $_vigil_prompt_last_place == $GIT_DIR:/* ]]
    builtin return
  fi
  _vigil_find_top ${_vigil_prompt_last_place#:}
  last_top=$REPLY
  _vigil_find_top $PWD
  [[ -n $REPLY && $REPLY -ef $last_top ]]
}

# Shows the last answer in its stale form, if it was about this working copy.
function _vigil_prompt_set_stale() {
  if _vigil_prompt_is_same; then
    _vigil_prompt_set "$_vigil_prompt_last[3]" $_vigil_prompt_last[2]
  else
    _vigil_prompt_set '' 0
  fi
}

# Called when the answer arrives after the prompt has been shown.
function _vigil_prompt_arrived() {
  # The shell may have changed its directory since.
  [[ $_vigil_prompt_place == $GIT_DIR:$PWD ]] || builtin return
  _vigil_prompt_keep
  if (( _vigil_prompt_again )); then
    # The question is older than the last command, so ask again.
    _vigil_prompt_again=0
    gitstatus_query -t 0 -c _vigil_prompt_arrived VIGIL
    _vigil_prompt_set_stale
  else
    _vigil_prompt_set_fresh
  fi
  if builtin zle; then
    # Assigned in front of a command, pipestatus holds the exit codes of the user's pipeline while that command runs.
    _vigil_redraw="pipestatus=(${(j: :)_vigil_prompt_codes}) 'builtin' 'zle' '.reset-prompt'"
    if (( _vigil_prompt_status )); then
      # A prompt may show the user's exit code, so set it again, with error handling off: this is no new failure. A condition
      # around it would show up in a secondary prompt.
      _vigil_redraw="'builtin' 'setopt' 'local_options' 'local_traps' 'no_err_exit' 'no_err_return'; 'builtin' 'trap' '-' 'ZERR'
        '_vigil_exit_code_is' $_vigil_prompt_status; $_vigil_redraw"
    fi
  fi
}

function _vigil_exit_code_is() {
  builtin return $1
}

typeset -ga precmd_functions chpwd_functions
precmd_functions=(${precmd_functions:#_vigil_precmd} _vigil_precmd)
# A key binding may change the directory and have the prompt redrawn.
chpwd_functions=(${chpwd_functions:#_vigil_chpwd} _vigil_chpwd)

typeset -g _vigil_directory GITSTATUS_PROMPT=
typeset -gi GITSTATUS_PROMPT_LEN=0
if [[ -n $NO_COLOR || $TERM == dumb ]]; then
  PROMPT='%n@%m ${_vigil_directory}${GITSTATUS_PROMPT:+ $GITSTATUS_PROMPT}'$'\n''%# '
else
  PROMPT='%F{70}%n@%m%f ${_vigil_directory}${GITSTATUS_PROMPT:+ $GITSTATUS_PROMPT}'$'\n''%F{%(?.76.196)}%#%f '
fi

fi
# outside
# No word here could be a user's alias. zle calls this when something arrives:
_vigil_heard () 'builtin' 'eval' "'_vigil_hear' \"\$@\"; 'builtin' 'eval' \"\${_vigil_redraw-}\""
# --prompt
_vigil_precmd () '_vigil_prompt_update' "$?" "${options[promptbang]-}" "${pipestatus[@]}"
_vigil_chpwd () 'builtin' 'eval' "'builtin' 'zle' && '_vigil_prompt_update' \"\${_vigil_prompt_status-}\" \"\${options[promptbang]-}\" \"\${_vigil_prompt_codes[@]}\" || 'builtin' 'true'"
'builtin' 'setopt' 'prompt_percent' 'prompt_subst' 'no_prompt_bang'
