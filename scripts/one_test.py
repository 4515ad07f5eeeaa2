#!/usr/bin/env python3
"""Runs one test as ctest does, with its environment; what it prints is not held back.

    one_test.py PRESET NAME [FILTER]

NAME is ctest's: pod_worker_2 is one shard, pod_worker means all shards of pod_worker. FILTER chooses cases of GoogleTest.
scripts/build.sh PRESET builds what it runs.
"""

import json
import os
import re
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def find(tests, name):
    """The test of that name, or the first of its shards; None if there is neither."""
    named = {test["name"]: test for test in tests}
    return named.get(name) or named.get(f"{name}_1")


def invocation(test, filters):
    """(command, variables to add, folder) of a test in ctest's JSON. Cases that are chosen run without shards."""
    properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
    variables = dict(variable.split("=", 1) for variable in properties.get("ENVIRONMENT", []))
    command = list(test["command"])
    if filters:
        command += [f"--gtest_filter={filters}"]
        variables = {name: value for name, value in variables.items() if not re.match("GTEST_(TOTAL|SHARD)", name)}
    return command, variables, properties.get("WORKING_DIRECTORY", ".")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    preset, name, filters = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else ""
    folder = f"{TREE}/build/{preset}"
    if not os.path.isfile(f"{folder}/build.ninja"):
        sys.exit(f"build/{preset} is not there: scripts/build.sh {preset}")
    listed = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], capture_output=True, text=True,
                            check=True).stdout
    test = find(json.loads(listed)["tests"], name)
    if test is None:
        sys.exit(f"{preset} has no test {name}: ctest --test-dir build/{preset} -N lists them")
    if "command" not in test:
        program = re.sub(r"_\d+$", "", name) + "_test"
        sys.exit(f"{name} is not built: scripts/build.sh {preset} {program}")
    command, variables, where = invocation(test, filters or ("" if test["name"] == name else "*"))
    os.chdir(where)
    os.execvpe(command[0], command, dict(os.environ, **variables))


if __name__ == "__main__":
    main()
