#!/bin/sh
# Writes seeds for the target `index`, made by git, into fuzz/corpus/index.
set -eu

corpus=$(cd "$(dirname "$0")" && pwd)/corpus/index
mkdir -p "$corpus"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HOME="$dir" GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a

# seed NAME KIND: the index of the current repository, behind the byte that chooses the kind of ids.
seed() {
    { printf "$2"; cat .git/index; } >"$corpus/$1"
}

for kind in sha1 sha256; do
    byte=$([ $kind = sha1 ] && echo '\000' || echo '\001')
    git init -q --object-format=$kind "$dir/$kind"
    cd "$dir/$kind"
    mkdir -p a/b c
    for file in a/b/1 a/b/2 a-b a.b c/3; do echo "$file" >"$file"; done
    git add .
    git commit -qm seed
    seed $kind-v2 "$byte"
    echo >intent
    git add -N intent
    seed $kind-v3 "$byte"
    git update-index --index-version 4
    seed $kind-v4 "$byte"
    git update-index --split-index
    echo changed >a/b/1
    git add a/b/1
    git rm -qf c/3
    seed $kind-split "$byte"
    git reset -q --hard
    git update-index --no-split-index
    git sparse-checkout set --cone --sparse-index a
    seed $kind-sparse "$byte"
done
