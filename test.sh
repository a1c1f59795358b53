#!/usr/bin/env bash
# Builds Tokenscope with assertions and runs the quick tests. The whole set: ctest --test-dir build/dev -L full
set -u
cd "$(dirname "$0")" || exit 1
me=test.sh
. packaging/setup.sh

usage() {
    cat <<'TEXT'
usage: ./test.sh [--no-install] [--help] [-- ARGUMENTS FOR CTEST]

Installs the Debian packages that are missing (both lists in packaging/), fetches the two test models once (330 MB),
builds with optimisation and assertions, runs every quick test and closes with one line of counts.
TEXT
}
install=1
while [ $# -gt 0 ]; do
    case "$1" in
        --no-install) install=0 ;;
        -h|--help) usage; exit 0 ;;
        --) shift; break ;;
        *) usage >&2; code=2 die "unknown option $1" ;;
    esac
    shift
done
phases=4

begin "packages"
if [ "$install" = 1 ]; then installPackages packaging/build-packages.txt packaging/test-packages.txt; else say "not installing, as asked"; fi
requireTools g++ cmake ninja pkg-config ctest python3

begin "models of the tests"
for name in smollm2 gemma3; do
    packaging/fetch-model.sh "$name" || say "without $name the tests that need it are skipped"
done

begin "build (from nothing about ten minutes on two cores)"
buildPreset dev

begin "tests"
exec packaging/ctest-counts.sh dev -LE full "$@"
