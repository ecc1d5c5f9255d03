"""Stands for an agent that runs in another process, in a test.

`sortie run` starts this as the agent. It tells the test where the servers are and what the task is, and ends when the test says
so, or is gone. `sortie.pytest` is the other end. Only the standard library is used, so that it starts fast.
"""

import json
import os
import socket
import sys


def main(address: str, prompt_file: str) -> int:
    with open(prompt_file, encoding="utf-8") as file:
        prompt = file.read()
    variables = {name: value for name, value in os.environ.items() if name.startswith("SORTIE_")}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        connection.sendall(json.dumps({"prompt": prompt, "variables": variables}).encode() + b"\n")
        with connection.makefile("rb") as lines:
            line = lines.readline()
    if not line:
        print("the test ended before the agent did", file=sys.stderr)
        return 1
    said = json.loads(line)
    if said["answer"]:
        print(said["answer"])
    if said["error"]:
        print(said["error"], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
