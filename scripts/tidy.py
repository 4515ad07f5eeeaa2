#!/usr/bin/env python3
"""clang-tidy over our sources. A source that was clean is not looked at again until something that it sees changes.

    tidy.py [--jobs N] [--since REV [--at-most N]] [FILE...]

Without arguments: all sources. --since: only those that differ from REV (git), and for a header that differs one
source that includes it; with --at-most, nothing but a note when these are more. The compile commands and the
generated headers are those of build/plain; the stamps are in build/tidy: one file for each clean source, holding a
hash of its compile command, of the options of clang-tidy, of .clang-tidy, of the source and of all headers and .proto files of the tree that it
includes, directly or not.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import subprocess
import sys

PRESET = "build/plain"
STAMPS = "build/tidy"
OURS = ("libs/", "services/", "ctl/", "chaos/", "tests/")
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
GENERATED = re.compile(r"(\.grpc)?\.pb\.h$")
# g++ options that clang does not know are no finding. The analyzer gets a lower bound for each function,
# because with its own bound it takes three times as long as all other checks.
TOOL = ("clang-tidy", "-p", PRESET, "--quiet", "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Xclang",
        "--extra-arg=-analyzer-config", "--extra-arg=-Xclang", "--extra-arg=max-nodes=30000")


class Tree:
    """The sources below a directory, and the includes of each source."""

    def __init__(self, root):
        self.root = root

    @functools.lru_cache(maxsize=None)
    def content(self, path):
        with open(os.path.join(self.root, path), "rb") as file:
            return file.read()

    def included(self, path):
        """Files of the tree that `path` includes itself; a generated header counts as its .proto file."""
        if path.endswith(".proto"):
            names = re.findall(rb'^import\s+(?:public\s+)?"([^"]+)"', self.content(path), re.MULTILINE)
            found = ["proto/" + name.decode() for name in names]
        else:
            found = [name.decode() for name in INCLUDE.findall(self.content(path))]
            found = ["proto/" + GENERATED.sub(".proto", name) if GENERATED.search(name) else name for name in found]
        return [name for name in found if os.path.isfile(os.path.join(self.root, name))]

    @functools.lru_cache(maxsize=None)
    def closure(self, path):
        """`path` and all files that it includes, directly or indirectly, sorted."""
        seen, todo = {path}, [path]
        while todo:
            for name in self.included(todo.pop()):
                if name not in seen:
                    seen.add(name)
                    todo.append(name)
        return sorted(seen)

    def key(self, path, context):
        """A digest of everything that clang-tidy's output for `path` depends on."""
        digest = hashlib.sha256(context)
        for name in self.closure(path):
            content = self.content(name)
            digest.update(f"{name} {len(content)}\n".encode())
            digest.update(content)
        return digest.hexdigest()

    def affected(self, changed, sources):
        """The sources to check for `changed` files: the changed sources, and for each header a source that includes it."""
        wanted = set(changed) & set(sources)
        for header in sorted(name for name in changed if name.endswith(".h")):
            seers = [source for source in sources if header in self.closure(source)]
            own = [source for source in seers if os.path.splitext(source)[0] == os.path.splitext(header)[0]]
            if seers and not wanted & set(seers):
                wanted.add((own or seers)[0])
        return sorted(wanted)


class Stamps:
    """The clean sources, with a digest of the content that was checked."""

    def __init__(self, folder):
        self.folder = folder

    def holds(self, path, key):
        try:
            with open(os.path.join(self.folder, path), encoding="ascii") as file:
                return file.read() == key
        except FileNotFoundError:
            return False

    def put(self, path, key):
        stamp = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(stamp), exist_ok=True)
        with open(stamp, "w", encoding="ascii") as file:
            file.write(key)


def compile_commands():
    """Source (relative to the tree) -> its compile command, the same in every checkout."""
    with open(f"{PRESET}/compile_commands.json", encoding="utf-8") as file:
        entries = json.load(file)
    commands = {os.path.relpath(entry["file"]): entry["command"].replace(os.getcwd(), ".") for entry in entries}
    return {path: command for path, command in sorted(commands.items()) if path.startswith(OURS)}


def prepare():
    """Configures the preset when needed and generates the headers, without compiling them."""
    if not os.path.isfile(f"{PRESET}/build.ninja"):
        subprocess.run(["cmake", "--preset", "plain"], check=True, stdout=subprocess.DEVNULL)
    ninja = ["ninja", "-C", PRESET]
    targets = subprocess.run(ninja + ["-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
    headers = re.findall(r"^(gen/\S+\.pb\.h):", targets, re.MULTILINE)
    subprocess.run(ninja + ["build.ninja"] + headers, check=True, stdout=subprocess.DEVNULL)


def changed_since(revision):
    """Files that differ from the merge base of `revision` and this tree, committed or not; None if the revision does not exist."""
    base = subprocess.run(["git", "merge-base", revision, "HEAD"], capture_output=True, text=True, check=False)
    if base.returncode != 0:
        return None
    git = functools.partial(subprocess.run, check=True, capture_output=True, text=True)
    tracked = git(["git", "diff", "--name-only", "--diff-filter=d", base.stdout.strip()]).stdout
    untracked = git(["git", "ls-files", "--others", "--exclude-standard"]).stdout
    return (tracked + untracked).split("\n")


def look_at(path):
    """clang-tidy's output for one source; empty if the source is clean."""
    run = subprocess.run(TOOL + (path,), capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else (run.stdout or run.stderr)


def look_at_all(tree, commands, jobs):
    """The exit code: whether a source has findings. `commands`: source -> compile command."""
    version = subprocess.run(["clang-tidy", "--version"], check=True, capture_output=True).stdout
    stamps, bad = Stamps(STAMPS), 0
    context = version + " ".join(TOOL).encode() + tree.content(".clang-tidy")
    keys = {path: tree.key(path, context + command.encode()) for path, command in commands.items()}
    todo = [path for path, key in keys.items() if not stamps.holds(path, key)]
    print(f"tidy: {len(keys)} sources, {len(keys) - len(todo)} of them unchanged since they were clean", flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(look_at, path): path for path in todo}
        for done in concurrent.futures.as_completed(running):
            path = running[done]
            if done.result():
                bad += 1
                print(f"{path}:\n{done.result()}", flush=True)
            else:
                stamps.put(path, keys[path])
    print(f"tidy: {bad} sources with findings" if bad else "tidy: clean")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description="clang-tidy over what changed since it was clean")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--since", metavar="REV")
    parser.add_argument("--at-most", type=int, metavar="N")
    parser.add_argument("files", nargs="*", metavar="FILE")
    arguments = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    changed = changed_since(arguments.since) if arguments.since else None
    if arguments.since and not any(name.startswith(OURS) for name in changed or ()):
        print(f"tidy: nothing differs from {arguments.since}" if changed is not None else
              f"tidy: there is no {arguments.since} to compare with")
        return 0
    prepare()
    tree, commands = Tree("."), compile_commands()
    wanted = [os.path.relpath(name) for name in arguments.files] or list(commands)
    if changed is not None:
        wanted = tree.affected(changed, wanted)
    if arguments.at_most is not None and len(wanted) > arguments.at_most:
        print(f"tidy: {len(wanted)} sources are too many here: run `make tidy`")
        return 0
    return look_at_all(tree, {path: commands[path] for path in wanted}, arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
