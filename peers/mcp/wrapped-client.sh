#!/bin/sh
# wrapped-client.sh SORTIE PROGRAM ARGUMENT… URL
#
# Starts a client with `sortie wrap` between it and the server at the URL, and ends with the client's exit code. The conformance
# suite appends the URL, so that has to be the last argument.
sortie=$1
shift
for url; do :; done
folder=$(mktemp -d)
mkfifo "$folder/notes"
"$sortie" wrap --upstream "$url" --listen 0 --run-dir "$folder/run" 2>"$folder/notes" &
wrap=$!
exec 3<"$folder/notes"
read -r _ _ _ wrapped <&3
# The same arguments, but for the last.
count=$#
while [ "$count" -gt 1 ]; do
    set -- "$@" "$1"
    shift
    count=$((count - 1))
done
shift
"$@" "$wrapped"
code=$?
kill -INT "$wrap"
wait "$wrap"
exit "$code"
