#!/usr/bin/env python3
"""What is monitored is what is exported, and all of it is documented.

The lists in tests/integration/metrics/ are held equal to real processes by an integration test. Against them:
docs/metrics.md has each metric with its kind and labels, in the section of its process; every metric and label that a
rule or a dashboard asks for is exported; every alert has a test. promtool checks configuration, rules, tests of rules,
and the expressions of dashboards. Exit code 1 with a line for each finding, 77 when promtool is not installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROCESSES = ("config-source", "sync-loop", "pod-worker", "pleg", "status", "gc", "node-api")
# Labels that Prometheus itself adds, and those of our targets.
OF_PROMETHEUS = {"up": set(), "ALERTS": {"alertname", "alertstate", "severity"}}
TARGET_LABELS = {"instance", "job", "metrics_path", "process"}
# Sections of the page that are not about a single process.
SHARED_SECTIONS = {"Every process": PROCESSES, "Container runtime: every process that calls it": ("pod-worker", "pleg", "gc"),
                   "API server": ("config-source", "pod-worker", "status", "node-api")}
KEYWORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "bool", "offset", "inf", "nan"}
VARIABLES = {"$__rate_interval": "1m", "$__range": "1h", "$__interval": "15s", "$instance": ".*", "$process": ".*"}


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def exported(lists):
    """(kind, labels, processes) of each metric by name, from {process: text of its list}."""
    metrics = {}
    for process, text in lists.items():
        for line in text.splitlines():
            words = line.removeprefix("? ").split(" ")
            if not words[0]:
                continue
            labels = frozenset(words[2].split(",")) if len(words) > 2 else frozenset()
            entry = metrics.setdefault(words[0], (words[1], labels, set()))
            entry[2].add(process)
    return metrics


def documented(page):
    """(kind, labels, allowed processes) of each metric by name, from the tables of the page."""
    metrics, section = {}, ""
    for line in page.splitlines():
        if line.startswith("## "):
            section = line[3:]
        row = re.match(r"\| `([a-z][a-z0-9_]*)` \| (counter|gauge|histogram) \| ([^|]*)\|", line)
        if row:
            labels = frozenset(word for word in re.sub(r"\([^)]*\)", "", row.group(3)).replace(",", " ").split())
            metrics[row.group(1)] = (row.group(2), labels, set(SHARED_SECTIONS.get(section, (section,))))
    return metrics


def check_documents(metrics, page):
    rows = documented(page)
    for name, (kind, labels, processes) in sorted(metrics.items()):
        if name not in rows:
            yield f"docs/metrics.md: {name} is exported by {', '.join(sorted(processes))} and not documented"
            continue
        if (kind, labels) != rows[name][:2]:
            yield (f"docs/metrics.md: {name} is a {kind} with labels {sorted(labels)}, "
                   f"documented as {rows[name][0]} with {sorted(rows[name][1])}")
        for process in sorted(processes - rows[name][2]):
            yield f"docs/metrics.md: {name} is exported by {process}, and documented for others"
    for name in sorted(set(rows) - set(metrics)):
        yield f"docs/metrics.md: {name} is documented, and no process exports it"


def selectors(expression):
    """(metric, labels it is selected by) for each series that a PromQL expression names."""
    without_text = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', '""', expression)
    without_ranges = re.sub(r"\[[^\]]*\]", "", without_text)
    # Removes lists of labels: by (a, b), on (a).
    plain = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)", "", without_ranges)
    for match in re.finditer(r"([a-zA-Z_:][\w:]*)\s*(\{[^}]*\}|\()?", plain):
        name, rest = match.group(1), match.group(2) or ""
        if rest == "(" or name in KEYWORDS or plain[match.start() - 1:match.start()] in ("$", "."):
            continue
        if re.fullmatch(r"[eE]?\d*[smhdwy]?", name) or (match.start() > 0 and plain[match.start() - 1].isdigit()):
            continue
        yield name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", rest))


def grouped_labels(expression):
    """The labels after by and on."""
    found = re.findall(r"\b(?:by|on|group_left)\s*\(([^()]*)\)", expression)
    return {label.strip() for labels in found for label in labels.split(",") if label.strip()}


def family_of(name, metrics):
    """The metric family of a series, and the labels that its name implies."""
    if name in metrics and metrics[name][0] != "histogram":
        return metrics[name], set()
    for suffix, more in (("_bucket", {"le"}), ("_sum", set()), ("_count", set())):
        family = name.removesuffix(suffix)
        if family != name and metrics.get(family, ("",))[0] == "histogram":
            return metrics[family], more
    return None, set()


def check_expression(where, expression, metrics, recorded):
    known_labels = set(TARGET_LABELS) | {"le"}
    for name, labels in selectors(expression):
        if name in OF_PROMETHEUS or name in recorded:
            has = OF_PROMETHEUS.get(name, recorded.get(name))
        else:
            family, more = family_of(name, metrics)
            if family is None:
                yield f"{where}: no process exports {name}"
                continue
            has = set(family[1]) | more
        known_labels |= set(has)
        for label in sorted(labels - has - TARGET_LABELS):
            yield f"{where}: {name} has no label {label}"
    for label in sorted(grouped_labels(expression) - known_labels):
        yield f"{where}: nothing in the expression has a label {label}"


def rules_of(text):
    """(kind, name, expression) of a file of rules; the few forms of YAML that these files use."""
    rules, kind, name, expression, folded = [], None, None, [], False
    for line in text.splitlines() + ["      - end: "]:
        start = re.match(r"\s+- (\w+): ?(.*)", line)
        field = re.match(r"\s+(\w+): ?(.*)", line)
        if start:
            if kind in ("alert", "record"):
                rules.append((kind, name, " ".join(expression)))
            kind, name, expression, folded = start.group(1), start.group(2), [], False
        elif field and field.group(1) == "expr" and not folded:
            folded = field.group(2) in (">-", "|", ">")
            expression = [] if folded else [field.group(2)]
        elif folded and re.match(r" {10}\S", line):
            expression.append(line.strip())
        else:
            folded = False
    return rules


def words_of(source):
    """The arguments that splitletctl declares."""
    return set(re.findall(r'add_subcommand\(\s*"([\w-]+)"', source)) | set(re.findall(r'\{"(\w+)", "', source))


def check_commands(files, words):
    for path, text in files.items():
        for command in re.findall(r"splitletctl((?: [a-z][\w-]*)+)", text):
            unknown = [word for word in command.split() if word not in words]
            if unknown:
                yield f"{path}: there is no command splitletctl{command} ({unknown[0]})"


def check_rules(files, tests, metrics):
    rules = [(path, *rule) for path, text in files.items() for rule in rules_of(text)]
    recorded = {name: grouped_labels(expression) for _, kind, name, expression in rules if kind == "record"}
    for path, kind, name, expression in rules:
        yield from check_expression(f"{path}: {name}", expression, metrics, recorded)
        if kind == "alert" and f'alertname="{name}"' not in tests:
            yield f"{path}: {name} has no test"


def panels_of(board):
    for panel in board["panels"]:
        yield panel
        yield from panel.get("panels", [])


def expressions_of(board):
    """(place, expression) of all queries of a dashboard."""
    for panel in panels_of(board):
        for target in panel.get("targets", []):
            yield f"panel \"{panel['title']}\"", target["expr"]
    for annotation in board["annotations"]["list"]:
        yield f"annotation \"{annotation['name']}\"", annotation["expr"]


def overlap(a, b):
    return (a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and
            a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"])


def check_layout(path, board):
    """Mistakes in a dashboard that Grafana would correct silently or show as an error."""
    panels = list(panels_of(board))
    if len({panel["id"] for panel in panels}) != len(panels):
        yield f"{path}: two panels have one id"
    names = {variable["name"] for variable in board["templating"]["list"]}
    for used in sorted(set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(board))) - names):
        yield f"{path}: no variable ${used}"
    for i, panel in enumerate(panels):
        grid = panel["gridPos"]
        if grid["x"] + grid["w"] > 24:
            yield f"{path}: panel \"{panel['title']}\" is wider than the page"
        for other in panels[i + 1:]:
            if overlap(grid, other["gridPos"]):
                yield f"{path}: panels \"{panel['title']}\" and \"{other['title']}\" lie on each other"
        if panel["type"] != "row" and not panel.get("targets"):
            yield f"{path}: panel \"{panel['title']}\" asks for nothing"
        refs = [target["refId"] for target in panel.get("targets", [])]
        if len(set(refs)) != len(refs):
            yield f"{path}: panel \"{panel['title']}\" has two queries of one name"


def check_boards(boards, metrics, recorded):
    if len({board["uid"] for board in boards.values()}) != len(boards):
        yield "two dashboards have one uid"
    for path, board in sorted(boards.items()):
        yield from check_layout(path, board)
        for where, expression in expressions_of(board):
            yield from check_expression(f"{path}: {where}", expression, metrics, recorded)


def without_variables(expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def promtool(arguments, folder):
    done = subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"promtool {' '.join(arguments)}: {(done.stdout + done.stderr).strip()}"


def check_by_promtool(boards):
    folder = os.path.join(ROOT, "compose", "prometheus")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".yml"):
            yield from promtool(["check", "config", name], folder)
    for name in sorted(os.listdir(os.path.join(folder, "tests"))):
        yield from promtool(["test", "rules", os.path.join("tests", name)], folder)
    rules = [{"record": "a:b", "expr": without_variables(expression)}
             for board in boards.values() for _, expression in expressions_of(board)]
    with tempfile.TemporaryDirectory() as temporary:
        # yaml parses JSON too.
        for i, rule in enumerate(rules):
            rule["labels"] = {"number": str(i)}
        with open(os.path.join(temporary, "boards.yml"), "w", encoding="utf-8") as file:
            json.dump({"groups": [{"name": "boards", "rules": rules}]}, file)
        yield from promtool(["check", "rules", "boards.yml"], temporary)


def files_below(folder, ending):
    path = os.path.join(ROOT, folder)
    return {os.path.join(folder, name): read(folder, name) for name in sorted(os.listdir(path)) if name.endswith(ending)}


def findings():
    metrics = exported({process: read("tests", "integration", "metrics", process + ".txt") for process in PROCESSES})
    rules = files_below("compose/prometheus/rules", ".yml")
    tests = "".join(files_below("compose/prometheus/tests", ".yml").values())
    boards = {path: json.loads(text) for path, text in files_below("compose/grafana/dashboards", ".json").items()}
    recorded = {name: grouped_labels(expression)
                for text in rules.values() for kind, name, expression in rules_of(text) if kind == "record"}
    yield from check_documents(metrics, read("docs", "metrics.md"))
    yield from check_rules(rules, tests, metrics)
    yield from check_commands(rules, words_of(read("ctl", "main.cc")))
    yield from check_boards(boards, metrics, recorded)
    if shutil.which("promtool"):
        yield from check_by_promtool(boards)


def main():
    found = list(findings())
    for finding in found:
        print(finding)
    if found:
        print(f"{len(found)} findings")
        return 1
    if not shutil.which("promtool"):
        print("promtool is not installed (make setup installs it); the rest is fine")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
