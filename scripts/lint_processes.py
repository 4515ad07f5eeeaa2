"""The places that name processes agree with the table of libs/base/processes.h: packages, compose, monitoring, scripts.

lint.py calls `check`; each finding is (path, line, message). A tree without the table has nothing to check.
"""

import os
import re
from typing import NamedTuple

TABLE = "libs/base/processes.h"
ROW = re.compile(r'\{"(?P<name>[a-z-]+)", "(?P<table>[a-z]*)", "(?P<views>[a-z|]*)", (?P<port>\d+)'
                 r'(?P<rest>(?:[^{}]|\{[^{}]*\})*)\}')
ROW_OF_CLUSTER = "RunsOn::kClusterNode"

# path -> text for each process, with {name}, {port}, {table} and {views} ("-" if empty), and {owns} in words
EACH = {
    "ARCHITECTURE.md": r"^\| {name} \| {owns}[ :]",
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
# path -> the list of all processes, with {names} separated by blanks or {quoted} by commas; {every} are those of
# every node, {cluster} those of a cluster node only
ALL = {
    "compose/prebuilt.sh": r"^for process in {names}; do",
    "ctl/completion.cc": r'local processes="{names}"',
    "deploy/local/lib.sh": r"^readonly PROCESSES=\({every}\) CLUSTER_PROCESSES=\({cluster}\)$",
    "tests/monitoring/check.py": r"^PROCESSES = \({quoted}\)",
}
# Files of Prometheus: the label names a process.
LABELLED = "compose/prometheus/rules/alerts.yml"
LABEL = re.compile(r'\bprocess="([^"]*)"')
# Places that count targets: those of every node only.
MISSED = r'process!~"\|{names}"}}\) < {count}\b'
UNIT = "deploy/systemd/processes/{name}.conf"

# Rights of callers: rows of kCallRights, and the pages that list them.
RIGHT = re.compile(r'\{"(?P<process>[a-z*-]+)", "[A-Za-z]+/(?P<method>[A-Za-z]+)", "(?P<callers>[a-z*|-]+)"\}')
METHOD = re.compile(r"`([A-Za-z]+)`")
CALLS, RIGHTS, STREAMS = "docs/design.md", "SECURITY.md", "docs/behaviour/streams.md"
CALLS_HEAD, RIGHTS_HEAD, STREAMS_HEAD = "| from | to | call | for |", "| process | may call |", "| call | process that may |"
NO_PROCESS = ("views", "splitletctl")
STREAM_CALLS = ("OpenStream", "RunCommand")


class Process(NamedTuple):
    name: str
    table: str
    views: str
    port: str
    owns: str
    of_cluster: bool


def processes(text):
    """The rows of the table in libs/base/processes.h."""
    return [Process(m["name"], m["table"] or "-", m["views"].replace("|", ",") or "-", m["port"],
                    f"`{m['table']}`" if m["table"] else "nothing", ROW_OF_CLUSTER in m["rest"])
            for m in ROW.finditer(re.sub(r",\s+", ", ", text))]


def rights(text):
    """(caller, process, method) of each row of kCallRights; "all" for each process."""
    return {(caller.replace("*", "all"), m["process"].replace("*", "all"), m["method"])
            for m in RIGHT.finditer(re.sub(r",\s+", ", ", text)) for caller in m["callers"].split("|")}


def rows_below(text, head):
    """The cells of the table with this head line."""
    lines = text.split("\n")
    for line in lines[lines.index(head) + 2:] if head in lines else []:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def calls_of(text):
    """The calls in the table of docs/design.md, as (caller, process, method)."""
    return {(caller, to, method) for start, to, calls, _ in rows_below(text, CALLS_HEAD) if start not in NO_PROCESS
            for caller in start.split(", ") for method in METHOD.findall(calls)}


def rights_of(text):
    """The calls in the table of SECURITY.md, as (caller, process, method)."""
    return {(caller, part.split()[0], method) for caller, calls in rows_below(text, RIGHTS_HEAD)
            for part in calls.split(";") for method in METHOD.findall(part)}


def streams_of(text):
    """The calls in the table of docs/behaviour/streams.md, as (caller, process, method)."""
    return {(caller, "pod-worker", method) for call, callers in rows_below(text, STREAMS_HEAD)
            for method in METHOD.findall(call) for caller in callers.split(", ")}


def check_rights(read):
    """Checks that the pages and the table give the same rights."""
    have = rights(read(TABLE))
    streams = {right for right in have if right[2] in STREAM_CALLS}
    for path, said, want in ((CALLS, calls_of(read(CALLS)), have), (RIGHTS, rights_of(read(RIGHTS)), have),
                             (STREAMS, streams_of(read(STREAMS)), streams)):
        for caller, process, method in sorted(want - said):
            yield path, 1, f"{TABLE} lets {caller} call {method} of {process}, and the page does not say so"
        for caller, process, method in sorted(said - want):
            yield path, 1, f"the page lets {caller} call {method} of {process}, and {TABLE} does not"


def check(root):
    def read(path):
        full = os.path.join(root, path)
        if not os.path.exists(full):
            return ""
        with open(full, encoding="utf-8") as file:
            return file.read()

    yield from check_rights(read)
    rows = processes(read(TABLE))
    if not rows:
        return
    for path, pattern in EACH.items():
        text = read(path)
        for row in rows:
            want = pattern.format(**{key: re.escape(str(value)) for key, value in row._asdict().items()})
            if not re.search(want, text, re.MULTILINE):
                yield path, 1, f"{row.name} does not stand here as {TABLE} has it ({want})"
    names = [row.name for row in rows]
    for path, pattern in ALL.items():
        want = pattern.format(names=" ".join(names), quoted=", ".join(f'"{name}"' for name in names),
                              every=" ".join(row.name for row in rows if not row.of_cluster),
                              cluster=" ".join(row.name for row in rows if row.of_cluster))
        if not re.search(want, read(path), re.MULTILINE):
            yield path, 1, f"the processes are not those of {TABLE} ({want})"
    for name in names:
        if not os.path.exists(os.path.join(root, UNIT.format(name=name))):
            yield UNIT.format(name=name), 1, f"{TABLE} has {name}, and it has no unit"
    alerts = read(LABELLED)
    if not re.search(MISSED.format(names="\\|".join(row.name for row in rows if row.of_cluster),
                                   count=sum(not row.of_cluster for row in rows)), alerts):
        yield LABELLED, 1, f"what is missed are not the processes of every node in {TABLE}"
    for match in LABEL.finditer(alerts):
        if match[1] not in names:
            yield LABELLED, alerts[:match.start()].count("\n") + 1, f"{TABLE} has no process {match[1]}"
