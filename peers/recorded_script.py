"""What a script in place of a model does with a document of the library, as the proofs beside it say."""

import json
import re
from pathlib import Path

DOCUMENTS = Path(__file__).parents[1] / "crates/library/documents"


def calls_of(path):
    """The tools/call requests of a trace, each once: names and arguments."""
    calls = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["record"] == "message" and record["direction"] == "request" and "tools/call" in record["surfaces"]:
            params = record["content"]["params"]
            call = (params["name"], params.get("arguments", {}))
            if call not in calls:
                calls.append(call)
    return calls


def find(document):
    """Where a document is, and the folder of its proofs."""
    [path] = DOCUMENTS.glob(f"*/{document}-*.yaml")
    return path, path.with_suffix(".proofs")


def proved_script(document, proof):
    """The calls of a proof, whatever is shown: for agents that have no tool of their own to read a file with."""
    return {"task": calls_of(find(document)[1] / f"{proof}.jsonl"), "told": "", "then": []}


def recorded_script(document):
    """The calls of the task, the words that the attack injects, and the calls that these want."""
    path, proofs = find(document)
    task = calls_of(proofs / "did-its-task.jsonl")
    then = [call for call in calls_of(proofs / "gave-in.jsonl") if call not in task]
    told = re.search(r"delivered:\n.*contains: ([^}]*)\}", path.read_text(encoding="utf-8")).group(1)
    return {"task": task, "told": told, "then": then}
