#!/bin/sh
# Writes seeds for the fuzz targets, made by git if git writes the format: sh fuzz/seeds.sh [FOLDER]. FOLDER (by default
# fuzz/corpus) gets a folder for each target.
set -eu

corpus=${1:-$(cd "$(dirname "$0")" && pwd)/corpus}
mkdir -p "$corpus"
corpus=$(cd "$corpus" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HOME="$dir" GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_CONFIG_GLOBAL GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
export GIT_AUTHOR_DATE='1700000000 +0100' GIT_COMMITTER_DATE='1700000000 +0100'

# seed TARGET NAME: writes standard input as a seed.
seed() {
    mkdir -p "$corpus/$1"
    cat >"$corpus/$1/$2"
}

# texts TARGET TEXT...: writes each text as a seed. Texts are in the syntax of printf; \377 separates fields.
texts() {
    target=$1
    shift
    number=0
    for text; do
        number=$((number + 1))
        printf -- "$text" | seed "$target" "text-$number"
    done
}

# part FILE: prints the length of the file in two bytes, then the file.
part() {
    size=$(wc -c <"$1")
    printf "\\$(printf %03o $((size / 256)))\\$(printf %03o $((size % 256)))"
    cat "$1"
}

# extension NAME: prints the contents of that extension in the current repository's index; nothing without perl.
extension() {
    command -v perl >/dev/null || return 0
    perl -0777 -ne '/'"$1"'(.{4})/s or exit; print substr($_, $+[0], unpack("N", $1))' .git/index
}

for kind in sha1 sha256; do
    byte=$([ $kind = sha1 ] && echo '\000' || echo '\001')
    # Prints the byte that selects the kind of ids, then standard input.
    with_kind() {
        printf "$byte"
        cat
    }
    git init -q -b main --object-format=$kind "$dir/$kind"
    cd "$dir/$kind"
    mkdir -p a/b c
    for file in a/b/1 a/b/2 a-b a.b c/3; do echo "$file" >"$file"; done
    git add .
    git commit -qm 'A subject

A body.'
    with_kind <.git/index | seed index $kind-v2
    extension TREE | with_kind | seed cache_tree $kind
    { part .git/index; for tree in HEAD^{tree} HEAD:a HEAD:a/b HEAD:c; do
        git cat-file tree $tree >"$dir/tree"
        with_kind <"$dir/tree" | seed tree "$kind-$(git rev-parse --short $tree)"
        part "$dir/tree"
    done; } | with_kind | seed staged $kind
    git cat-file commit HEAD | with_kind | seed commit $kind
    git -c i18n.commitEncoding=latin1 commit -q --amend -m changed
    git checkout -q -b side HEAD
    git commit -q --allow-empty -m side
    git checkout -q main
    git merge -q --no-ff -m merged side
    git cat-file commit HEAD | with_kind | seed commit $kind-merge
    git tag -a -m tagged v1
    git cat-file tag v1 | with_kind | seed tag $kind
    { printf "$byte"'\000\120'; cat .git/logs/HEAD; } | seed reflog $kind
    git rev-parse HEAD | with_kind | seed loose_ref $kind
    with_kind <.git/HEAD | seed loose_ref $kind-symbolic
    {
        git rev-list --parents --max-count=2 main
        printf '# comment\n\nno ids\n\377'
        git rev-parse HEAD HEAD~1
    } | with_kind | seed history $kind
    git commit-graph write --reachable
    with_kind <.git/objects/info/commit-graph | seed commit_graph $kind
    git rev-parse --verify -q main^2 >"$dir/tip"
    git commit-graph write --stdin-commits --split=replace <"$dir/tip"
    git rev-parse HEAD >"$dir/tip"
    git commit-graph write --stdin-commits --split=no-merge <"$dir/tip"
    graphs=$(sed 's|.*|.git/objects/info/commit-graphs/graph-&.graph|' .git/objects/info/commit-graphs/commit-graph-chain)
    {
        printf "\\$(printf %03o $((2 + $([ $kind = sha1 ] && echo 0 || echo 1))))"
        for graph in $graphs; do
            if [ "$graph" = "$(echo "$graphs" | head -1)" ]; then part "$graph"; else cat "$graph"; fi
        done
    } | seed commit_graph $kind-chain
    rm -r .git/objects/info/commit-graph*
    git pack-refs --all
    with_kind <.git/packed-refs | seed packed_refs $kind
    sed 1d .git/packed-refs | sort -rk2 | grep -v '^^' | with_kind | seed packed_refs $kind-unsorted

    echo >intent
    git add -N intent
    with_kind <.git/index | seed index $kind-v3
    git update-index --index-version 4
    with_kind <.git/index | seed index $kind-v4
    git update-index --split-index
    echo changed >a/b/1
    git add a/b/1
    git rm -qf c/3
    with_kind <.git/index | seed index $kind-split
    { part .git/sharedindex.*; cat .git/index; } | with_kind | seed split_index $kind
    if [ $kind = sha1 ]; then
        { printf '\000\100'; extension link | tail -c +21; } | seed ewah git
    fi
    git reset -q --hard
    git update-index --no-split-index
    git sparse-checkout set --cone --sparse-index a
    with_kind <.git/index | seed index $kind-sparse
    { part .git/index; for tree in HEAD:c; do
        git cat-file tree $tree >"$dir/tree"
        part "$dir/tree"
    done; } | with_kind | seed staged $kind-sparse

    # Older versions of git have no reftables; the target then runs on what libFuzzer finds.
    if git init -q -b main --object-format=$kind --ref-format=reftable "$dir/$kind-tables" 2>"$dir/error"; then
        cd "$dir/$kind-tables"
        git config core.logAllRefUpdates always
        git config reftable.blockSize 256
        git commit -q --allow-empty -m one
        for number in 1 2 3 4 5 6 7 8 9; do git update-ref refs/heads/b$number HEAD; done
        git tag -a -m tagged v1
        git update-ref --create-reflog -m stash refs/stash HEAD
        git pack-refs --all
        cat .git/reftable/*.ref | with_kind | seed reftable $kind-packed
        git update-ref -d refs/heads/b1
        for table in .git/reftable/*.ref; do
            with_kind <"$table" | seed reftable "$kind-$(basename "$table")"
        done
    fi
done

# The ids of two repositories with the same objects, and a tag, a commit and a tree of one of them.
for pair in 'sha1 sha256 \000' 'sha256 sha1 \001'; do
    set -- $pair
    for object in 'tag v1' 'commit v1^{commit}' 'tree v1^{tree}'; do
        {
            printf "$3"
            for name in v1 'v1^{commit}' 'v1^{commit}~1' 'v1^{tree}' v1:a v1:a-b v1:a.b v1:c; do
                echo "$(git -C "$dir/$1" rev-parse -q --verify "$name") $(git -C "$dir/$2" rev-parse -q --verify "$name")"
            done
            printf '\377'
            git -C "$dir/$1" cat-file $object
        } | seed other_ids "$1-${object% *}"
    done
done

printf '\000\377\0\0\0\200\0\0\0\003\0\0\0\003\0\0\0\003\0\0\0\0\0\0\0\007\0\0\0\0\0\0\0\001\0\0\0\0' | seed ewah literal

texts cache_tree '\000\000-1 2\nb\000-1 0\naa\000-1 1\nc\000-1 0\n'
texts config_text \
    '\000\020[core]\n\tbare = false\n\tx = "a;b" \\\\\n  c # d\n[remote "Or\\"igin"]\n\turl = y\n\tfetch\n' \
    '\000\005\357\273\277[a.B]\r\nc=1\r\n[x "y"] z' '\000\001[core]\n x = "a\n'
texts config_parameters "'a.b'='it'\\\\''s' 'a.c'= 'a.D=x=y'\3771\377A.B\377x\377it's" "'a.e'\377-1\377a.b" \
    "'x.Y.z'='1'\377\377\377\377v!"
texts config_value 10 ' -0x10' 010k 9223372036854775807 -9223372036854775808 yes off 2g 0x
texts gitfile 'gitdir: ../.git/worktrees/a\n' 'gitdir: /a b\r\n\n' '../..\n' /a/b
texts date '\001\377last monday' '\001UTC0\3772023-11-10T10:00:05.5Z' '\002CET-1CEST,M3.5.0,M10.5.0/3\377july 15' \
    '\001\377Fri, 10 Nov 2023 10:00:00 +0100' '\001\37732767 weeks ago' '\001\377noon 3 days ago' '\003\3771699999999' \
    '\001\37720231110T1000' '\001\3775pm yesterday' '\001\377@1700000000 -0530' '\001\37712/6/92' '\001\3779223372036854775807:1'
texts time_zone '\001\002\003\004\005\006\007\010CET-1CEST,M3.5.0,M10.5.0/3' '\100\0\200\0\300\0\377\377<+0330>-3:30' \
    '\0\1\0\2\0\3\0\4AAA3BBB,J60/0,J61/0' '\0\1\0\2\0\3\0\4AEST-10AEDT,M10.1.0,M4.1.0/3' '\0\1\0\2\0\3\0\4AAA-3BBB,59/-10,60/167'
for zone in Europe/Berlin Australia/Sydney UTC; do
    [ -f "/usr/share/zoneinfo/$zone" ] || continue
    { printf '\100\0\200\0\300\0\377\377'; cat "/usr/share/zoneinfo/$zone"; } | seed time_zone "$(basename "$zone")"
done
texts regular_expression 'a+b*\377xaab' '^(a|bc)*$\377abcbc' '[[:alpha:]_-]{2,3}\377a-b' '\\bword\\>\377a word' '[^]a-c]\377]d' 'a.?(b|)\377ab' \
    'a{1,}{2}\377aaa' '((a*)*)*b\377aaaaaaaaaaaac' 'plain text\377some plain text' '\\(a\\)\\.\377(a).'
texts revision '\0HEAD~1^2' '\0main@{1}' '\0HEAD^{/first}' '\0:/second' '\0v2^{commit}~1:dir/file' '\1HEAD:link' '\0@{-1}' '\0@{u}' \
    '\0HEAD@{last monday}' '\0v1-1-gabcdef' '\0v2^{}' '\4HEAD:no/such' '\0:0:dir/file' '\0main-worktree/HEAD' '\0worktrees/linked/HEAD' \
    '\2side^!' '\0HEAD^0^{tree}:./dir' '\0origin' '\0HEAD@{99999999999}' '\0@' '\20main@{push}'
texts mailmap '\0A <a@x>\nB <b@x> <c@x>\n# no\n<d@x> E <c@X>\n\377author a <c@x> 1 +0\ncommitter e <A@x> 2 +0\n\ntext <c@x>' \
    '\1N <n@x> <o@x>\n\377O <o@x>' '\0<p@x> <q@x>\n\377tagger q <q@x>\n'
texts refspec 'refs/heads/a\377+refs/heads/*:refs/remotes/o/*\377^refs/heads/b*' 'HEAD\377@:refs/x' \
    'refs/heads/abc\377refs/heads/a*c:refs/x/*/y\377refs/heads/*:refs/heads/*\377^refs/heads/ab'
texts wildmatch '\001a/**/b*[!c-e]?\377a/x/y/bad' '\003**/[[:alpha:]]*\\*\377x/A1*' '\000*a*b*c\377xaybzc' \
    '\001**/a/**/b/**/c\377a/b/a/b/c/x' '\002[]a-]\377A'
texts ignore '\000a/b.o\377*.o\n!b.o\377/a/*\377a/\n# c\n**/b.?\\ \n\377!b.o\n*.O\r\n' \
    '\001x/build\377\357\273\277build/\n\377\377x/**/build\\\n\377/build\n!/build/' '\003A/b/c\377a/**/c\n[a-c]*\377'
texts attributes '\000a/b.c\377*.c text eol=lf\n[attr]m x -y\n"a b" diff\n\377b.? -text !eol m=1\n\377a/**/b.c' \
    '\003A\377a binary -m\n\377\377a/' '\000x\377[attr]a b\n[attr]b a x\n* a\n\377\377[x-z]'
texts pathspec '\000a/b.c\377\377*.c\377:!a/x' '\020a/b\377a\377../a/\377:(top,icase)A/*' \
    '\001a\377\377a' '\000d/e\377d\377:(glob)**/e\377:(exclude,attr:-text)x\377:/d' '\010A/B\377\377:(prefix:1)a/b' '\010A/B.C\377\377*.c' '\002a/B/c\377\377a/**/[a-c]'
texts sparse_checkout '\001a/b/c\377/*\n!/*/\n/a/\n!/a/*/\n/a/b/\n' '\000a/b\377/*\n!a\n/a/b\n' \
    '\003A/x\377/*\n!/*/\n/a/\n' '\001a/x\377/\\*/\n*.c\n'
texts gitstatusd '\000\0017\037/a b\0361\037:/x\0371\036\036x\037/y\0372\036rest' '\000\100id\037\036id\037/a\0370\036' \
    '\001\000id\037/\375\375\036\375\036x\037/y\036' \
    '\001\000id\037:/x/.git\0371\037/x/y\036b\037/x\0370\037y\036c\037/x\0370\037/\037\036'
texts daemon '\000\003\026\000\000\000\001vigil\r\n\000\001\000\000\000\001\000\000\0001\000\000\000\000\001\000\000\000\002\076\000\000\000\005\001\000\000\000\002\000\000\000-s\002\000\000\000/a\001\000\000\000\000\000\000\000\002\000\000\000\000\000\000\000\001\000\000\000\001\000\000\000A\000\000\000\000\001\000\000\000\000\000\000\000\001\000\000\000P\000\000\000' '\000\050\016\000\000\000E\000\000\000\000\001\000\000\000x\000\000\000\000\010\000\000\000F\003\000\000\0001\037\036\006\000\000\000G\001\000\000\000x' \
    '\000\001\026\000\000\000\001vigil\r\n\000\001\000\000\000\001\000\000\0001\000\000' '\000\007\377\377\377\377x' '\000\007\000\000\000\000x' \
    '\000\005\054\000\000\000D\004\000\000\000\010\000\000\000\001\000\000\000\000\000\000\000\013\000\000\000\012\000\000\000\001\000\000\000\002\000\000\000/a\143\000\000\000\001\000\000\000x'
texts fsmonitor '\0030008quit0000' '\0010010builtin:fake0000' '\00700040009flush0000' '\000000fvigil:OWN:40000' '\000ffffx' '\000fff0x'
texts process 'git\000-C\000a\000-c\000user.name=b\000' 'a) R (\000-c\000core.excludesFile=a\000status\000--work-tree\000' \
    'a b\000--git-dir\000-c\000--namespace\000n\000-p\000' '\377\n)\000--config-env=attr.tree=A\000' \
    '7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99 20 21 22 23 24 140 26\n'
texts filter_process \
    '0016git-filter-server\n000eversion=2\n00000015capability=clean\n00000013status=success\n00000008one\n00000000' \
    '0016git-filter-server\n000eversion=2\n00000015capability=clean\n0000000fstatus=abort\n0000' \
    '0016git-filter-server\n000eversion=2\n00000015capability=clean\n00000011status=error\n000000000013status=success\n00000000000000000007abc0005d00000010status=err\n0000'
texts line_endings '\000\003a\r\nb\r\r\n\rc\n\r\n\032' '\000\000\r'
texts ident 'a $Id: x y $ b $Id$ c\n$Id: z\n$Id: w$' '$$Id: a$$Id: b$$'
texts path_quoting '\001a b\t\001\303\251"\\' '\002x y' "\\003it's!"
texts todo '#\377pick 1234567 one\n# comment\n\n  exec make\nlabel x\r\n' '//\377\tfixup -C abc\n// x\np'

# Prints the length of standard input in two bytes, then standard input.
parted() {
    cat >"$dir/part"
    part "$dir/part"
}

for kind in sha1 sha256; do
    with_kind() {
        [ $kind = sha1 ] && printf '\000' || printf '\001'
        cat
    }
    git init -q -b main --object-format=$kind "$dir/$kind-packs"
    cd "$dir/$kind-packs"
    for number in 1 2 3; do
        for line in 1 2 3 4 5 6 7 8 9; do echo "a line with the number $line"; done >file
        echo "$number" >>file
        git add file
        git commit -q -m "commit $number"
    done
    git tag -a -m tagged v1
    loose=.git/objects/$(git rev-parse v1 | sed 's,^..,&/,')
    with_kind <"$loose" | seed loose_object $kind-tag
    git -c pack.writeReverseIndex=false repack -q -a -d -f
    pack=$(echo .git/objects/pack/*.pack)
    { parted <"${pack%.pack}.idx"; cat "$pack"; } | with_kind | seed pack_index $kind-v2
    git multi-pack-index write
    { parted <.git/objects/pack/multi-pack-index; parted <"${pack%.pack}.idx"; cat "$pack"; } |
        with_kind | seed multi_pack_index $kind
    git index-pack --index-version=2,0x80 -o "$dir/wide.idx" "$pack" >"$dir/checksum"
    { parted <"$dir/wide.idx"; cat "$pack"; } | with_kind | seed pack_index $kind-wide
    git index-pack --index-version=1 -o "$dir/old.idx" "$pack" >"$dir/checksum"
    { parted <"$dir/old.idx"; cat "$pack"; } | with_kind | seed pack_index $kind-v1
done

# Entries: control, base, size, payload. A blob, deltas against it by distance and by id, and a delta against itself; a
# blob with a false size, and a delta against something that is no entry.
texts pack_entries \
    '\000\003\000\000\000\000\012abcdefghij\006\000\000\000\000\006\012\003\220\002\001z\007\001\000\000\000\005\003\002\221\000\002' \
    '\001\001\000\000\000\000\004tree\004\000\000\000\000\002ta\007\002\000\000\000\005\003\002\221\000\002\007\004\000\000\000\004\002\001\001x\007\003\000\000\000\004\001\002\002xy' \
    '\000\023\000\377\377\000\003abc\006\000\000\000\000\004\003\003\220\003\013\000\000\003\000\001x\106\201\000\000\000\004\003\003\220\003\043\001\000\000\000\003abc'
texts loose_object '\002blob 3\000abc' '\003tree 0\000' '\002blob 5\000abc' '\002commit 12345678901234567890123456789\000x'
texts delta '\000\012abcdefghij\012\005\220\002\001z\221\010\002' '\000\003abc\003\003\200' '\000\003abc\003\000\000' \
    '\000\003abc\003\005\217\000\000\000\000\003xyz'
texts alternates '\377../a\n\377../b\n../c/\n\377../a\n' 'a:b/../c::#x:"c"\377# comment\n"../\\141"\n/nowhere\n\377\377\377../own' \
    '\377../a\377../b\377../c\377../own/./../own\n../c/../c/info/..'

# zeros COUNT
zeros() {
    head -c "$1" /dev/zero
}

# state_docket USED ROOT: prints a docket that the target mends, with USED bytes in use (two octal bytes, the lower first) and
# the root block at ROOT (octal, in units of 8 bytes).
state_docket() {
    printf '\001\000\230'
    zeros 64
    printf "$1\\000\\000\\000\\000\\000\\000"
    zeros 8
    printf "$2\\000\\000\\000\\140\\000\\000\\000"
    zeros 64
}

# slot OFFSET LEN: prints a slot without its checksum. Both are octal, OFFSET in units of 8 bytes.
slot() {
    printf "$1\\000\\000\\000$2\\000\\000\\000"
    zeros 8
}

# No blocks, and changes to different tables, which need different levels of nodes.
for changes in '' '\000\000\001one\377\130\002\003two\377\202\000\001three\377\110\001\377\377'; do
    { state_docket '\160\000' '\002'; printf '\000\160'; zeros 112; printf "$changes"; } |
        seed state_file "empty-${#changes}"
done
# Blocks for the keys 0 and 2 of Seen below one node, and for the key 258 of Tracked below two.
for changes in '' '\101\000\000\100\000\001x\377' '\101\000\000\101\000\002\011\001\002' \
    '\010\001\002abc\377\020\001\000d\377\011\001\002'; do
    {
        state_docket '\010\001' '\025'
        printf '\001\010'
        zeros 16
        printf 'block 1\000block 2\000block 3\000'
        slot '\002' '\010'; zeros 16; slot '\003' '\007'
        zeros 32; slot '\004' '\007'
        zeros 16; slot '\013' '\060'
        zeros 24
        printf '\003\001\000\000\002\000\000\000'; slot '\021' '\040'
        printf '\003\000\000\000\001\000\000\000'; slot '\005' '\060'
        zeros 24
        printf "$changes"
    } | seed state_file "tables-${#changes}"
done

# number N: prints N, which is octal and below 256, in 4 bytes, little-endian.
number() {
    printf "\\$1\\000\\000\\000"
}
# Two directories with one file each; the first has a subdirectory.
{
    printf '\001\000\200'
    number 002; zeros 20; number 001; zeros 4; number 001; number 024
    number 001; number 002; number 001; number 001
    zeros 68
    printf 'a\000d\000'
    printf '\001\000\156'
    number 001; zeros 20; zeros 8; number 001; number 024
    zeros 68
    printf 'b\000'
} | seed state_blocks tree
# A directory whose files are in a segment.
{
    printf '\001\000\060'
    number 001; zeros 24; number 001; zeros 4; number 024
    number 000; number 001
    printf '\000\000\156'
    number 001; zeros 28; number 001; number 024
    zeros 68
    printf 'b\000'
} | seed state_blocks segment
# A listing with a path of each kind, and a comparison.
{
    number 001; number 001
    zeros 64
    zeros 136
    number 002; number 002; number 002; number 001; number 001; zeros 4
    zeros 48
    number 001
    printf 'a\000b\000c\000'
} | seed state_blocks seen

texts hgrc '[ui]\nname = value\n  more\n; c\n%%unset x\n[a b]\n%%include ~/$X\n' ' lead' '\357\273\277[x]\ny=\n'
texts hgignore 'syntax: glob\n*.o # c\n\\#a\nre:b\nsyntax: what\nsubinclude:x\n' 'syntax:re\n\\\\#\n'
texts hg_pattern '(?i)a{2,3}[^]a-z\\w]|b$' '(?P<n>a)(?:b)*?(?#c)\\.\\x41' '(?x) a # c' '.*\\.o(?:/|$)' '(?s-i:a)+' '(a)\\1' '(?=a)'
texts hg_checkout 'F\000\000\000\006f\000u\000xyL\000\000\000\001at\000\000\000\006Pq\000pu\000' '1 0123456789012345678901234567890123456789\n' '0123456789012345678901234567890123456789 a b\n'
texts hg_revision 'tip' 'book^2~1\377tagged' '0:-1' 'side' 'p1(wdir())' '(.)::tip' '"a b"-1' 'null' 'x0' '..'
node=0123456789012345678901234567890123456789
texts hg_names "a\377$node a\n$node  b\n" "a\377$node 4\n$node o a\n" "a\3770 $node\n32 $node\n"
texts hg_texts "$node\nu\n0 0 branch:a\\\\n\000close:1\nf\n\nmessage" "\001\ncopy: a\ncopyrev: $node\n\001\ntext" "version https://git-lfs.github.com/spec/v1\noid sha256:${node}012345678901234567890123\nsize 12\nx-hg-copy a\n" '\001\n\001\n'
texts hg_store_name 'd/AUX.i/con.d/a' 'x.hg/.a/~_ b.' "$node/$node/$node/A" '\001\377:*'
texts hg_matcher 'a/b.o\377*.o\377path:a\377re:b$' 'd/e\377rootglob:{d,e}/**\377glob:[!a-c]?' 'a\377relre:^a\377rootfilesin:.' 'a\377\377relpath:../x'
texts hg_subrepositories "d/s = ../x\nt=[hg]y\n# c\n[subpaths]\na=b\n\377$node d/s\n" 'a=[git]b'
texts hg_line_endings 'a.c\377[patterns]\n**.c = native\n[eol]\nonly-consistent = no\n\3771\r\n2' 'd/a\377[patterns]\nre:a$ = CRLF\n[repository]\nnative = CRLF\n\377\n\n'
texts hg_portion 'd/e/f\377%%include x\n[include]\nd\nd/e/f\n# c\n/a\n[exclude]\nd/e\n' 'a\377a\n' 'a\377[exclude]\na\n[include]\nb'
texts hg_requires 'revlogv1\nstore\nfncache\n' 'lfs\r\nshare-safe\n' '-\n'
zeros=$(printf '\\000%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)
texts hg_manifest "a\\0000123456789012345678901234567890123456789\nb/c\\0000123456789012345678901234567890123456789x\n" ''
texts hg_dirstate "$zeros${zeros}n\\000\\000\\201\\244\\000\\000\\000\\005\\000\\000\\000\\001\\000\\000\\000\\003d/ea\\000\\000\\000\\000\\377\\377\\377\\377\\377\\377\\377\\377\\000\\000\\000\\003f\\000d" "$zeros$zeros"
# A docket of 133 bytes, then the data: one node, behind its path.
node="\\000\\000\\000\\000\\000\\003\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\014\\003\\000\\000\\000\\005\\000\\000\\000\\001\\000\\000\\000\\000"
meta="\\000\\000\\000\\003\\000\\000\\000\\001$zeros\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000"
texts hg_dirstate_tree "\\000\\205dirstate-v2\\n$zeros$zeros$zeros\\000\\000\\000\\000$meta\\000\\000\\000\\057\\0100a1b2c3da/b$node"
# An inline revlog with one revision, whose text is "a".
texts hg_revlog "\\000\\003\\000\\001\\000\\000\\000\\000\\000\\000\\000\\002\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\000\\377\\377\\377\\377\\377\\377\\377\\377$zeros\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000ua"
# A docket of 83 bytes that names three files, and these: one record, of the text "a", with sidedata of one item; then the same as
# a changelog has it.
long="\\000\\000\\000\\000\\000\\000\\000"
docket="\\010\\000\\010\\000\\010\\000$long\\140$long\\140$long\\001$long\\001$long\\034$long\\034x0123abcd0123abcd0123abcd"
places="$long\\000\\000\\000\\000\\001\\000\\000\\000\\001"
none="\\377\\377\\377\\377\\377\\377\\377\\377"
beside="$long\\000\\000\\000\\000\\034\\000"
padding="\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000"
sidedata="\\000\\001\\000\\014\\000\\000\\000\\000\\332\\071\\243\\356\\136\\153\\113\\015\\062\\125\\277\\357\\225\\140\\030\\220\\257\\330\\007\\011"
sum="\\004\\173\\165\\306\\327\\243\\357\\152\\042\\103\\275\\016\\231\\371\\117\\156\\246\\150\\065\\227"
record="$places\\000\\000\\000\\000\\000\\000\\000\\000$none$sum$padding$beside$padding$long"
changelog_record="$places$none$sum$padding$beside\\000\\000\\000\\001$padding\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000"
texts hg_docket "\\000\\123\\000\\000\\336\\255$docket\\000\\140$record\\000\\001a$sidedata" \
    "\\000\\123\\000\\000\\323\\115$docket\\000\\140$changelog_record\\000\\001a$sidedata"
