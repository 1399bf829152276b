#!/bin/sh
# Prints TAP; the program's own output goes beside it.
cd "$(dirname "$0")/.." || exit 1
echo "1..2"
status=0
set -- 0 0
. bin/add > /tmp/zero
[ "$(cat /tmp/zero)" = 0 ] && echo "ok 1 - nothing" || { echo "not ok 1 - nothing"; status=1; }
set -- 2 2
. bin/add > /tmp/four
[ "$(cat /tmp/four)" = 4 ] && echo "ok 2 - two and two" || { echo "not ok 2 - two and two"; status=1; }
exit $status
