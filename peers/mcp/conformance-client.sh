#!/bin/sh
# conformance-client.sh SORTIE DOCUMENT URL
#
# The client that the official conformance suite starts: it plays a document against the server of a scenario. The suite
# appends the URL, so that has to be the last argument. A document without indicators is only played, which is what is
# wanted here.
exec "$1" run "$2" --target "mcp=$3" --idle 1s --grace 0s --run-dir "$(mktemp -d)"
