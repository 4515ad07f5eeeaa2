#!/usr/bin/env python3
"""Builds and runs tests; the last line is "N passed, N failed". Arguments go to ctest: run_tests.py -R pleg

Each level runs in the preset where it shows most, or, with PRESET set, all levels run in that one:

    release   e2e and chaos, with the programs that users run; the simulation for all seeds
    asan      unit and integration tests, and the simulation for a few seeds
    tsan      the tests of what has threads

e2e tests wait most of the time: they run beside what is built and tested in the other presets, which leaves them the
processor. Tests that measure seconds (label "alone") and chaos run last, with nothing beside.

TEST_MINUTES limits the whole run, counted from TEST_BEGAN (seconds of /proc/uptime, default: now). When time gets
short, the rest of the seeds is left out, then chaos, then the build of the benchmarks, with a line "REDUCED: ...".

Integration and e2e tests meet real programs, so one that fails is tried once more; each that needed it is listed,
because such a test is a bug until shown otherwise. A finding of a sanitizer fails in any try.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEVELS = ("unit", "simulation", "integration", "e2e", "chaos")
CORES = os.cpu_count() or 1
# Their processes wait for each other a third of the time.
PARALLEL = {"integration": CORES + 1, "chaos": 1, "alone": 1}
TRIED_TWICE = ("integration", "threads", "e2e", "alone", "chaos")
NEEDS_ROOT = ("e2e", "alone", "chaos")
FINDING = re.compile(r"Sanitizer: |: runtime error: ")
SHOWN_CASES = 3
# Minutes that each of the last steps takes on a slow machine, in the order in which they are given up, and what stays
# for the rest.
SEEDS, CHAOS, BENCHMARKS, RESERVE = 4, 10, 4, 1
SCRATCH_ROOM = 8 << 30


class Result:
    """The tests of one label in one preset, by how they ended."""

    def __init__(self, preset, label):
        self.preset, self.label = preset, label
        self.passed, self.failed, self.skipped, self.second_tries = [], [], [], []
        self.outputs = {}  # name of a failed test -> its output
        self.finding = None  # path of the report in which a sanitizer found something
        self.reduced = []

    def read(self, junit, text):
        """`junit`: the report of ctest; `text`: all that it printed, with every try."""
        absent = attempts(text, "Not Run")  # the program is missing
        for case in xml.etree.ElementTree.fromstring(junit).iter("testcase"):
            name, status = case.get("name"), case.get("status")
            if status == "run":
                self.passed.append(name)
            elif status == "fail" or name in absent:
                self.failed.append(name)
                self.outputs[name] = case.findtext("system-out") or "the program of this test is missing\n"
            else:
                self.skipped.append(name)
            self.reduced += re.findall(r"^REDUCED: (.*)$", case.findtext("system-out") or "", re.MULTILINE)
        self.second_tries = [name for name in attempts(text, "Failed|Exception|Timeout") if name in self.passed]


def attempts(text, how):
    """Names of the tests of which a try ended so; `how` is a pattern of what ctest prints."""
    return sorted(set(re.findall(rf"Test +#\d+: (\S+) .*\*\*\*(?:{how})", text)))


def failed_cases(output):
    """Cases that GoogleTest lists as failed, each once."""
    return list(dict.fromkeys(re.findall(r"^\[  FAILED  \] (\w+(?:/\w+)?\.\w+(?:/\w+)?)", output, re.MULTILINE)))


def how_to_run(preset, name, output):
    """The command that runs a failed test alone: its failed cases, where they are few."""
    cases = failed_cases(output)
    case = " '" + ":".join(cases) + "'" if 0 < len(cases) <= SHOWN_CASES else ""
    return f"scripts/one_test.py {preset} {name}{case}"


def plan_end(left):
    """What the last steps may take: (seconds for seeds or None for all, whether chaos runs, whether benchmarks are
    built). `left`: minutes, None without a limit."""
    if left is None:
        return None, True, True
    benchmarks = left >= BENCHMARKS + RESERVE
    chaos = left >= CHAOS + BENCHMARKS + RESERVE
    seeds = left - CHAOS - BENCHMARKS - RESERVE
    return (None if seeds >= SEEDS else max(0, int(seeds * 60))), chaos, benchmarks


def summary(results, broken, reduced):
    """The lines that end the output."""
    lines, passed, failed = [], 0, len(broken)
    for result in results:
        passed += len(result.passed)
        failed += len(result.failed) + (1 if result.finding else 0)
    skipped = [f"{r.preset}:{name}" for r in results for name in r.skipped]
    if skipped:
        lines.append("SKIPPED: " + " ".join(skipped))
    second = [f"{r.preset}:{name}" for r in results for name in r.second_tries]
    if second:
        lines.append("NEEDED A SECOND TRY (look into it): " + " ".join(second))
    lines += ["REDUCED: " + what for what in reduced + [what for r in results for what in r.reduced]]
    for result in results:
        for name in result.failed:
            lines.append(f"FAILED: {result.preset}:{name}")
            lines.append(f"  log: build/{result.preset}/test-reports/{name}.log")
            lines.append(f"  run: {how_to_run(result.preset, name, result.outputs[name])}")
        if result.finding:
            lines.append(f"FAILED: {result.preset}:{result.label}: A SANITIZER FOUND SOMETHING: {result.finding}")
    lines += [f"FAILED: {what}" for what in broken]
    lines.append(f"{passed} passed, {failed} failed")
    return lines


def uptime():
    with open("/proc/uptime", encoding="ascii") as file:
        return float(file.read().split()[0])


class Budget:
    """The time that is left of TEST_MINUTES."""

    def __init__(self, environment, now):
        minutes = environment.get("TEST_MINUTES")
        self.began = float(environment.get("TEST_BEGAN") or now)
        self.limit = float(minutes) if minutes else None

    def left(self, now):
        return None if self.limit is None else self.limit - (now - self.began) / 60


def scratch_root():
    """Where directories of tests are: in memory, if there is room for them, since a disk makes those that sync files
    wait for each other."""
    with open("/proc/meminfo", encoding="ascii") as file:
        available = int(re.search(r"^MemAvailable: +(\d+)", file.read(), re.MULTILINE).group(1)) << 10
    try:
        usage = shutil.disk_usage("/dev/shm")
    except OSError:
        return "/tmp"
    in_memory = os.path.ismount("/dev/shm") and min(usage.free, available) >= SCRATCH_ROOM
    return "/dev/shm" if in_memory else "/tmp"


class Run:
    """Steps of builds and tests, which may be taken by two threads."""

    def __init__(self, arguments, budget, scratch):
        self.arguments, self.budget = arguments, budget
        self.environment = dict(os.environ, TMPDIR=scratch)
        self.results, self.broken, self.reduced, self.minutes = [], [], [], []
        self.output = threading.Lock()

    def say(self, line):
        with self.output:
            sys.stdout.write(line if line.endswith("\n") else line + "\n")
            sys.stdout.flush()

    def stream(self, command, prefix, log=None, environment=None):
        """Runs a command and prints what it prints, also into `log`; returns its exit code."""
        process = subprocess.Popen(command, cwd=TREE, env=environment or self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        for line in process.stdout:
            self.say(prefix + line)
            if log:
                log.write(line)
        return process.wait()

    def took(self, step, begin):
        self.minutes.append(f"{step} {(time.monotonic() - begin) / 60:.1f}")

    def build(self, preset, *targets, nice=0):
        """False when something does not compile."""
        self.say(f"\n=== {preset}: build")
        begin = time.monotonic()
        code = self.stream(["nice", "-n", str(nice), f"{TREE}/scripts/build.sh", preset, *targets], "")
        self.took(f"{preset} build", begin)
        if code != 0:
            self.broken.append(f"{preset}: build (scripts/build.sh {preset} {' '.join(targets)})")
        return code == 0

    def check_labels(self, preset):
        """A test without a level would never run."""
        listed = subprocess.run(["ctest", "--test-dir", f"build/{preset}", "-N", "-LE", f"^({'|'.join(LEVELS)})$"],
                                cwd=TREE, capture_output=True, text=True, check=True).stdout
        self.broken += [f"{preset}: {name} has no level ({', '.join(LEVELS)})"
                        for name in re.findall(r"^ *Test *#\d+: (.*)$", listed, re.MULTILINE)]

    def test(self, preset, label, prefix="", environment=None):
        if label in NEEDS_ROOT and os.geteuid() != 0:
            self.say(f"\n=== {label} tests SKIPPED: they run containers, which needs root")
            return
        self.say(f"\n=== {preset}: {label} tests")
        begin = time.monotonic()
        reports = f"{TREE}/build/{preset}/test-reports"
        os.makedirs(reports, exist_ok=True)
        junit, text = f"{reports}/{label}.xml", f"{reports}/{label}.txt"
        if os.path.exists(junit):
            os.remove(junit)
        command = ["ctest", "--test-dir", f"build/{preset}", "-L", f"^{label}$", "--no-tests=ignore", "--output-on-failure",
                   "--test-output-size-passed", "65536", "--test-output-size-failed", "8388608",
                   "--output-junit", junit, "--parallel", str(PARALLEL.get(label, CORES))]
        command += ["-LE", "^alone$"] if label != "alone" else []
        command += ["--repeat", "until-pass:2"] if label in TRIED_TWICE else []
        with open(text, "w", encoding="utf-8") as log:
            self.stream(command + self.arguments, prefix, log, dict(self.environment, **(environment or {})))
        self.took(f"{preset} {label}", begin)
        self.keep(Result(preset, label), junit, text)

    def keep(self, result, junit, text):
        with open(text, encoding="utf-8") as file:
            printed = file.read()
        try:
            with open(junit, encoding="utf-8", errors="replace") as file:
                result.read(file.read(), printed)
        except (OSError, xml.etree.ElementTree.ParseError) as error:
            self.broken.append(f"{result.preset}:{result.label}: ctest broke off ({error})")
        for name, output in result.outputs.items():
            with open(f"{os.path.dirname(text)}/{name}.log", "w", encoding="utf-8") as file:
                file.write(output)
        if FINDING.search(printed):
            result.finding = os.path.relpath(text, TREE)
        self.results.append(result)

    def all_in(self, preset):
        """All levels in one preset, one after the other."""
        if self.build(preset, "all"):
            self.check_labels(preset)
            for label in ("unit", "simulation", "integration", "e2e", "alone", "chaos"):
                self.test(preset, label)

    def instrumented(self):
        """Beside the e2e tests."""
        if self.build("asan", "unit_tests", "integration_tests", "simulation_tests", nice=19):
            self.check_labels("asan")
            for label in ("unit", "integration", "simulation"):
                self.test("asan", label)
        if self.build("tsan", "threads_tests", nice=19):
            self.test("tsan", "threads")

    def each_where_it_shows_most(self):
        built = self.build("release", "programs", "e2e_tests", "simulation_tests")
        beside = threading.Thread(target=self.test, args=("release", "e2e", "e2e| "))
        if built:
            self.check_labels("release")
            beside.start()
        self.instrumented()
        if built:
            beside.join()
            self.end()

    def end(self):
        seconds, chaos, benchmarks = plan_end(self.budget.left(uptime()))
        seeds = threading.Thread(target=self.test, args=("release", "simulation", "simulation| "), kwargs={
            "environment": {} if seconds is None else {"SIMULATION_SECONDS": str(seconds)}})
        seeds.start()
        if benchmarks:
            self.build("release", "benchmarks")
        else:
            self.reduced.append("the benchmarks were not built")
        seeds.join()
        self.test("release", "alone")
        if chaos:
            self.test("release", "chaos")
        else:
            self.reduced.append("chaos")


def cache_line(log):
    """What the compiler cache was good for in this run."""
    shown = subprocess.run(["ccache", "--show-log-stats"], env=dict(os.environ, CCACHE_STATSLOG=log), capture_output=True,
                           text=True, check=False).stdout
    hits = re.search(r"Hits: +(\d+) / +(\d+)(?: \(([0-9. %]+)\))?", shown)
    size = subprocess.run(["ccache", "--show-stats"], capture_output=True, text=True, check=False).stdout
    size = re.search(r"Cache size \(GB\): +([0-9.]+) / +([0-9.]+)", size)
    return ("compiler cache: " + (f"{hits.group(1)} of {hits.group(2)} found ({hits.group(3)})" if hits else "not asked") +
            (f", {size.group(1)} of {size.group(2)} GB used" if size else ""))


def main():
    begin = uptime()
    budget = Budget(os.environ, begin)
    scratch = tempfile.mkdtemp(prefix="st", dir=scratch_root())
    os.makedirs(f"{TREE}/build", exist_ok=True)
    os.environ["CCACHE_STATSLOG"] = log = f"{TREE}/build/ccache-stats.log"
    if os.path.exists(log):
        os.remove(log)
    run = Run(sys.argv[1:], budget, scratch)
    preset = os.environ.get("PRESET")
    try:
        if preset:
            run.all_in(preset)
        else:
            run.each_where_it_shows_most()
    finally:
        if not os.environ.get("SPLITLET_KEEP_TEST_DIRS"):
            subprocess.run(["rm", "-rf", "--one-file-system", scratch], check=False)
    print(f"\nminutes: {', '.join(run.minutes)}; all {(uptime() - budget.began) / 60:.1f}")
    print(cache_line(log))
    print("\n".join(summary(run.results, run.broken, run.reduced)))
    return 1 if run.broken or any(result.failed or result.finding for result in run.results) else 0


if __name__ == "__main__":
    sys.exit(main())
