#!/bin/sh
# Stands in for an MCP server over its standard input and output: it has notes, and a tool that reads one.
#
#   notes-server.sh weak     takes names for paths, and gives what no note is
#   notes-server.sh fixed    knows its notes by name
#
# It opens no file: what a weak server would give is made up here.

answer() {
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}

while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"method":"initialize"'*)
        answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1.0.0"}}'
        ;;
    *'"method":"tools/list"'*)
        answer '{"tools":[{"name":"read_note","description":"Reads a note, for example `today.txt`.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}]}'
        ;;
    *'"method":"tools/call"'*'../etc/passwd"'*)
        if [ "$1" = weak ]; then
            answer '{"content":[{"type":"text","text":"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/sbin/nologin"}]}'
        else
            answer '{"content":[{"type":"text","text":"There is no note of that name."}],"isError":true}'
        fi
        ;;
    *'"method":"tools/call"'*'"today.txt"'*)
        answer '{"content":[{"type":"text","text":"Buy milk."}]}'
        ;;
    *'"method":"tools/call"'*)
        answer '{"content":[{"type":"text","text":"There is no note of that name."}],"isError":true}'
        ;;
    esac
done
