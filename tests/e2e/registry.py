#!/usr/bin/env python3
"""A registry of images on loopback, with the ways of bad ones: registry.py ARCHIVE

Serves the image of an OCI archive under each name, with a layer of its own that no other name has, and prints its
port. What comes first in a name says how:
    open/...      to everybody
    private/...   to user `team` with password `hunter2`
    held/...      half of that layer comes, and `held` is printed; the rest when a line is read from standard input
    wrong/...     that layer is not what its digest says
    closes/...    the first two connections for that layer are closed in the middle
Ends with its standard input.
"""

import base64
import hashlib
import io
import json
import random
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOGIN = "Basic " + base64.b64encode(b"team:hunter2").decode()
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LAYER_BYTES = 2 << 20


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def layer_of(name):
    """A tar of one file that says where it came from, and is not worth compressing."""
    content = random.Random(name).randbytes(LAYER_BYTES)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = tarfile.TarInfo("from-registry")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


class Image:
    def __init__(self, base, name):
        manifest = json.loads(base[json.loads(base["index"])["manifests"][0]["digest"]])
        config = json.loads(base[manifest["config"]["digest"]])
        layer = layer_of(name)
        self.layer = digest_of(layer)
        config["rootfs"]["diff_ids"].append(self.layer)
        config.pop("history", None)
        config = json.dumps(config).encode()
        manifest["config"] = {**manifest["config"], "digest": digest_of(config), "size": len(config)}
        manifest["layers"].append(
            {"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": self.layer, "size": len(layer)}
        )
        manifest["mediaType"] = MANIFEST
        manifest = json.dumps(manifest).encode()
        self.manifest = digest_of(manifest)
        self.blobs = {**base, self.layer: layer, digest_of(config): config, self.manifest: manifest}


class Registry(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, archive):
        super().__init__(("127.0.0.1", 0), Handler)
        with tarfile.open(archive) as tar:
            files = {m.name.removeprefix("./"): tar.extractfile(m).read() for m in tar if m.isfile()}
        self.base = {"sha256:" + name.rsplit("/", 1)[1]: data for name, data in files.items() if name.startswith("blobs/sha256/")}
        self.base["index"] = files["index.json"]
        self.lock, self.images, self.closed = threading.Lock(), {}, 0
        self.released = threading.Event()

    def image(self, name):
        with self.lock:
            if name not in self.images:
                self.images[name] = Image(self.base, name)
            return self.images[name]

    def may_close(self):
        with self.lock:
            self.closed += 1
            return self.closed <= 2


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        parts = self.path.split("?")[0].strip("/").split("/")
        if parts == ["v2"]:
            return self.answer(200, b"{}", "application/json")
        way, kind, reference = parts[1], parts[-2], parts[-1]
        if way == "private" and self.headers.get("Authorization") != LOGIN:
            return self.answer(401, b"{}", "application/json", {"WWW-Authenticate": 'Basic realm="registry"'})
        image = self.server.image("/".join(parts[1:-2]))
        if kind == "manifests" and (":" not in reference or reference == image.manifest):
            more = {"Docker-Content-Digest": image.manifest}
            return self.answer(200, image.blobs[image.manifest], MANIFEST, more)
        if kind == "blobs" and reference in image.blobs:
            return self.blob(way if reference == image.layer else "open", image.blobs[reference])
        return self.answer(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}', "application/json")

    def blob(self, way, data):
        if way == "wrong":
            data = bytes(len(data))
        if way == "closes" and self.server.may_close():
            self.head(200, len(data), "application/octet-stream")
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return
        if way != "held":
            return self.answer(200, data, "application/octet-stream")
        self.head(200, len(data), "application/octet-stream")
        self.wfile.write(data[: len(data) // 2])
        print("held", flush=True)
        self.server.released.wait()
        self.wfile.write(data[len(data) // 2 :])

    def head(self, code, length, kind, more=None):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def answer(self, code, data, kind, more=None):
        self.head(code, len(data), kind, more)
        if self.command != "HEAD":
            self.wfile.write(data)


def main():
    registry = Registry(sys.argv[1])
    threading.Thread(target=registry.serve_forever, daemon=True).start()
    print(registry.server_address[1], flush=True)
    for _ in sys.stdin:
        registry.released.set()


if __name__ == "__main__":
    main()
