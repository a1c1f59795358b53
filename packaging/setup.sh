# Shared by run.sh and test.sh: phases, packages, configure and build. Sourced with bash, from the root of the checkout.

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { say "$*"; exit "${code:-1}"; }

phase=0
begin() { phase=$((phase + 1)); say "[$phase/$phases] $*"; }

# The package names of the given lists, comments and empty lines left out.
packageNames() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@"; }

missingPackages() {
    local package
    for package in $(packageNames "$@"); do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s ' "$package"
    done
}

# installPackages LIST…: what is missing of Debian's packages, without a question. Needs root or sudo without password.
installPackages() {
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "this is not Debian; install by your own means what these name and run again with --no-install:"
        packageNames "$@" | tr '\n' ' ' >&2; echo >&2
        exit 2
    fi
    local missing as=""
    missing=$(missingPackages "$@")
    if [ -z "$missing" ]; then say "all packages are there"; return 0; fi
    say "installing $(echo "$missing" | wc -w) packages: $missing"
    if [ "$(id -u)" != 0 ]; then
        if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
            as="sudo -n"
        else
            say "installing needs root; run this line, then $me again:"
            echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing" >&2
            exit 2
        fi
    fi
    local apt="$as env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3"
    local log
    log=$(mktemp)
    if ! $apt -o APT::Update::Error-Mode=any update </dev/null >"$log" 2>&1 ||
       ! $apt install -y --no-install-recommends $missing </dev/null >>"$log" 2>&1; then
        grep -E '^(E|W|Err):' "$log" | head -n 5 >&2
        rm -f "$log"
        die "the packages could not be installed (see above): is there a network, and room on the disk?"
    fi
    rm -f "$log"
    missing=$(missingPackages "$@")
    [ -z "$missing" ] || die "apt-get said it was done, but these are still missing: $missing"
}

requireTools() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || die "$tool is missing: run again without --no-install, or install it"
    done
}

# buildPreset PRESET [TARGET…]: configures once (ninja does it again when needed) and builds.
buildPreset() {
    local preset=$1 jobs memoryMiB
    shift
    # About 0.6 GB a compiler process with Qt's headers.
    memoryMiB=$(awk '/MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)
    jobs=$(( memoryMiB / 800 )); [ "$jobs" -le "$(nproc)" ] || jobs=$(nproc); [ "$jobs" -ge 1 ] || jobs=1
    if [ ! -e "build/$preset/build.ninja" ]; then
        local log
        log=$(mktemp)
        if ! cmake --preset "$preset" >"$log" 2>&1; then tail -n 20 "$log" >&2; rm -f "$log"; die "CMake could not configure build/$preset (see above)"; fi
        rm -f "$log"
    fi
    if [ -t 2 ]; then
        ninja -C "build/$preset" -j "$jobs" "$@" >&2 || die "the build failed (see above)"
    else
        # Without a terminal: the errors, and every 50th step so that one sees how far it is.
        ninja -C "build/$preset" -j "$jobs" "$@" 2>&1 | awk -v me="$me" '
            /^\[[0-9]+\/[0-9]+\]/ { if (++n % 50 == 0) { print me ": " $1 " built" ; fflush() } next } { print; fflush() }' >&2
        [ "${PIPESTATUS[0]}" = 0 ] || die "the build failed (see above)"
    fi
}
