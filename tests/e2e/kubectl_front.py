#!/usr/bin/env python3
"""The way of kubectl to a container, as an API server has it: kubectl_front.py FOLDER NODE_API_PORT

Serves plain HTTP on loopback, and prints its port once node-api serves. Logs, exec, attach and port-forward of a pod go to node-api with the
path and query that an API server makes of them; a question for a DaemonSet has the answer that there is one; all
else goes to the API server. FOLDER is that of fake-api: who asks is its admin, whatever kubectl says. Each connection
has one request.
"""

import base64
import json
import pathlib
import re
import select
import socket
import ssl
import sys
import tempfile
import threading
import time
from urllib.parse import parse_qsl, urlencode

POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/(log|exec|attach|portforward)")
DAEMON_SET = re.compile(r"GET /apis/apps/v1/namespaces/([^/]+)/daemonsets/(\S+) .*", re.DOTALL)
PATHS = {"log": "containerLogs", "exec": "exec", "attach": "attach", "portforward": "portForward"}
STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}


def node_target(target):
    """Returns None if the request is not for the node."""
    path, _, query = target.partition("?")
    match = POD.fullmatch(path)
    if not match:
        return None
    namespace, pod, what = match.groups()
    options = parse_qsl(query)
    place = [PATHS[what], namespace, pod]
    if what != "portforward":
        place.append(dict(options).get("container", "app"))
    if what in ("exec", "attach"):
        options = [
            (STREAMS.get(key, key), "1" if key in STREAMS else value)
            for key, value in options
            if key not in STREAMS or value == "true"
        ]
    rest = urlencode([(key, value) for key, value in options if key != "container"])
    return "/" + "/".join(place) + ("?" + rest if rest else "")


def with_one_request(head):
    if re.search(r"^Upgrade:", head, re.IGNORECASE | re.MULTILINE):
        return head
    lines = [line for line in head.split("\r\n") if not line.lower().startswith("connection:")]
    return "\r\n".join([lines[0], "Connection: close", *lines[1:]])


class Front:
    def __init__(self, folder, node_api_port):
        text = (folder / "admin.kubeconfig").read_text()
        self.server_port = int(re.search(r"server: https://[^:]+:(\d+)", text).group(1))
        self.node_api_port = node_api_port
        with tempfile.NamedTemporaryFile() as pair:
            for field in ("client-certificate-data", "client-key-data"):
                pair.write(base64.b64decode(re.search(field + r": (\S+)", text).group(1)) + b"\n")
            pair.flush()
            self.tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
            self.tls.check_hostname = False
            self.tls.load_cert_chain(pair.name)

    def wait_for_node_api(self):
        """Before node-api has a certificate, it listens and closes each connection."""
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.node_api_port)) as plain, self.tls.wrap_socket(plain):
                    return
            except OSError:
                time.sleep(0.1)

    def answer(self, client):
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                more = client.recv(65536)
                if not more:
                    return
                head += more
            head, _, body = head.partition(b"\r\n\r\n")
            head = head.decode("latin-1")
            if match := DAEMON_SET.match(head):
                self.answer_daemon_set(client, *match.groups())
                return
            method, target, version = head.split("\r\n")[0].split(" ")
            on_node = node_target(target)
            head = head.replace(f"{method} {target} {version}", f"{method} {on_node or target} {version}", 1)
            port = self.node_api_port if on_node else self.server_port
            with socket.create_connection(("127.0.0.1", port)) as plain, self.tls.wrap_socket(plain) as backend:
                backend.sendall((with_one_request(head) + "\r\n\r\n").encode("latin-1") + body)
                pass_on(client, backend)

    @staticmethod
    def answer_daemon_set(client, namespace, name):
        found = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": namespace}}
        body = json.dumps(found).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        client.sendall(head.encode() + b"Connection: close\r\n\r\n" + body)


def pass_on(client, backend):
    while True:
        readable = [backend] if backend.pending() else select.select([client, backend], [], [])[0]
        for source in readable:
            data = source.recv(65536)
            if not data:
                return
            (backend if source is client else client).sendall(data)


def main():
    front = Front(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
    listener = socket.create_server(("127.0.0.1", 0))
    front.wait_for_node_api()
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=front.answer, args=(client,), daemon=True).start()


if __name__ == "__main__":
    main()
