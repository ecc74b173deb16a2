# Runs a command on a terminal of its own, prints its output, and exits with its exit code.
#
#   zsh -f on-a-terminal.zsh COMMAND [ARGUMENT]...

emulate -R zsh -o extended_glob
zmodload zsh/zpty || exit
zpty terminal "${(@q)@}; print -r -- \"exit code \$?\"" || exit
local line code=1
while zpty -r terminal line; do
  line=${line%%[$'\r\n']#}
  if [[ $line == (#b)*'exit code '(<->)* ]]; then
    code=$match[1]
    break
  fi
  print -r -- $line
done
exit code
