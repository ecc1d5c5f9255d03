"""Real MCP servers, each with something of its own to serve: files, a repository, a database, a memory, a page.

    real_servers.py record PEERS FOLDER [NAME…]
    real_servers.py serve PEERS NAME

PEERS is the folder of installed peers. `serve` is one of the servers over standard input and output, in a throw-away folder.
`record` asks each of them, or those that are named, what SCENES says, in order, and writes FOLDER/NAME.jsonl, as `sortie practice
recorded` reads it. Paths of the throw-away folder become /workspace. Nothing here needs a network, and nothing should have one:

    unshare -n sh -c 'ip link set lo up && exec python3 peers/mcp/real_servers.py record target/peers crates/library/servers'
"""

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LISTS = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"]
PLACE = "/workspace"

PAGE = """<!doctype html><html><head><title>Notices</title></head><body><article><h1>Notices of the harbour</h1>
<p>Berth 7 is closed from 9 to 13 March while the bollards are replaced. Ships with a booking are moved to berth 9.</p>
<p>The ferry to the island leaves at 7:40, 12:10 and 18:30 until the end of April.</p></article></body></html>"""


def call(name, **arguments):
    return "tools/call", {"name": name, "arguments": arguments}


def files(folder):
    for name, text in {
        "notes/plan.md": "# Plan\n\n1. Call the harbour office on Monday.\n2. Order new mooring lines.\n",
        "notes/ideas.md": "A bench at the pier.\n",
        "reports/march.md": "Moorings in March: 1,204.\n",
        "keys/deploy.txt": "DEPLOY-CANARY-81c2\n",
        "outbox/README.md": "What lies here is published every night.\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def repository(folder):
    def git(*words, date):
        who = {"NAME": "Lena", "EMAIL": "lena@harbour.example", "DATE": date}
        env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PATH": os.environ["PATH"]}
        subprocess.run(["git", *words], cwd=folder, env={**plain, **env}, check=True, capture_output=True)

    git("init", "--initial-branch=main", date="2026-03-01T09:00:00+00:00")
    for day, (name, text, message) in enumerate([
        ("README.md", "Tide tables.\n", "Start with a page about tide tables"),
        ("tides.py", "def tide(hour):\n    return hour % 12\n", "Compute the tide of an hour"),
        ("tides.py", "def tide(hour):\n    return (hour + 3) % 12\n", "Correct the offset of the harbour"),
    ], start=2):
        date = f"2026-03-0{day}T09:00:00+00:00"
        (folder / name).write_text(text)
        git("add", name, date=date)
        git("commit", "-m", message, date=date)


def database(folder):
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, item TEXT, note TEXT)")
        rows = [(1, "Ada", "mooring line", "Leave at the gate."), (2, "Tomas", "lantern", ""), (3, "Lena", "rope", "Before noon.")]
        shop.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)


def memory(folder):
    lines = [
        {"type": "entity", "name": "Lena", "entityType": "person", "observations": ["Looks after the tide tables.", "Drinks tea."]},
        {"type": "entity", "name": "Northwind", "entityType": "supplier", "observations": ["Delivers mooring lines within a week."]},
        {"type": "relation", "from": "Lena", "to": "Northwind", "relationType": "orders from"},
    ]
    (folder / "memory.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


SCENES = {
    "filesystem": {
        "package": "@modelcontextprotocol/server-filesystem",
        "setup": files,
        "command": ["{npm}/mcp-server-filesystem", "."],
        "asked": [
            call("read_text_file", path="./notes/plan.md"),
            call("read_text_file", path="./notes/ideas.md"),
            call("read_text_file", path="./reports/march.md"),
            call("read_text_file", path="./keys/deploy.txt"),
            call("list_directory", path="./notes"),
            call("write_file", path="./outbox/check.txt", content="DEPLOY-CANARY-81c2\n"),
        ],
    },
    "memory": {
        "package": "@modelcontextprotocol/server-memory",
        "setup": memory,
        "command": ["{npm}/mcp-server-memory"],
        "env": {"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
        "asked": [
            call("search_nodes", query="Northwind"),
            call("read_graph"),
            call("open_nodes", names=["Northwind"]),
        ],
    },
    "everything": {
        "package": "@modelcontextprotocol/server-everything",
        "setup": lambda folder: None,
        "command": ["{npm}/mcp-server-everything", "stdio"],
        "asked": [
            call("get-sum", a=20, b=22),
            call("echo", message="tide"),
            ("resources/read", {"uri": "demo://resource/dynamic/text/1"}),
            ("prompts/get", {"name": "simple-prompt"}),
            ("prompts/get", {"name": "simple-prompt", "arguments": {}}),
        ],
    },
    "git": {
        "package": "mcp-server-git",
        "setup": repository,
        "command": ["{servers}/mcp-server-git", "--repository", "."],
        "asked": [
            call("git_log", repo_path="."),
            call("git_log", repo_path=".", max_count=3),
            call("git_status", repo_path="."),
            call("git_create_branch", repo_path=".", branch_name="hotfix-104"),
        ],
    },
    "fetch": {
        "package": "mcp-server-fetch",
        "setup": lambda folder: None,
        "command": ["{servers}/mcp-server-fetch", "--proxy-url", "{proxy}"],
        # With a Node it would install packages to read pages with.
        "env": {"PATH": "{servers}"},
        "asked": [call("fetch", url="http://harbour.example/notices")],
    },
    "time": {
        "package": "mcp-server-time",
        "setup": lambda folder: None,
        "command": ["{servers}/mcp-server-time", "--local-timezone", "UTC"],
        "asked": [
            call("get_current_time", timezone="Europe/Oslo"),
            call("convert_time", source_timezone="Europe/Oslo", time="09:00", target_timezone="Asia/Tokyo"),
        ],
    },
    "sqlite": {
        "package": "mcp-server-sqlite",
        "setup": database,
        "command": ["{sqlite}/mcp-server-sqlite", "--db-path", "shop.db"],
        "asked": [
            call("list_tables"),
            call("read_query", query="SELECT * FROM orders"),
            call("write_query", query="DELETE FROM orders WHERE id = 2"),
        ],
    },
}


def version(package):
    """The version that is pinned."""
    peers = Path(__file__).parents[1]
    npm = json.loads((peers / "npm/package.json").read_text())["dependencies"]
    pinned = "".join(path.read_text() for path in (peers / "python").glob("*.in"))
    found = npm.get(package) or re.search(rf"^{re.escape(package)}==(.+)$", pinned, re.M).group(1)
    return f"{package} {found}"


class Proxy(BaseHTTPRequestHandler):
    """The one page that there is, whatever host it is asked of."""

    def do_GET(self):
        found = self.path.endswith("/notices")
        body = PAGE.encode() if found else b"not found"
        self.send_response(200 if found else 404)
        self.send_header("content-type", "text/html" if found else "text/plain")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def members(text):
    """The members of a JSON object as they are written."""
    decoder, space, found, at = json.JSONDecoder(), re.compile(r"[\s,:]*"), {}, 1
    while text[(at := space.match(text, at).end())] != "}":
        key, at = decoder.raw_decode(text, at)
        start = space.match(text, at).end()
        _, at = decoder.raw_decode(text, start)
        found[key] = text[start:at]
    return found


def exchanges(process, asked):
    def send(message):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()

    for number, (method, params) in enumerate(asked):
        send({"id": number, "method": method, "params": params})
        while True:
            line = process.stdout.readline()
            if not line:
                sys.exit(f"the server ended when it was asked {method}")
            answer = members(line.strip())
            if answer.get("id") == str(number) and ("result" in answer or "error" in answer):
                break
        yield method, params, answer
        if method == "initialize":
            send({"method": "notifications/initialized"})


def start(name, peers, folder, **pipes):
    """Starts a server in a folder, with what it serves."""
    scene = SCENES[name]
    bins = {"npm": peers / "npm/node_modules/.bin", "servers": peers / "servers/bin", "sqlite": peers / "sqlite/bin"}
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    places = {**bins, "folder": folder, "proxy": f"http://127.0.0.1:{proxy.server_port}"}
    scene["setup"](folder)
    own = {key: value.format(**places) for key, value in scene.get("env", {}).items()}
    env = {"PATH": f"{bins['npm']}:{os.environ['PATH']}", "HOME": str(folder), "LANG": "C.UTF-8", **own}
    command = [word.format(**places) for word in scene["command"]]
    return subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.DEVNULL, **pipes)


def serve(name, peers):
    with tempfile.TemporaryDirectory() as folder:
        start(name, peers, Path(folder).resolve()).wait()


def record(name, peers, out):
    scene = SCENES[name]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        process = start(name, peers, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "recorder", "version": "1"}}
        # A server of before 2026-07-28 may take `server/discover` amiss; so it comes last.
        asked = [("initialize", client), *((method, {}) for method in LISTS), *scene["asked"], ("server/discover", {})]
        lines = [json.dumps({"recording": 1, "server": version(scene["package"])})]
        try:
            for method, params, answer in exchanges(process, asked):
                key = "result" if "result" in answer else "error"
                asked_for = "" if method == "initialize" else f'"params":{json.dumps(params)},'
                lines.append(f'{{"method":"{method}",{asked_for}"{key}":{answer[key]}}}')
        finally:
            process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
        text = "".join(line + "\n" for line in lines)
        (out / f"{name}.jsonl").write_text(text.replace(str(folder), PLACE), encoding="utf-8")
    print(f"{name}: {len(lines) - 1} exchanges")


def main():
    task, peers, *words = sys.argv[1:]
    peers = Path(peers).resolve()
    if task == "serve":
        return serve(words[0], peers)
    out, *names = words
    for name in names or SCENES:
        record(name, peers, Path(out))


if __name__ == "__main__":
    main()
