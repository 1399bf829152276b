#!/bin/sh
# Asks the program from outside and compares.
cd "$(dirname "$0")/.." || exit 1
status=0
while IFS=: read -r question answer; do
    said=$(python3 src/shares.py $question </dev/null) || status=1
    [ "$said" = "$answer" ] || { echo "$question: said $said"; status=1; }
done < checks/cases.txt
exit $status
