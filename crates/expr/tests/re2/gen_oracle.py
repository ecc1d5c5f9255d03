"""Writes oracle.json: what Google's RE2 says about the patterns in patterns.py.

    python3 -m venv /tmp/re2 && /tmp/re2/bin/pip install google-re2==1.1.20251105
    /tmp/re2/bin/python gen_oracle.py

Run it after adding patterns, and read the difference. tests/it/re2_oracle.rs compares the file with our own verdicts.

The file, one pattern to a line:
  re2       the version that was asked
  inputs    texts that every pattern is tried on
  tables    per class: how many characters it has, and a hash of them (32-bit FNV-1a over "first-last," in hexadecimal)
  cases     every set of characters that match each other under (?i)
  patterns  p: the pattern, x: further texts for it;
            refused: RE2's reason, or
            groups: how many capture, and m: one entry for each text that matches, as byte offsets,
            [text, start, end] or, if group 1 took part, [text, start, end, group start, group end];
            texts are counted through inputs and then x
"""

import json
import os
import sys
from importlib.metadata import version

import re2

from patterns import CLASSES, INPUTS, PATTERNS

HERE = os.path.dirname(os.path.abspath(__file__))
EVERYTHING = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000).encode()


def compiled(pattern):
    """The compiled pattern, or RE2's reason for refusing it. Bytes, so that offsets are in bytes."""
    try:
        return re2.compile(pattern.encode()), None
    except re2.error as error:
        reason = error.args[0]
        return None, reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


def verdict(pattern, extra):
    entry = {"p": pattern}
    if extra:
        entry["x"] = extra
    regex, reason = compiled(pattern)
    if regex is None:
        entry["refused"] = reason
        return entry
    entry["groups"] = regex.groups
    matches = []
    for index, text in enumerate(INPUTS + extra):
        found = regex.search(text.encode())
        if found is None:
            continue
        span = [index, *found.span()]
        if regex.groups and found.span(1) != (-1, -1):
            span += found.span(1)
        matches.append(span)
    entry["m"] = matches
    return entry


def fingerprint(pattern):
    """Counts and hashes the characters that a class matches."""
    regex, reason = compiled("(?:%s)+" % pattern)
    if regex is None:
        sys.exit(f"RE2 refuses {pattern}: {reason}")
    members = []
    for found in regex.finditer(EVERYTHING):
        members.extend(map(ord, found.group().decode()))
    ranges = []
    for c in members:
        # The surrogates are no gap: no text holds one.
        if ranges and (c == ranges[-1][1] + 1 or (ranges[-1][1], c) == (0xD7FF, 0xE000)):
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    value = 0x811C9DC5
    for byte in "".join(f"{first:x}-{last:x}," for first, last in ranges).encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return [len(members), f"{value:08x}"]


def cases():
    """The sets of characters that are each other's cases, found by asking about every character that may have one."""
    spellings = [str.lower, str.upper, str.title, str.casefold]
    candidates = [c for c in EVERYTHING.decode() if any(spelling(c) != c for spelling in spellings)]
    text = "".join(candidates).encode()
    found = set()
    for c in candidates:
        regex, _ = compiled("(?i)\\x{%X}" % ord(c))
        found.add("".join(sorted(match.group().decode() for match in regex.finditer(text))))
    return sorted(orbit for orbit in found if len(orbit) > 1)


def main():
    seen = set()
    lines = []
    for pattern, extra in PATTERNS:
        if pattern not in seen:
            seen.add(pattern)
            lines.append(verdict(pattern, extra))
    dump = lambda value: json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    with open(os.path.join(HERE, "oracle.json"), "w", encoding="ascii") as out:
        out.write('{"re2":%s,\n"inputs":%s,\n"tables":{\n' % (dump(version("google-re2")), dump(INPUTS)))
        out.write(",\n".join(f"{dump(c)}:{dump(fingerprint(c))}" for c in CLASSES))
        out.write('},\n"cases":%s,\n"patterns":[\n' % dump(cases()))
        out.write(",\n".join(map(dump, lines)))
        out.write("]}\n")
    refused = sum("refused" in line for line in lines)
    print(f"{len(lines)} patterns, {refused} of them refused, {len(INPUTS)} inputs, {len(CLASSES)} classes")


if __name__ == "__main__":
    main()
