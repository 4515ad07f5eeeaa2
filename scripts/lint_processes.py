"""The places that name processes agree with the table of libs/base/processes.h: packages, compose, monitoring, scripts.

lint.py calls `check`; each finding is (path, line, message). A tree without the table has nothing to check.
"""

import os
import re
from typing import NamedTuple

TABLE = "libs/base/processes.h"
ROW = re.compile(r'\{"(?P<name>[a-z-]+)", "(?P<table>[a-z]*)", "(?P<views>[a-z|]*)", (?P<port>\d+)')

# path -> what stands there for each process, with {name}, {table}, {port} and {views} ("-" without any)
EACH = {
    "ARCHITECTURE.md": r"^\| {name} \| `{table}`",
    "Makefile": r"\bsplitlet-{name}(?![\w-])",
    "cmake/package.cmake": r"^splitlet_unit\({name} PORT {port} ",
    "compose/docker-compose.yml": r'^    command: \[{name}, "{port}"\]',
    "compose/image/programs.sh": r"\bsplitlet-{name}(?![\w-])",
    "compose/image/setup.sh": r"^{name} +\d+$",
    "compose/kubelet.yaml": r"^    {name}: \d+$",
    "compose/prometheus/nodes.yml": r"'\.\+:{port}', target_label: process, replacement: {name}\}}",
    "deploy/deb/prerm": r"\bsplitlet-{name}(?![\w-])",
    "deploy/local/nats.sh": r"^{name} +{table} +{views}( |$)",
    "docs/metrics.md": r"^\| {name} \| {port} \|",
    "services/CMakeLists.txt": r"^add_subdirectory\({name}\)",
}
# path -> the list of all of them, with {names} separated by blanks or {quoted} by commas
ALL = {
    "compose/prebuilt.sh": r"^for process in {names}; do",
    "ctl/completion.cc": r'local processes="{names}"',
    "deploy/local/lib.sh": r"^readonly PROCESSES=\({names}\)",
    "tests/monitoring/check.py": r"^PROCESSES = \({quoted}\)",
}
# Files of Prometheus: the label names a process.
LABELLED = "compose/prometheus/rules/alerts.yml"
LABEL = re.compile(r'\bprocess="([^"]*)"')
UNIT = "deploy/systemd/processes/{name}.conf"


class Process(NamedTuple):
    name: str
    table: str
    views: str
    port: str


def processes(text):
    """The rows of the table that are built: those with a port."""
    return [Process(m["name"], m["table"], m["views"].replace("|", ",") or "-", m["port"])
            for m in ROW.finditer(re.sub(r",\s+", ", ", text))]


def check(root):
    def read(path):
        full = os.path.join(root, path)
        if not os.path.exists(full):
            return ""
        with open(full, encoding="utf-8") as file:
            return file.read()

    rows = processes(read(TABLE))
    if not rows:
        return
    for path, pattern in EACH.items():
        text = read(path)
        for row in rows:
            want = pattern.format(**{key: re.escape(value) for key, value in row._asdict().items()})
            if not re.search(want, text, re.MULTILINE):
                yield path, 1, f"{row.name} does not stand here as {TABLE} has it ({want})"
    names = [row.name for row in rows]
    for path, pattern in ALL.items():
        want = pattern.format(names=" ".join(names), quoted=", ".join(f'"{name}"' for name in names))
        if not re.search(want, read(path), re.MULTILINE):
            yield path, 1, f"the processes are not those of {TABLE} ({want})"
    for name in names:
        if not os.path.exists(os.path.join(root, UNIT.format(name=name))):
            yield UNIT.format(name=name), 1, f"{TABLE} has {name}, and it has no unit"
    alerts = read(LABELLED)
    for match in LABEL.finditer(alerts):
        if match[1] not in names:
            yield LABELLED, alerts[:match.start()].count("\n") + 1, f"{TABLE} has no process {match[1]}"
