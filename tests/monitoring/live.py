#!/usr/bin/env python3
"""Asks a Prometheus beside a running stack every expression of every dashboard and rule.

    live.py http://127.0.0.1:9090 [SECONDS]

Each must be answered without an error; each series that one names must be there, unless it counts what happens only
sometimes; each panel must have data, unless a healthy node has none for it. Waits up to SECONDS (90) for that.
"""

import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import check  # noqa: E402

# Panels without data on a healthy node: failures, refusals, alerts.
QUIET = {
    "Calls that failed", "Calls that failed, by caller", "Refusals", "Why containers wait", "Containers that ended",
    "Refused, preempted, orphaned", "Alerts", "Hits", "Removed by gc", "Image pull", "Removals that failed",
    "CRI calls that failed", "Starts of processes", "Messages that say nothing new"}
# The fake runtime of the integration test gives these values, which a healthy node may lack.
RARE = {"kubelet_image_pull_duration_seconds", "splitlet_gc_errors_total"}


def ask(url, expression):
    query = urllib.parse.urlencode({"query": check.without_variables(expression)})
    try:
        with urllib.request.urlopen(f"{url}/api/v1/query?{query}", timeout=10) as answer:
            return json.load(answer)["data"]["result"], None
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        # A Prometheus that is not ready yet answers in plain text.
        return [], json.loads(text).get("error", str(error)) if text.startswith("{") else text or str(error)
    except urllib.error.URLError as error:
        return [], str(error)


def wanted():
    """(place, expression, may be empty) of all queries."""
    for path, text in check.files_below("compose/grafana/dashboards", ".json").items():
        for where, expression in check.expressions_of(json.loads(text)):
            yield f"{path}: {where}", expression, where.split('"')[1] in QUIET
    for path, text in check.files_below("compose/prometheus/rules", ".yml").items():
        for kind, name, expression in check.rules_of(text):
            yield f"{path}: {name}", expression, kind == "alert" or name.endswith("errors:rate5m")


def sometimes():
    """Metric families that are absent on some nodes."""
    lists = [check.read("tests", "integration", "metrics", process + ".txt") for process in check.PROCESSES]
    always = {line.split(" ")[0] for text in lists for line in text.splitlines() if not line.startswith("?")}
    return RARE | {line.split(" ")[1] for text in lists for line in text.splitlines() if line.startswith("?")} - always


def is_rare(name, rare):
    return name in rare or re.sub("_(bucket|sum|count)$", "", name) in rare


def findings(url, asked):
    rare = sometimes()
    for where, expression, may_be_empty in asked:
        result, error = ask(url, expression)
        if error:
            yield f"{where}: {error}"
        elif not result and not may_be_empty and not all(is_rare(name, rare) for name, _ in check.selectors(expression)):
            yield f"{where}: no data for {expression}"
    series = {name for _, expression, _ in asked for name, _ in check.selectors(expression)}
    for name in sorted(series - {"ALERTS"}):
        if not is_rare(name, rare) and not name.endswith("errors:rate5m") and not ask(url, f"count({name})")[0]:
            yield f"{name}: no such series"


def main():
    url = sys.argv[1]
    deadline = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 90)
    asked = list(wanted())
    found = list(findings(url, asked))
    while found and time.monotonic() < deadline:
        time.sleep(3)
        found = list(findings(url, asked))
    for finding in found:
        print(finding)
    empty = sorted({where for where, expression, quiet in asked
                    if quiet and ".json" in where and not ask(url, expression)[0]})
    print(f"{len(asked)} expressions asked, {len(found)} findings; panels without data now: {', '.join(empty) or 'none'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
