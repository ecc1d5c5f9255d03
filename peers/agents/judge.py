"""A script in place of the models that judge and attack, OpenAI-compatible: a SCRIPT, not a model.

    judge.py --evaluators DIR [--injections FILE] [--say EVALUATOR=WORDS]… [--echo|--refuse] [--log FILE] [--port 0] [--lifetime 600]

The first line on standard output is the base URL, http://127.0.0.1:PORT/v1. It needs PyYAML.

As a judge it knows the fixtures of the evaluators in DIR, and the transcripts with injections in FILE, and answers
each as it is labelled: it looks them up, by the name of the rubric and what the target says and calls. So calibration
holds. Of any other transcript it says `fail` where the target's words hold WORDS of that EVALUATOR, else `pass`. As an attacker it fills each placeholder with a made-up word, and has one thing to say in further turns.
With --echo it repeats the key that it was sent wherever it has words of its own; with --refuse it answers nothing but
401, and repeats the key in that.

That it is right says nothing about models. It shows that what a target said reaches a judge, and that its verdict counts.
"""

import argparse
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parents[1]))
from lifetime import bounded  # noqa: E402

# What is printable by the book, and yet not seen.
UNSEEN = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}


def folded(text):
    """The letters that can be seen: what a fence does to the others does not matter."""
    text = re.sub("⟨U\\+[0-9A-F]+⟩", "", text)
    return "".join(letter for letter in text if letter.isprintable() and letter != " " and ord(letter) not in UNSEEN and ord(letter) < 0xE0000)


class Transcript:
    """What stands inside the fence, piece by piece."""

    def __init__(self, question):
        marker = re.search(r"begins at `(\[[0-9a-f]{24}\]) begin`", question)[1]
        inside = question.split(f"\n{marker} begin\n", 1)[1].rsplit(f"\n{marker} end", 1)[0]
        pieces = re.split(rf"^{re.escape(marker)} (.*):$\n?", inside, flags=re.M)[1:]
        self.pieces = [(label, text.removesuffix("\n")) for label, text in zip(pieces[::2], pieces[1::2])]

    def targets(self):
        """The number of the turn, and the words, of what the target says and calls."""
        for label, text in self.pieces:
            if found := re.match(r"turn (\d+), the target (?:says|calls)", label):
                yield int(found[1]), text


class Known:
    """Transcripts of which the verdict is known."""

    def __init__(self, folder, injections):
        self.by_rubric, self.names = {}, {}
        for file in sorted(Path(folder).rglob("*.test.yaml")):
            beside = [file.with_name(file.name.replace(".test.yaml", ".yaml")), file.with_name("evaluator.yaml")]
            evaluator = yaml.safe_load(next(one for one in beside if one.exists()).read_text())
            name = self.names[evaluator["id"]] = evaluator["name"]
            fixtures = yaml.safe_load(file.read_text())
            for key in ("pass_case", "fail_case"):
                cases = fixtures[key] if isinstance(fixtures[key], list) else [fixtures[key]]
                for case in cases:
                    self.add(name, case, key)
        for one in json.loads(Path(injections).read_text()) if injections else []:
            long = one.get("long")
            text = one["text"].replace("{{long}}", long["text"] * long["times"]) if long else one["text"]
            self.by_rubric.setdefault("Maintenance code", []).append((folded(text), None, one["expect"]))

    def add(self, name, case, key):
        case = case if isinstance(case, dict) else {"response": case}
        verdict = case.get("expect", "undecided")
        verdict = key.split("_")[0] if verdict == "undecided" else verdict
        turns = case.get("turns") or [{"role": "target", "text": case.get("response", "")}]
        words = [turn.get("text") or "" for turn in turns if turn["role"] == "target"]
        calls = [call["name"] for turn in turns if turn["role"] == "target" for call in turn.get("calls") or []]
        # A placeholder stands for anything.
        parts = [re.escape(folded(part)) for part in re.split(r"\{\{\w+\}\}", "\n".join(words))]
        self.by_rubric.setdefault(name, []).append((re.compile(".*".join(parts)), calls, verdict))

    def verdict(self, rubric, says, calls):
        for pattern, called, verdict in self.by_rubric.get(rubric, []):
            if isinstance(pattern, str):
                if pattern == says:
                    return verdict
            elif pattern.fullmatch(says) and called == calls:
                return verdict
        return None


def judged(question, known, marks):
    rubric = re.search(r"^# Rubric: (.*)$", question, re.M)[1]
    transcript = Transcript(question)
    targets = list(transcript.targets())
    said = folded("\n".join(text for label, text in transcript.pieces if "the target says" in label))
    calls = [json.loads(text)["name"] for label, text in transcript.pieces if "the target calls" in label]
    marked = next(((turn, mark) for turn, text in targets for mark in marks.get(rubric, []) if mark in text), None)
    verdict = known.verdict(rubric, said, calls)
    why = "this is one of the fixtures" if verdict else "the target's words hold a mark" if marked else "there is no mark"
    verdict = verdict or ("fail" if marked else "pass")
    turn, quote = marked or (targets[-1][0], next(text for turn, text in targets[::-1] if turn == targets[-1][0] and text)[:200])
    quotes = [quote] if verdict == "fail" else []
    return {"verdict": verdict, "confidence": 1.0, "reasoning": f"A script says so: {why}.", "quotes": quotes, "turn": turn}


def answered(request, known, marks):
    question = next(message["content"] for message in request["messages"] if message["role"] == "user")
    if task := re.search(r"^Fill the placeholders (.*) of the pattern\.", question, re.M):
        return {"values": {name: f"made-up-{name.replace('_', '-')}" for name in re.findall(r"\{\{(\w+)\}\}", task[1])}}
    if "Write the attacker's next message" in question:
        return {"message": "Please go on, and tell me what you did."}
    return judged(question, known, marks)


def echoed(content, key):
    if "values" in content:
        return {"values": {name: f"{value} {key}" for name, value in content["values"].items()}}
    word = "message" if "message" in content else "reasoning"
    return content | {word: f"{content[word]} {key}"}


def handler(known, marks, log, echo, refuse):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            request = json.loads(body)
            if log:
                with open(log, "a") as file:
                    file.write(json.dumps({"headers": dict(self.headers), "body": request}) + "\n")
            if refuse:
                return self.answer(401, {"error": {"message": f"this key is not known: {self.headers['authorization']}"}})
            content = answered(request, known, marks)
            if echo:
                content = echoed(content, self.headers["authorization"])
            content = json.dumps(content)
            message = {"role": "assistant", "content": content}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": len(body) // 4, "completion_tokens": len(content) // 4}
            answer = {"id": "script", "object": "chat.completion", "created": 0, "model": request["model"]}
            self.answer(200, answer | {"choices": [choice], "usage": usage})

        def answer(self, status, answer):
            answer = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluators", required=True)
    parser.add_argument("--injections")
    parser.add_argument("--say", action="append", default=[], help="a target that says this has failed by that rubric")
    parser.add_argument("--echo", action="store_true", help="repeat the key in every answer")
    parser.add_argument("--refuse", action="store_true", help="answer 401, and repeat the key in it")
    parser.add_argument("--log", help="where to write each request, with its headers, as a JSON line")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    bounded(options.lifetime)
    known = Known(options.evaluators, options.injections)
    marks = {}
    for evaluator, words in (one.split("=", 1) for one in options.say):
        marks.setdefault(known.names[evaluator], []).append(words)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), handler(known, marks, options.log, options.echo, options.refuse))
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
