"""The part of the benchmark that runs in Python. Prints seconds per call, in the order of `main.rs`."""

import json
import sys
import time
import timeit

import sortie

name, text, trace, rounds = sys.argv[1:]
document = sortie.load(name)
message, content = json.loads(text), trace.encode()
ruleset = sortie.Ruleset(list(sortie.library().values()))
assert document.evaluate(message).verdict == document.evaluate(text).verdict == "exploited"
assert any(outcome.verdict == "exploited" for outcome in ruleset.evaluate(content))


def fastest(call, calls):
    return min(timeit.repeat(call, number=calls, repeat=int(rounds), timer=time.thread_time)) / calls


print(
    json.dumps(
        [
            fastest(lambda: document.evaluate(message), 100_000),
            fastest(lambda: document.evaluate(text), 100_000),
            fastest(lambda: ruleset.evaluate(content), 200),
        ]
    )
)
