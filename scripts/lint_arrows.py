"""The arrows inside a service: which room may include which.

A table stands in `<folder>/arrows`, a line for each room, lowest floor first:

    room: rooms of lower floors that it may include

A room is a folder below, or the stem of files at the root of the service that rooms include (`metrics`). All other
files at the root are the service on top, which no room includes. A table has no cycle, as a room may only name rooms
above its line; it has no arrow that no include needs; and ARCHITECTURE.md names the same rooms in the same order.
lint.py calls `check`; each finding is (path, line, message).
"""

import os
import re

FOLDERS = ("services", "chaos", "ctl", "kubelet")
REQUIRED = ()
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
HEAD = "| process | rooms, lowest floor first |"


def is_for_tests(path):
    name = path.rsplit("/", 1)[-1]
    return name.endswith("_test.cc") or "_fixture" in name or "/fake_" in path or "/tests/" in path


class Table:
    """The rooms of one service, in order, with what each may include."""

    def __init__(self, owner, text):
        self.owner, self.rooms, self.lines, self.problems = owner, {}, {}, []
        for number, line in enumerate(text.split("\n"), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            room, colon, lower = line.partition(":")
            room = room.strip()
            if not colon or not room or " " in room or room in self.rooms:
                self.problems.append((number, f'"{line}" is not "room: rooms", each room once'))
                continue
            for other in lower.split():
                if other not in self.rooms:
                    self.problems.append((number, f"{room} -> {other}: {other} is not on a lower floor (a line above)"))
            self.rooms[room], self.lines[room] = set(lower.split()), number

    def room_of(self, path):
        """The room of a file of this service; "" for the service on top; None: its folder is in no room."""
        below = path[len(self.owner) + 1:]
        folder, stem = os.path.dirname(below), os.path.splitext(os.path.basename(below))[0]
        if not folder:
            return stem if stem in self.rooms else ""
        while folder and folder not in self.rooms:
            folder = os.path.dirname(folder)
        return folder or None


def owners(paths):
    """The folders with a table, and the folders that must have a table."""
    found = {os.path.dirname(path) for path in paths if os.path.basename(path) == "arrows"}
    return sorted(owner for owner in found | set(REQUIRED) if owner.split("/")[0] in FOLDERS)


def check_owner(table, texts):
    """Checks that each include of the service follows an arrow down, and that each arrow is used."""
    used = set()
    for path, text in texts:
        if not path.startswith(table.owner + "/") or not path.endswith((".cc", ".h")) or is_for_tests(path):
            continue
        here = table.room_of(path)
        if here is None:
            yield path, 1, f"{table.owner}/arrows has no room for this folder"
            continue
        for match in INCLUDE.finditer(text):
            if not match[1].startswith(table.owner + "/"):
                continue
            there = table.room_of(match[1])
            line = text.count("\n", 0, match.start(1)) + 1
            if here in ("", there) or there is None:
                continue
            if there == "":
                yield path, line, f'include "{match[1]}": {here} may not include the service on top'
            elif there not in table.rooms[here]:
                yield path, line, f'include "{match[1]}": {table.owner}/arrows has no arrow {here} -> {there}'
            used.add((here, there))
    for room, lower in table.rooms.items():
        for other in sorted(lower):
            if (room, other) not in used:
                yield f"{table.owner}/arrows", table.lines[room], f"{room} -> {other}: no include needs this arrow"


def row_of(table):
    return f"| {table.owner.rsplit('/', 1)[-1]} | {', '.join(table.rooms)} |"


def check(root, texts):
    paths, page = [], ""
    for folder in FOLDERS:
        for here, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            paths.extend(os.path.relpath(os.path.join(here, name), root) for name in names if name == "arrows")
    if os.path.exists(os.path.join(root, "ARCHITECTURE.md")):
        with open(os.path.join(root, "ARCHITECTURE.md"), encoding="utf-8") as file:
            page = file.read()
    for owner in owners(paths):
        name = f"{owner}/arrows"
        if name not in paths:
            yield name, 1, f"{owner} has no table of arrows"
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            table = Table(owner, file.read())
        for line, message in table.problems:
            yield name, line, message
        yield from check_owner(table, texts)
        if row_of(table) not in page:
            yield "ARCHITECTURE.md", 1, f'below "{HEAD}" there is no row "{row_of(table)}"'
