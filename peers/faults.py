"""How a model endpoint fails. The models that are scripts take one of these words as `--fault`.

    unauthorised  401, to every request
    error         500, to every request
    slow          never answers, and keeps the connection open
    cut           the first turn is answered with a call of a tool; in the next one the answer breaks off and the
                  connection is dropped
    half          the same, but the connection ends as if the answer were whole

A model that is down needs no word: nobody listens.
"""

import json
import socket
import threading

FAULTS = ["unauthorised", "error", "slow", "cut", "half"]


def fails(handler, fault, has_called, begin):
    """Fails as the word says, if it does here: whether it did. `begin` is how a streamed answer begins, as data of its
    events; `has_called` whether a call of a tool was answered already."""
    if fault in ("unauthorised", "error"):
        status, words = {"unauthorised": (401, "invalid x-api-key"), "error": (500, "the model is broken")}[fault]
        kind = {401: "authentication_error", 500: "api_error"}[status]
        error = {"type": kind, "code": status, "status": kind.upper(), "message": words}
        body = json.dumps({"type": "error", "error": error}).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        return True
    if fault == "slow":
        threading.Event().wait()
    if fault in ("cut", "half") and has_called:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        if fault == "cut":
            handler.send_header("transfer-encoding", "chunked")
        else:
            handler.send_header("connection", "close")
        handler.end_headers()
        for event in begin:
            data = event.encode()
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if fault == "cut" else data)
        handler.wfile.flush()
        # Without the last chunk, which would say that this is all.
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True
        return True
    return False
