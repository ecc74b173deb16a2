# Vigil for fish: the functions of gitstatus's bash plugin, answered by Vigil. `vigil init fish` prints this.
#
# fish cannot keep pipes to a process open, so each request starts a short-lived process, which asks the user's daemon.

# Like gitstatus's plugins, this defines nothing in a shell that is not interactive.
if status is-interactive; and not string match -qr '^(3\.[1-9]|[4-9]|[1-9][0-9])' -- $version
    builtin echo "vigil: fish 3.1 or later is needed, not $version" >&2
else if status is-interactive

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
        string match -qr '^[1-9][0-9]*$' -- "$GITSTATUS_NUM_THREADS"; and set -a options -t $GITSTATUS_NUM_THREADS
        # Query no location, only to see whether the program answers.
        __vigil_run_program --ask= $options >/dev/null
        if test $status -ne 0
            builtin echo '[ERROR]: gitstatus failed to initialize.' >&2
            return 1
        end
        set -g __vigil_program_options $options
        set -g __vigil_dirty_max_index_size -1
        set -q _flag_m; and set -g __vigil_dirty_max_index_size $_flag_m
        return 0
    end

    # Usage: gitstatus_stop
    function gitstatus_stop
        set -e __vigil_dirty_max_index_size
        set -e __vigil_program_options
        return 0
    end

    # Usage: gitstatus_check
    function gitstatus_check
        set -q __vigil_dirty_max_index_size
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
        set -l location (__vigil_get_location $_flag_d | string collect -N)
        or return 1
        set -l fields (__vigil_query $location $options)
        or return 1
        __vigil_set_status_variables $fields
    end

    # Prints the location to query for the directory $argv[1]: a path, or a colon and GIT_DIR. It may contain newlines, so read it
    # with `string collect -N`.
    function __vigil_get_location
        set -l kind ''
        set -l path $argv[1]
        if test -n "$GIT_DIR"
            set kind :
            set path $GIT_DIR
        end
        if string match -q '/*' -- "$path"
            builtin printf '%s' "$kind$path"
        else if test -z "$PWD"
            # fish was started in a directory that had been deleted. No location is below it.
            builtin printf :
        else if test -n "$path"
            builtin printf '%s' "$kind$PWD/$path"
        else
            builtin printf '%s' "$PWD"
        end
    end

    # Queries the location $argv[1] with the options that follow it, and prints the fields of the response.
    function __vigil_query
        set -l IFS \n
        # Not in a loop: variables that it exports with -l are gone after it.
        eval (set -n | string replace -rf '^(VIGIL_PROMPT_.*|NO_COLOR)$' 'set -lx $1 $$$1;')
        __vigil_run_program $__vigil_program_options --prompt-for=fish --ask=$argv[1] --here="$PWD" $argv[2..-1] 2>/dev/null
    end

    # Runs the program with the options $argv. If it does not exist, fails without the message that fish would print.
    function __vigil_run_program
        test -x $__vigil_program
        and $__vigil_program gitstatusd $argv </dev/null
    end

    # Sets the VCS_STATUS_* variables from the fields of a response.
    function __vigil_set_status_variables
        set -l IFS \n
        if test "$argv[1]" != 1
            for name in (set -n | string match 'VCS_STATUS_*')
                set -eg $name
            end
            set -g VCS_STATUS_RESULT norepo-sync
            set -g __vigil_rendered_prompt $argv[2..6]
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
        set -g __vigil_rendered_prompt $argv[29..33]
        set -g VCS_STATUS_HAS_STAGED (test $argv[10] -gt 0; and builtin echo 1; or builtin echo 0)
        if test $__vigil_dirty_max_index_size -ge 0 -a $argv[9] -gt $__vigil_dirty_max_index_size
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
if status is-interactive; and functions -q gitstatus_query

    set -g GITSTATUS_PROMPT ''
    set -g GITSTATUS_PROMPT_LEN 0
    set -g __vigil_prompt_directory ''
    # What the prompt showed for the last response (the segment, its width, its stale form, the directory, and the directory's
    # width), the location it is about, and the root of the repository.
    set -g __vigil_prompt_last_rendered '' 0 ''
    set -g __vigil_prompt_last_location ''
    set -g __vigil_prompt_last_root ''
    # The last request that took too long: its number, the id of the process that works on it (or 0), its location, and whether it
    # is outdated because a command has run since.
    set -q __vigil_request_number
    or set -g __vigil_request_number 0
    set -g __vigil_prompt_request_pid 0
    set -g __vigil_prompt_request_location ''
    set -g __vigil_prompt_request_is_outdated 0
    # Whether a command is running.
    set -g __vigil_command_is_running 1

    # Queries the status and sets the variables of the prompt.
    function __vigil_prompt_update --on-event fish_prompt
        set -l IFS \n
        set -g __vigil_command_is_running 0
        # An interrupt ends this function at once. The prompt must not show another directory, or an old response, then.
        set -g GITSTATUS_PROMPT ''
        set -g GITSTATUS_PROMPT_LEN 0
        set -g __vigil_prompt_directory (string escape --no-quoted -- $PWD)
        if not gitstatus_check; and not gitstatus_start -s -1 -u -1 -c -1 -d -1 2>/dev/null
            __vigil_prompt_set_variables '' 0
            return
        end
        set -l location (__vigil_get_location | string collect -N)
        set -l fields
        if test $__vigil_prompt_request_pid -gt 0; and test "$__vigil_prompt_request_location" = "$location"
            if set fields (__vigil_take_late_response)
                # The request is older than the last command: keep its response, and query again.
                __vigil_prompt_remember_response $location $fields
            else if __vigil_prompt_request_is_running
                set -g __vigil_prompt_request_is_outdated 1
                __vigil_prompt_set_stale $location
                return
            end
        end
        set -g __vigil_prompt_request_pid 0
        __vigil_prompt_query $location
    end

    # Queries the location $argv[1] and shows the response. If there is none in time, a background process goes on.
    function __vigil_prompt_query
        set -l IFS \n
        set -l location $argv[1]
        set -l fields
        set -l timeout_ms 50
        string match -qr '^[0-9]{1,9}$' -- "$VIGIL_PROMPT_PATIENCE_MS"
        and set timeout_ms $VIGIL_PROMPT_PATIENCE_MS
        if set fields (__vigil_query $location --within-ms=$timeout_ms)
            __vigil_prompt_remember_response $location $fields
            __vigil_prompt_set_variables $__vigil_prompt_last_rendered[1] $__vigil_prompt_last_rendered[2] $__vigil_prompt_last_rendered[4]
            return
        else if test $status -eq 75
            __vigil_prompt_query_in_background $location
        end
        __vigil_prompt_set_stale $location
    end

    # Starts a background process, neither a job nor a child, that queries the location $argv[1] and signals this shell when done.
    function __vigil_prompt_query_in_background
        set -g __vigil_request_number (builtin math $__vigil_request_number + 1)
        set -g __vigil_prompt_request_location $argv[1]
        set -g __vigil_prompt_request_is_outdated 0
        set -g __vigil_prompt_request_pid (__vigil_query $argv[1] --leave-for=$fish_pid.$__vigil_request_number)
        or set -g __vigil_prompt_request_pid 0
    end

    # Whether the background process exists and is not halted.
    function __vigil_prompt_request_is_running
        set -l IFS \n
        set -l stat
        test -e /proc/$__vigil_prompt_request_pid/stat
        and read -z stat 2>/dev/null </proc/$__vigil_prompt_request_pid/stat
        and not string match -qr '\) [tT] [^)]*$' -- $stat
    end

    # Called when a response arrives after the prompt has been shown.
    function __vigil_prompt_on_late_response --on-signal URG
        set -l IFS \n
        # While it draws a prompt, fish ignores a request to draw it again. The signal comes again until the response is taken.
        status is-command-substitution
        and return
        test $__vigil_prompt_request_pid -gt 0
        and set -l fields (__vigil_take_late_response)
        or return
        set -g __vigil_prompt_request_pid 0
        # The shell may have changed its directory in the meantime.
        set -l location (__vigil_get_location | string collect -N)
        test "$__vigil_prompt_request_location" = "$location"
        or return
        __vigil_prompt_remember_response $location $fields
        if test $__vigil_prompt_request_is_outdated -gt 0
            # The request is older than the last command, so query again.
            __vigil_prompt_query $location
        else
            __vigil_prompt_set_variables $__vigil_prompt_last_rendered[1] $__vigil_prompt_last_rendered[2] $__vigil_prompt_last_rendered[4]
        end
        builtin commandline -f repaint
    end

    # A signal could interrupt an open(2) of the command, so from now on a response is left for the next prompt.
    function __vigil_prompt_hold_signal --on-event fish_preexec
        set -g __vigil_command_is_running 1
        test $__vigil_prompt_request_pid -gt 0
        and __vigil_run_program --hold-for=$fish_pid.$__vigil_request_number 2>/dev/null
    end

    # A key binding may change the directory and redraw the prompt.
    function __vigil_prompt_on_directory_change --on-variable PWD
        test $__vigil_command_is_running -eq 0
        and __vigil_prompt_update
    end

    # Prints the fields of the response that the background process has left, if there is one.
    function __vigil_take_late_response
        __vigil_run_program --take-for=$fish_pid.$__vigil_request_number 2>/dev/null
    end

    # Prints the root of the innermost repository that contains the current directory, with a slash at its end, or nothing.
    function __vigil_find_repository_root
        # The slash protects a newline at the end of the name, which would otherwise be lost.
        set -l folder (begin; builtin pwd -P 2>/dev/null; builtin printf /; end | string collect)
        set folder (string replace -r '\n/\z' / -- $folder | string collect)
        while test -n "$folder"
            if test -e "$folder.git"; or test -e "$folder.hg"
                builtin printf '%s' $folder
                return
            end
            set folder (string replace -r '[^/]*/\z' '' -- $folder | string collect)
        end
    end

    # Whether the last response is about the repository of the location $argv[1].
    function __vigil_prompt_is_same_repository
        test -d "$PWD"
        or return
        test "$__vigil_prompt_last_location" = "$argv[1]"
        and return
        test -n "$__vigil_prompt_last_root"; and test -z "$GIT_DIR"
        or return
        set -l root (__vigil_find_repository_root | string collect)
        test "$__vigil_prompt_last_root" = "$root"
    end

    # Keeps a response as the last one. $argv is the location and the fields of the response.
    function __vigil_prompt_remember_response
        __vigil_set_status_variables $argv[2..-1]
        set -g __vigil_prompt_last_location $argv[1]
        set -g __vigil_prompt_last_root ''
        test -z "$GIT_DIR"
        and set -g __vigil_prompt_last_root (__vigil_find_repository_root | string collect)
        set -g __vigil_prompt_last_rendered $__vigil_rendered_prompt
    end

    # Shows the last response in its stale form, if it is about the repository of the location $argv[1].
    function __vigil_prompt_set_stale
        if __vigil_prompt_is_same_repository $argv[1]
            __vigil_prompt_set_variables $__vigil_prompt_last_rendered[3] $__vigil_prompt_last_rendered[2]
        else
            __vigil_prompt_set_variables '' 0
        end
    end

    # Sets what the prompt shows: the segment $argv[1], its width $argv[2], and the directory $argv[3]. Without $argv[3],
    # asks the program how to show the current directory.
    function __vigil_prompt_set_variables
        set -l IFS \n
        set -g GITSTATUS_PROMPT $argv[1]
        set -g GITSTATUS_PROMPT_LEN $argv[2]
        set -g __vigil_prompt_directory $argv[3]
        test -n "$__vigil_prompt_directory"
        and return
        # The directory is the fifth of six lines; the last is its width.
        set -l lines (__vigil_query :)
        and set -g __vigil_prompt_directory $lines[5]
        test -n "$__vigil_prompt_directory"
        or set -g __vigil_prompt_directory (string escape --no-quoted -- $PWD)
    end

    function fish_prompt
        set -l exit_code $status
        set -l default_color ''
        set -l green ''
        set -l symbol_color ''
        if test -z "$NO_COLOR"; and test "$TERM" != dumb
            set default_color \e'[39m'
            set green \e'[38;5;70m'
            set symbol_color \e'[38;5;76m'
            test $exit_code -eq 0
            or set symbol_color \e'[38;5;196m'
        end
        set -l symbol '>'
        if functions -q fish_is_root_user
            fish_is_root_user
        else
            # fish 3.1 has no such function.
            contains -- "$USER" root toor
        end
        and set symbol '#'
        builtin echo -s $green $USER@$hostname $default_color ' ' $__vigil_prompt_directory (test -n "$GITSTATUS_PROMPT"; and builtin echo " $GITSTATUS_PROMPT")
        builtin echo -n -s $symbol_color $symbol $default_color ' '
    end

end
