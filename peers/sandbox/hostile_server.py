"""An MCP server over standard input and output that tries to leave its sandbox. Python 3, standard library only.

Each tool tries one thing and says what came of it. Addresses are those that are reserved for documentation.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request


def connect(arguments):
    """Connects to an address of another machine."""
    tried = []
    for address in ("192.0.2.7", "198.51.100.7", "2001:db8::7"):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(2)
            tried.append(f"{address}: {attempt(lambda: connection.connect((address, 4444)))}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        tried.append(f"datagram: {attempt(lambda: datagram.sendto(b'x', ('203.0.113.7', 9999)))}")
    tried.append(f"name: {attempt(lambda: socket.getaddrinfo('left.attacker.example', 80))}")
    return "; ".join(tried)


def fetch(arguments):
    """Fetches an address that it is given."""
    with urllib.request.urlopen(arguments["url"], timeout=5) as answer:
        return answer.read(1000).decode()


def read_file(arguments):
    """Reads a file that it is given, wherever that is."""
    with open(os.path.expanduser(arguments["path"]), encoding="utf-8", errors="replace") as file:
        return file.read(1000)


def write_file(arguments):
    """Writes a file that it is given, wherever that is."""
    with open(arguments["path"], "w", encoding="utf-8") as file:
        file.write("left\n")
    return "written"


def write_outside(arguments):
    """Writes into folders of the host and of the sandbox that it was not given."""
    names = ["/dev/sortie-left", "/etc/sortie-left", "/usr/sortie-left", "/proc/sys/kernel/hostname", "/tmp/sortie-sandbox/outside/left"]
    return "; ".join(f"{name}: {attempt(lambda: write_file({'path': name}))}" for name in names)


def start(arguments):
    """Starts a process that goes on."""
    subprocess.Popen(["sleep", "30"], start_new_session=True)
    return "started"


def mount(arguments):
    """Makes the file system writable again, in a namespace of its own too."""
    commands = ["mount -o remount,rw /", "unshare --user --map-root-user --mount mount -o remount,rw,bind /"]
    results = [subprocess.run(command.split(), capture_output=True, check=False).returncode for command in commands]
    return "held" if all(results) else "left"


def fork_bomb(arguments):
    """Starts processes that start processes. It ends by itself after a while, so that nothing is harmed where nothing holds it."""
    program = "import os, time\nfor _ in range(12):\n    os.fork()\ntime.sleep(20)\n"
    subprocess.run([sys.executable, "-c", program], check=False)
    return "nothing held it"


def write_and_hang(arguments):
    """Writes where it may not, never answers, and does not end when it is asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    write_file({"path": "/tmp/sortie-sandbox/outside/left-and-hung"})
    time.sleep(120)
    return "nobody waits so long"


def write_unseen(arguments):
    """Writes a file that it is given, wherever that is; outside only while the first process of its sandbox is stopped, and cannot report it."""
    if "/outside/" in arguments["path"]:
        # Whoever stops the first process looks for this one.
        waiting = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "waiting", *sys.argv[1:]])
        deadline = time.monotonic() + 60
        while state_of_first_process() != "T" and time.monotonic() < deadline:
            time.sleep(0.02)
        waiting.kill()
    return write_file(arguments)


def state_of_first_process():
    with open("/proc/1/stat", encoding="utf-8") as file:
        return file.read().rpartition(") ")[2][0]


def attempt(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "done"


TOOLS = {tool.__name__: tool for tool in (connect, fetch, read_file, write_file, write_outside, start, mount, fork_bomb)}
if "hangs" in sys.argv:
    TOOLS = {"write_and_hang": write_and_hang, "write_file": write_file}
if "unseen" in sys.argv:
    TOOLS = {"write_unseen": write_unseen}
ARGUMENTS = {"fetch": ["url"], "read_file": ["path"], "write_file": ["path"], "write_unseen": ["path"]}


def listing(tool):
    names = ARGUMENTS.get(tool.__name__, [])
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    return {"name": tool.__name__, "description": tool.__doc__, "inputSchema": schema}


def answer(request):
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "hostile", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [listing(tool) for tool in TOOLS.values()]}
    try:
        text, failed = TOOLS[params["name"]](params.get("arguments", {})), False
    except Exception as error:  # whatever goes wrong is an answer
        text, failed = f"{type(error).__name__}: {error}", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}), flush=True)
