#!/usr/bin/env bash
# Builds Tokenscope and opens it with the starter model. See --help.
set -u
cd "$(dirname "$0")" || exit 1
me=run.sh
. packaging/setup.sh

usage() {
    cat <<'TEXT'
usage: ./run.sh [options]

Installs the Debian packages that are missing, builds a release, fetches the starter model once (93 MB) and opens the
window with it. Without a display the same chat opens in the terminal.

  --no-install   do not install packages
  --build-only   stop after the build
  --cli          chat in the terminal instead of the window
  --model FILE   open this .gguf file instead of the starter model
  --help         this text

Exit codes: 0 done, 1 something failed (the last line says what), 2 wrong use or something to do by hand.
TEXT
}

install=1 buildOnly=0 cli=0 model=""
while [ $# -gt 0 ]; do
    case "$1" in
        --no-install) install=0 ;;
        --build-only) buildOnly=1 ;;
        --cli) cli=1 ;;
        --model) [ $# -ge 2 ] || { code=2 die "--model needs a file"; }; model=$2; shift ;;
        --model=*) model=${1#--model=} ;;
        -h|--help) usage; exit 0 ;;
        *) usage >&2; code=2 die "unknown option $1" ;;
    esac
    shift
done
[ -z "$model" ] || [ -r "$model" ] || { code=2 die "--model $model: there is no such file, or it cannot be read"; }
[ -z "$model" ] || model=$(realpath "$model")

phases=4
if [ "$buildOnly" = 1 ]; then phases=2; elif [ -n "$model" ]; then phases=3; fi

begin "packages"
if [ "$install" = 1 ]; then installPackages packaging/build-packages.txt; else say "not installing, as asked"; fi
requireTools g++ cmake ninja pkg-config

begin "build (the first one takes about five minutes on two cores)"
free=$(df -Pk . | awk 'NR==2 {print $4}')
[ -d build/release ] || [ "$free" -ge 1048576 ] || die "$(pwd) has $((free / 1024)) MiB free, the build needs 1024 MiB: make room"
buildPreset release
if [ "$buildOnly" = 1 ]; then say "built: build/release/tokenscope and build/release/tokenscope-cli"; exit 0; fi

if [ -z "$model" ]; then
    begin "starter model"
    model=${XDG_DATA_HOME:-$HOME/.local/share}/tokenscope/models/SmolLM2-135M-Instruct.Q4_1.gguf
    # The hash was checked when it was fetched.
    if [ "$(stat -c %s "$model" 2>/dev/null)" != 98362432 ]; then
        packaging/fetch-model.sh smollm2 || die "the starter model could not be fetched; give another with --model FILE"
    fi
fi

begin "opening $model"
if [ "$cli" = 0 ] && [ -z "${DISPLAY-}${WAYLAND_DISPLAY-}${QT_QPA_PLATFORM-}" ]; then
    say "no display here (DISPLAY and WAYLAND_DISPLAY are not set): the chat opens in the terminal"
    cli=1
fi
if [ "$cli" = 1 ]; then exec build/release/tokenscope-cli chat "$model"; fi
exec build/release/tokenscope "$model"
