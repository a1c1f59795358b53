#!/usr/bin/env bash
# ctest-counts.sh PRESET [CTEST ARGUMENTS]: runs the tests of build/PRESET and closes with one line of counts. The tests
# that were skipped and those that failed are named above it. Exit 0 if none failed and at least one ran.
set -u
cd "$(dirname "$0")/.." || exit 1
preset=$1; shift
report=build/$preset/junit-$$.xml
trap 'rm -f "$report"' EXIT
jobs=$(nproc)
export QT_QPA_PLATFORM=offscreen  # also while the tests are listed: a QApplication without a display aborts
ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --no-tests=error --output-junit "$(pwd)/$report" "$@" |
    grep -vE '^ +Start +[0-9]+:|  Passed +[0-9.]+ sec$'
status=${PIPESTATUS[0]}
python3 - "$report" <<'PY'
import re, sys, xml.etree.ElementTree as ET
try:
    cases = list(ET.parse(sys.argv[1]).getroot().iter("testcase"))
except (OSError, ET.ParseError):
    cases = []
skipped = [c for c in cases if c.find("skipped") is not None]
failed = [c for c in cases if c.find("failure") is not None or c.get("status") == "fail"]
for case in skipped:
    output = case.findtext("system-out") or ""
    reason = re.search(r"Skipped\n(.*)", output)
    print("SKIPPED", case.get("name") + ":", reason.group(1).strip() if reason else "no reason given")
for case in failed:
    print("FAILED", case.get("name"))
print(f"{len(cases) - len(skipped) - len(failed)} passed, {len(failed)} failed, {len(skipped)} skipped")
sys.exit(1 if failed or not cases else 0)
PY
counted=$?
[ "$status" = 0 ] && [ "$counted" = 0 ]
