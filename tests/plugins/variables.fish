# Like variables.zsh, for fish, which has no plugin but Vigil's.

set -l plugin $argv[1]
set -l states $argv[2]
$plugin init fish | source
gitstatus_start -s -1 -u -1 -c -1 -d -1 -t 30
or exit
while read -l line
    set -l name (string split '|' -- $line)[1]
    gitstatus_query -d $states/$name -t 30
    or set -g VCS_STATUS_RESULT failed
    for variable in (set -n | string match 'VCS_STATUS_*')
        echo "$name|$variable=$$variable"
    end
end <$states/table >$argv[3]
gitstatus_stop
exit 0
