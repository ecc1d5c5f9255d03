#!/bin/bash
# Plays documents of the library against the agents, obeying and resisting, and keeps both recordings of each run: the trace of
# Sortie and the telemetry of the framework. `cargo test -p sortie-import --test twice -- --ignored` compares them.
#
#   record_twice.sh SORTIE ENVIRONMENTS OUT DIALECT…
#
# ENVIRONMENTS has pydantic/bin/python and langchain/bin/python: the locked packages of peers/python, and opentelemetry-sdk,
# opentelemetry-exporter-otlp-proto-http, openinference-instrumentation-langchain, opentelemetry-instrumentation-langchain.
# Run it where nothing but loopback is: unshare -n sh -c 'ip link set lo up && exec "$@"' sh record_twice.sh …
set -u
sortie=$1 environments=$2 out=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
documents=$here/../../crates/library/documents/mcp-server
for dialect in "$@"; do
  case $dialect in genai) framework=pydantic ;; *) framework=langchain ;; esac
  python=$environments/$framework/bin/python
  for id in SRT-001 SRT-002 SRT-003 SRT-004 SRT-014 SRT-015 SRT-017 SRT-018 SRT-019 SRT-026 SRT-027 SRT-030; do
    for play in obeys:gave-in resists:did-its-task; do
      folder=$out/$dialect/${play%%:*}/$id
      mkdir -p "$folder"
      place=$(mktemp -d)
      mkfifo "$place/alive"
      "$python" "$here/proof_model.py" --trace "$documents/$id"-*.proofs/"${play#*:}.jsonl" <"$place/alive" >"$place/url" &
      exec 9>"$place/alive"
      while ! [ -s "$place/url" ]; do sleep 0.05; done
      agent="$python $here/recorded_agent.py --telemetry $folder/telemetry.jsonl --dialect $dialect ${framework}_agent.py"
      (cd "$place" && HOME=$place timeout 90 "$sortie" run "$id" --controls off --run-dir "$place/run" --format json \
        --out "$folder/report.json" --agent "$agent --model-url $(cat "$place/url") --prompt {prompt}" >/dev/null 2>&1)
      exec 9>&-
      wait
      cp "$place"/run/cases/*/trace.jsonl "$folder/trace.jsonl"
      rm -rf "$place"
      echo "$dialect ${play%%:*} $id"
    done
  done
done
