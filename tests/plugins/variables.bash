# Like variables.zsh, for bash.

plugin=$1 states=$2 written=$3
case $plugin in
*.sh) source "$plugin" || exit ;;
*) eval "$("$plugin" init bash)" || exit ;;
esac
gitstatus_start -s -1 -u -1 -c -1 -d -1 -t 30 || exit
while IFS='|' read -r name rest; do
	gitstatus_query -d "$states/$name" -t 30 || VCS_STATUS_RESULT=failed
	for variable in "${!VCS_STATUS_@}"; do
		echo "$name|$variable=${!variable}"
	done
done <"$states"/table | LC_ALL=C sort >"$written"
gitstatus_stop
exit 0
