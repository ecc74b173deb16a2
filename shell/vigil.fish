# Vigil for fish: the functions of gitstatus's bash plugin, answered by Vigil. `vigil init fish` prints this.
#
# fish cannot keep pipes to a process open, so each question starts a short-lived process, which asks the user's daemon.

# Like gitstatus's plugins, this defines nothing in a shell that is not interactive.
if status is-interactive

    set -g __vigil_program @program@

    # Usage: gitstatus_start [-t FLOAT] [-s|-u|-c|-d|-m|-r INT] [-e] [-U] [-W] [-D]
    function gitstatus_start
        argparse -n gitstatus_start 't=' 's=' 'u=' 'c=' 'd=' 'm=' 'r=' e U W D -- $argv
        or return 1
        if set -q argv[1]
            builtin echo 'usage: gitstatus_start [OPTION]...' >&2
            return 1
        end
        gitstatus_check
        and return 0
        set -l options
        set -q _flag_s; and set -a options -s $_flag_s
        set -q _flag_u; and set -a options -u $_flag_u
        set -q _flag_c; and set -a options -c $_flag_c
        set -q _flag_d; and set -a options -d $_flag_d
        set -q _flag_m; and set -a options -m $_flag_m
        set -q _flag_r; and set -a options -r $_flag_r
        set -q _flag_e; and set -a options -e
        set -q _flag_U; and set -a options -U
        set -q _flag_W; and set -a options -W
        set -q _flag_D; and set -a options -D
        # Asks about no place, only to see whether there is an answer.
        __vigil_run --ask= $options >/dev/null
        if test $status -ne 0
            builtin echo '[ERROR]: gitstatus failed to initialize.' >&2
            return 1
        end
        set -g __vigil_options $options
        set -g __vigil_index_max -1
        set -q _flag_m; and set -g __vigil_index_max $_flag_m
        return 0
    end

    # Usage: gitstatus_stop
    function gitstatus_stop
        set -e __vigil_index_max
        set -e __vigil_options
        return 0
    end

    # Usage: gitstatus_check
    function gitstatus_check
        set -q __vigil_index_max
    end

    # Usage: gitstatus_query [-d STR] [-t FLOAT] [-p]
    function gitstatus_query
        # With an empty IFS, fish would not split output into lines.
        set -l IFS \n
        argparse -n gitstatus_query 'd=' 'c=' 't=' p -- $argv
        or return 1
        if set -q argv[1]
            builtin echo 'usage: gitstatus_query [OPTION]...' >&2
            return 1
        end
        gitstatus_check
        or return 1
        set -l options
        if set -q _flag_t
            if not string match -qr '^[0-9]*\.?[0-9]+$' -- $_flag_t
                builtin echo "gitstatus_query: invalid -t argument: $_flag_t" >&2
                return 1
            end
            set -a options --within-ms=(builtin math -s0 "$_flag_t * 1000")
        end
        set -q _flag_p; and set -a options --skip-index
        set -l place (__vigil_place $_flag_d | string collect -N)
        or return 1
        set -l fields (__vigil_ask $place $options)
        or return 1
        __vigil_set $fields
    end

    # Prints the place to ask about for the directory $argv[1]. It may hold newlines: take it with `string collect -N`.
    function __vigil_place
        set -l here $PWD
        if test -n "$GIT_DIR"
            string match -q '/*' -- $GIT_DIR
            and builtin printf '%s' ":$GIT_DIR"
            or builtin printf '%s' ":$here/$GIT_DIR"
        else if not set -q argv[1]
            builtin printf '%s' $here
        else
            string match -q '/*' -- $argv[1]
            and builtin printf '%s' $argv[1]
            or builtin printf '%s' $here/$argv[1]
        end
    end

    # Asks about the place $argv[1] with the options that follow it, and prints the fields of the answer.
    function __vigil_ask
        set -l IFS \n
        # Not in a loop: what a loop exports with -l is gone after it.
        eval (set -n | string replace -rf '^(VIGIL_PROMPT_.*|NO_COLOR)$' 'set -lx $1 $$$1;')
        __vigil_run $__vigil_options --prompt-for=fish --ask=$argv[1] --here=$PWD $argv[2..] 2>/dev/null
    end

    # Runs the program, if it is there: if it is not, fish would print a message.
    function __vigil_run
        test -x $__vigil_program
        and $__vigil_program gitstatusd $argv </dev/null
    end

    # Sets the variables from the fields of an answer.
    function __vigil_set
        set -l IFS \n
        if test "$argv[1]" != 1
            for name in (set -n | string match 'VCS_STATUS_*')
                set -eg $name
            end
            set -g VCS_STATUS_RESULT norepo-sync
            set -g __vigil_drawn $argv[2..6]
            return 0
        end
        set -g VCS_STATUS_RESULT ok-sync
        set -g VCS_STATUS_WORKDIR $argv[2]
        set -g VCS_STATUS_COMMIT $argv[3]
        set -g VCS_STATUS_LOCAL_BRANCH $argv[4]
        set -g VCS_STATUS_REMOTE_BRANCH $argv[5]
        set -g VCS_STATUS_REMOTE_NAME $argv[6]
        set -g VCS_STATUS_REMOTE_URL $argv[7]
        set -g VCS_STATUS_ACTION $argv[8]
        set -g VCS_STATUS_INDEX_SIZE $argv[9]
        set -g VCS_STATUS_NUM_STAGED $argv[10]
        set -g VCS_STATUS_NUM_UNSTAGED $argv[11]
        set -g VCS_STATUS_NUM_CONFLICTED $argv[12]
        set -g VCS_STATUS_NUM_UNTRACKED $argv[13]
        set -g VCS_STATUS_COMMITS_AHEAD $argv[14]
        set -g VCS_STATUS_COMMITS_BEHIND $argv[15]
        set -g VCS_STATUS_STASHES $argv[16]
        set -g VCS_STATUS_TAG $argv[17]
        set -g VCS_STATUS_NUM_UNSTAGED_DELETED $argv[18]
        set -g VCS_STATUS_NUM_STAGED_NEW $argv[19]
        set -g VCS_STATUS_NUM_STAGED_DELETED $argv[20]
        set -g VCS_STATUS_PUSH_REMOTE_NAME $argv[21]
        set -g VCS_STATUS_PUSH_REMOTE_URL $argv[22]
        set -g VCS_STATUS_PUSH_COMMITS_AHEAD $argv[23]
        set -g VCS_STATUS_PUSH_COMMITS_BEHIND $argv[24]
        set -g VCS_STATUS_NUM_SKIP_WORKTREE $argv[25]
        set -g VCS_STATUS_NUM_ASSUME_UNCHANGED $argv[26]
        set -g VCS_STATUS_COMMIT_ENCODING $argv[27]
        set -g VCS_STATUS_COMMIT_SUMMARY $argv[28]
        set -g __vigil_drawn $argv[29..33]
        set -g VCS_STATUS_HAS_STAGED (test $argv[10] -gt 0; and builtin echo 1; or builtin echo 0)
        if test $__vigil_index_max -ge 0 -a $argv[9] -gt $__vigil_index_max
            set -g VCS_STATUS_HAS_UNSTAGED -1
            set -g VCS_STATUS_HAS_CONFLICTED -1
            set -g VCS_STATUS_HAS_UNTRACKED -1
        else
            set -g VCS_STATUS_HAS_UNSTAGED (test $argv[11] -gt 0; and builtin echo 1; or builtin echo 0)
            set -g VCS_STATUS_HAS_CONFLICTED (test $argv[12] -gt 0; and builtin echo 1; or builtin echo 0)
            set -g VCS_STATUS_HAS_UNTRACKED (test $argv[13] -gt 0; and builtin echo 1; or builtin echo 0)
        end
    end

end

# --prompt
if status is-interactive

    set -g GITSTATUS_PROMPT ''
    set -g GITSTATUS_PROMPT_LEN 0
    set -g __vigil_directory ''
    # What the prompt showed for the last answer, the place it was about, and the top folder of the repository.
    set -g __vigil_last '' 0 ''
    set -g __vigil_last_place ''
    set -g __vigil_last_top ''
    # The last question that took too long, the process that works on it, its place, and whether a command has run since.
    set -q __vigil_number
    or set -g __vigil_number 0
    set -g __vigil_waiting 0
    set -g __vigil_waiting_place ''
    set -g __vigil_waiting_again 0
    # Whether a command is running.
    set -g __vigil_is_running 1

    # Asks, and sets GITSTATUS_PROMPT.
    function __vigil_prompt_update --on-event fish_prompt
        set -l IFS \n
        set -g __vigil_is_running 0
        if not gitstatus_check; and not gitstatus_start -s -1 -u -1 -c -1 -d -1 2>/dev/null
            __vigil_prompt_show '' 0
            return
        end
        set -l place (__vigil_place | string collect -N)
        set -l fields
        if test $__vigil_waiting -gt 0; and test "$__vigil_waiting_place" = "$place"
            if set fields (__vigil_taken)
                # The question is older than the last command: keep its answer, and ask again.
                __vigil_keep $place $fields
            else if __vigil_prompt_works
                set -g __vigil_waiting_again 1
                __vigil_prompt_show_last $place
                return
            end
        end
        set -g __vigil_waiting 0
        __vigil_prompt_ask $place
    end

    # Asks about the place $argv[1]. If the answer is not there in time, a background process goes on with the question.
    function __vigil_prompt_ask
        set -l IFS \n
        set -l place $argv[1]
        set -l fields
        set -l patience_ms 50
        string match -qr '^[0-9]{1,9}$' -- "$VIGIL_PROMPT_PATIENCE_MS"
        and set patience_ms $VIGIL_PROMPT_PATIENCE_MS
        if set fields (__vigil_ask $place --within-ms=$patience_ms)
            __vigil_keep $place $fields
            __vigil_prompt_show $__vigil_last[1] $__vigil_last[2] $__vigil_last[4]
            return
        else if test $status -eq 75
            __vigil_prompt_wait $place
        end
        __vigil_prompt_show_last $place
    end

    # Starts a background process, neither a job nor a child, that asks about the place $argv[1] and signals this shell when done.
    function __vigil_prompt_wait
        set -g __vigil_number (builtin math $__vigil_number + 1)
        set -g __vigil_waiting_place $argv[1]
        set -g __vigil_waiting_again 0
        set -g __vigil_waiting (__vigil_ask $argv[1] --leave-for=$fish_pid.$__vigil_number)
        or set -g __vigil_waiting 0
    end

    # Whether that process exists and is not halted.
    function __vigil_prompt_works
        set -l IFS \n
        set -l stat
        test -e /proc/$__vigil_waiting/stat
        and read -z stat 2>/dev/null </proc/$__vigil_waiting/stat
        and not string match -qr '\) [tT] [^)]*$' -- $stat
    end

    function __vigil_prompt_arrived --on-signal URG
        set -l IFS \n
        test $__vigil_waiting -gt 0
        and set -l fields (__vigil_taken)
        or return
        set -g __vigil_waiting 0
        # The shell may have changed its directory since.
        set -l place (__vigil_place | string collect -N)
        test "$__vigil_waiting_place" = "$place"
        or return
        __vigil_keep $place $fields
        if test $__vigil_waiting_again -gt 0
            # The question is older than the last command: keep its answer, and ask again.
            __vigil_prompt_ask $place
        else
            __vigil_prompt_show $__vigil_last[1] $__vigil_last[2] $__vigil_last[4]
        end
        builtin commandline -f repaint
    end

    # A signal would interrupt an open(2) of a command, so from now on the answer is left for the next prompt.
    function __vigil_prompt_hold --on-event fish_preexec
        set -g __vigil_is_running 1
        test $__vigil_waiting -gt 0
        and __vigil_run --hold-for=$fish_pid.$__vigil_number 2>/dev/null
    end

    # A key binding may change the directory and have the prompt redrawn.
    function __vigil_prompt_moved --on-variable PWD
        test $__vigil_is_running -eq 0
        and __vigil_prompt_update
    end

    # Prints the fields of the answer that the background process left, if there is one.
    function __vigil_taken
        __vigil_run --take-for=$fish_pid.$__vigil_number 2>/dev/null
    end

    # Prints the top folder of the innermost repository around the shell, with a slash at its end, or nothing.
    function __vigil_prompt_top
        # The slash protects a newline at the end of a name, which would otherwise be lost.
        set -l folder (begin; builtin pwd -P; builtin printf /; end | string collect)
        set folder (string replace -r '\n/\z' / -- $folder | string collect)
        while test -n "$folder"
            if test -e "$folder.git"; or test -e "$folder.hg"
                builtin printf '%s' $folder
                return
            end
            set folder (string replace -r '[^/]*/\z' '' -- $folder | string collect)
        end
    end

    # Whether the last answer was about the working copy around the place $argv[1].
    function __vigil_prompt_is_same
        test -d "$PWD"
        or return
        test "$__vigil_last_place" = "$argv[1]"
        and return
        test -n "$__vigil_last_top"; and test -z "$GIT_DIR"
        or return
        set -l top (__vigil_prompt_top | string collect)
        test "$__vigil_last_top" = "$top"
    end

    # Keeps an answer as the last one. $argv is the place of the question and the fields of the answer.
    function __vigil_keep
        __vigil_set $argv[2..]
        set -g __vigil_last_place $argv[1]
        set -g __vigil_last_top ''
        test -z "$GIT_DIR"
        and set -g __vigil_last_top (__vigil_prompt_top | string collect)
        set -g __vigil_last $__vigil_drawn
    end

    # Shows the last answer in its stale form, if it was about the same working copy as the place $argv[1].
    function __vigil_prompt_show_last
        if __vigil_prompt_is_same $argv[1]
            __vigil_prompt_show $__vigil_last[3] $__vigil_last[2]
        else
            __vigil_prompt_show '' 0
        end
    end

    # Shows the segment $argv[1], its width $argv[2], and the directory $argv[3]. Without that, asks how to show the current one.
    function __vigil_prompt_show
        set -g GITSTATUS_PROMPT $argv[1]
        set -g GITSTATUS_PROMPT_LEN $argv[2]
        set -g __vigil_directory $argv[3]
        test -n "$__vigil_directory"
        and return
        # The directory is the fifth of six lines; the last is its width.
        set -l lines (__vigil_ask :)
        and set -g __vigil_directory $lines[5]
        test -n "$__vigil_directory"
        or set -g __vigil_directory (string escape --no-quoted -- $PWD)
    end

    function fish_prompt
        set -l code $status
        set -l plain ''
        set -l green ''
        set -l end ''
        if test -z "$NO_COLOR"; and test "$TERM" != dumb
            set plain \e'[39m'
            set green \e'[38;5;70m'
            set end \e'[38;5;76m'
            test $code -eq 0
            or set end \e'[38;5;196m'
        end
        set -l symbol '>'
        fish_is_root_user
        and set symbol '#'
        builtin echo -s $green $USER@$hostname $plain ' ' $__vigil_directory (test -n "$GITSTATUS_PROMPT"; and builtin echo " $GITSTATUS_PROMPT")
        builtin echo -n -s $end $symbol $plain ' '
    end

end
