# Asks about every state, and writes all variables that a query sets to a file. Sourced by an interactive zsh on a
# terminal.
#
# $1: the plugin, or the path of vigil; $2: the directory with the states; $3: the file.

plugin=$1 states=$2 written=$3
set --
case $plugin in
*.zsh) source $plugin || exit ;;
*) eval "$($plugin init zsh)" || exit ;;
esac
zmodload zsh/parameter
gitstatus_start -s -1 -u -1 -c -1 -d -1 -t 30 PROBE || exit
while IFS='|' read -r name rest; do
  gitstatus_query -d $states/$name -t 30 PROBE || VCS_STATUS_RESULT=failed
  for variable in ${(ok)parameters[(I)VCS_STATUS_*]}; do
    print -r -- "$name|$variable=${(P)variable}"
  done
done <$states/table >$written
gitstatus_stop PROBE
exit 0
