# A repository in the folder `work` with objects of all types, ids of $HASH, by the git $GIT.
set -e
"$GIT" init -q -b main --object-format="$HASH" work
cd work
"$GIT" config gc.auto 0
"$GIT" config maintenance.auto false
"$GIT" config pack.threads 1
mkdir -p d/e
ln -s ../file d/link
ln -s nowhere dangling
ln -s circle circle
printf 'Right <right@example.com> <author@example.com>\n' >.mailmap
printf '*.id ident\n*.crlf text eol=crlf\n*.up diff=up\n' >.gitattributes
printf '$Id$\n' >a.id
printf 'a\nb\n' >a.crlf
printf 'shout\n' >a.up
"$GIT" config diff.up.textconv 'tr a-z A-Z <'
: >empty
for number in 1 2 3 4 5 6; do
    seq 1 400 | sed "s/^${number}.\$/changed in $number/" >file
    seq 1 60 | sed "s/^$number/x/" >d/e/deep
    echo "$number" >"d/small$number"
    "$GIT" add -A
    "$GIT" commit -q -m "commit $number"
done
seq 1 15000 >big
"$GIT" add -A
"$GIT" update-index --add --cacheinfo "160000,$("$GIT" rev-parse HEAD),module"
"$GIT" commit -q -m 'with a module'
"$GIT" tag -a -m 'a tag' v1
"$GIT" tag -a -m 'a tag of a tag' nested v1
"$GIT" tag -a -m 'a tag of a blob' of-blob HEAD:file
"$GIT" tag -a -m 'a tag of a tree' of-tree 'HEAD^{tree}'
"$GIT" tag light HEAD~2
# What is larger is streamed. A candidate may do so from there on without being told, and have no reverse indexes.
"$GIT" config core.bigFileThreshold 1m
"$GIT" config pack.writeReverseIndex false

delete_packed() {
    "$GIT" prune-packed -q
}

# A pack of what is reachable from $1.
pack() {
    "$GIT" rev-list --objects "$@" | "$GIT" pack-objects -q .git/objects/pack/pack >../packed
}

case $SHAPE in
loose | crafted) ;;
offset-deltas) "$GIT" repack -q -a -d -f --depth=50 --window=30 ;;
id-deltas) "$GIT" -c repack.useDeltaBaseOffset=false repack -q -a -d -f --depth=50 --window=30 ;;
old-index) "$GIT" -c pack.indexVersion=1 repack -q -a -d -f ;;
wide-index)
    "$GIT" repack -q -a -d -f
    for pack in .git/objects/pack/*.pack; do
        rm -f "${pack%.pack}".*[!k]
        "$GIT" index-pack --index-version=2,0x400 "$pack" >../packed
    done
    ;;
packed-and-loose)
    pack HEAD~3
    pack HEAD
    ;;
packs)
    pack HEAD~4
    pack HEAD~2
    pack HEAD
    pack --all
    delete_packed
    ;;
multi-pack-index)
    pack HEAD~4
    pack HEAD~2
    pack --all
    "$GIT" multi-pack-index write
    delete_packed
    ;;
multi-pack-index-chain)
    for until in HEAD~4 HEAD~2 --all; do
        pack $until
        # Older gits write no chains.
        "$GIT" multi-pack-index write --incremental || "$GIT" multi-pack-index write
    done
    pack HEAD~1 ^HEAD~3
    delete_packed
    ;;
alternates)
    pack HEAD~4
    for folder in a b c; do
        mkdir ../$folder
        cp -R .git/objects/. ../$folder
    done
    pack --all
    mv .git/objects/pack/* ../a/pack
    rm -rf ../b/[0-8]? ../c/[9a-f]? .git/objects/[0-9a-c]?
    ;;
replaced)
    # All names first: afterwards they lead elsewhere.
    set -- $("$GIT" rev-parse HEAD~1 HEAD~3 HEAD:file HEAD:d/e/deep HEAD:d/e/deep HEAD:d/small1 HEAD:d HEAD~5:d v1 \
        nested HEAD:d/small2 HEAD:d/small3 HEAD:d/small3 HEAD:d/small2 HEAD:d/small4 HEAD)
    while [ $# -gt 0 ]; do
        "$GIT" update-ref "refs/replace/$1" "$2"
        shift 2
    done
    pack HEAD~2
    ;;
promisor)
    "$GIT" rev-list --objects --all | "$GIT" pack-objects -q --filter=blob:none --stdout >../pack
    rm -rf .git/objects/??
    "$GIT" index-pack --promisor=x --stdin <../pack >../packed
    "$GIT" config core.repositoryFormatVersion 1
    "$GIT" config extensions.partialClone origin
    "$GIT" config remote.origin.promisor true
    "$GIT" config remote.origin.url ../nowhere
    ;;
large)
    seq 1 180000 >large
    seq 1 170000 >larger
    "$GIT" hash-object -w larger | "$GIT" pack-objects -q .git/objects/pack/pack >../packed
    "$GIT" -c core.bigFileThreshold=1g hash-object -w large
    ;;
esac
rm -f large larger
