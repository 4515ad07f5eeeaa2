#!/usr/bin/env python3
"""A registry of images on loopback, for runs without a network: every repository that is asked for has one image.

    registry.py PORT [BYTES_PER_SECOND]     serves until its parent has gone, each answer no faster than that

Each image is busybox with a layer of its own, drawn from its name, so that none can be had from another; that of
large/N/NAME has N megabytes, and `large begins` and `large ends` are printed around each time that it is sent. Nothing
is on a disk. The API is the part of the distribution API that a pull needs: manifests and blobs, GET and HEAD.
"""

import functools
import gzip
import hashlib
import http.server
import io
import json
import os
import platform
import random
import re
import subprocess
import sys
import tarfile
import threading
import time

BUSYBOX = os.environ.get("BUSYBOX", "/bin/busybox")
OWN_BYTES = 300_000
MEGABYTE = 1_000_000
LARGE = 20 * MEGABYTE  # from here on the time of sending is recorded
CHUNK = 256 * 1024
LARGE_PATH = re.compile(r"large/([0-9]{1,4})/.+")
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MANIFEST_PATH = re.compile(r"/v2/([a-z0-9./_-]+)/manifests/([A-Za-z0-9:._-]+)")
BLOB_PATH = re.compile(r"/v2/([a-z0-9./_-]+)/blobs/(sha256:[0-9a-f]{64})")


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Layer:
    """A layer with these members: (tarfile.TarInfo, bytes)."""

    def __init__(self, members, compresslevel=1):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for member, content in members:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        self.diff_id = digest(packed.getvalue())
        self.content = gzip.compress(packed.getvalue(), compresslevel=compresslevel, mtime=0)


def folder(name):
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, 0o755
    return member, b""


def program(name, content):
    member = tarfile.TarInfo(name)
    member.mode = 0o755
    return member, content


def link(name, target):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member, b""


@functools.cache
def base_layer():
    with open(BUSYBOX, "rb") as file:
        members = [folder(name) for name in ("bin", "dev", "etc", "proc", "sys", "tmp")]
        members.append(program("bin/busybox", file.read()))
    applets = subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True).stdout.split()
    members += [link("bin/" + applet, "busybox") for applet in applets if applet != "busybox"]
    return Layer(members)


def own_layer(name):
    content = random.Random(name)
    if found := LARGE_PATH.fullmatch(name):  # random bytes that gzip cannot compress
        return Layer([program("own", content.randbytes(MEGABYTE) * int(found[1]))], compresslevel=0)
    return Layer([program("own", content.randbytes(OWN_BYTES))])


class Image:
    """The image of one repository."""

    def __init__(self, name):
        layers = [base_layer(), own_layer(name)]
        config = json.dumps({
            "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"]},
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        }).encode()
        self.manifest = json.dumps({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "size": len(config), "digest": digest(config)},
            "layers": [{"mediaType": LAYER, "size": len(layer.content), "digest": digest(layer.content)}
                       for layer in layers],
        }).encode()
        self.blobs = {digest(blob): blob for blob in [config] + [layer.content for layer in layers]}


@functools.lru_cache(maxsize=64)
def small_image_of(name):
    return Image(name)


@functools.lru_cache(maxsize=1)
def large_image_of(name):
    return Image(name)


def image_of(name):
    return large_image_of(name) if LARGE_PATH.fullmatch(name) else small_image_of(name)


def find(path):
    """The object at a path, as (type, content, digest); None if there is none."""
    if path == "/v2/":
        return "application/json", b"{}", digest(b"{}")
    if found := MANIFEST_PATH.fullmatch(path):
        manifest = image_of(found[1]).manifest
        if not found[2].startswith("sha256:") or found[2] == digest(manifest):
            return MANIFEST, manifest, digest(manifest)
    if found := BLOB_PATH.fullmatch(path):
        blob = image_of(found[1]).blobs.get(found[2])
        if blob is not None:
            return "application/octet-stream", blob, found[2]
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, with_content):
        found = find(self.path.split("?")[0])
        kind, content, name = found or ("application/json", b'{"errors": [{"code": "NOT_FOUND"}]}', None)
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if name:
            self.send_header("Docker-Content-Digest", name)
        self.end_headers()
        if with_content:
            self.send(content)

    def send(self, content):
        large = len(content) > LARGE
        if large:
            print("large begins", flush=True)
        began = time.monotonic()
        for at in range(0, len(content), CHUNK):
            self.wfile.write(memoryview(content)[at : at + CHUNK])
            if self.server.bytes_per_second:
                time.sleep(max(0.0, began + (at + CHUNK) / self.server.bytes_per_second - time.monotonic()))
        if large:
            print("large ends", flush=True)

    def do_GET(self):
        self.answer(True)

    def do_HEAD(self):
        self.answer(False)

    def log_message(self, *_):
        pass


def end_after(parent):
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def main():
    threading.Thread(target=end_after, args=(os.getppid(),), daemon=True).start()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.bytes_per_second = float(sys.argv[2]) if len(sys.argv) > 2 else 0
    server.serve_forever()


if __name__ == "__main__":
    main()
