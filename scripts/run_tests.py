#!/usr/bin/env python3
"""Builds and runs tests; the last line is "N passed, N failed". Arguments go to ctest: run_tests.py -R pleg

Each level runs in the preset where it shows most, or, with PRESET set, all levels run in that one:

    release   e2e and chaos, with the programs that users run; the simulation for all seeds
    asan      unit and integration tests, and the simulation for a few seeds
    tsan      the tests of what has threads

e2e tests wait most of the time: they run beside what is built and tested in the other presets, which leaves them the
processor. Chaos measures seconds, so it runs last, with nothing beside.

TEST_MINUTES limits a run of all presets. It is counted from TEST_BEGAN (seconds of /proc/uptime, default: now). When
time gets short, the run leaves out the rest of the seeds, then chaos, then the build of the benchmarks, and prints a
line "REDUCED: ...".

Integration and e2e tests meet real programs, so one that fails is tried once more; each that needed it is listed,
because such a test is a bug until shown otherwise. A finding of a sanitizer fails in any try.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEVELS = ("unit", "simulation", "integration", "e2e", "chaos")
CORES = os.cpu_count() or 1
# Integration tests wait for other processes a third of the time.
PARALLEL = {"integration": CORES + 1, "chaos": 1}
TRIED_TWICE = ("integration", "threads", "e2e", "chaos")
NEEDS_ROOT = ("e2e", "chaos")
FINDING = re.compile(r"Sanitizer: |: runtime error: ")
SHOWN_CASES = 3
SHOWN_FAILURES = 8  # these with three lines, further ones with one line each
# Minutes that the last steps take on a slow machine, reserved for them.
CHAOS, BENCHMARKS, RESERVE = 15, 4, 1
SCRATCH_ROOM = 8 << 30
SCRATCH_PREFIX = "st-"  # short: paths of sockets have 107 bytes


class Result:
    """The tests of one label in one preset, by result."""

    def __init__(self, preset, label):
        self.preset, self.label = preset, label
        self.passed, self.failed, self.skipped, self.second_tries, self.findings = [], [], [], [], []
        self.outputs = {}  # name of a failed test -> its output
        self.reduced = []

    def read(self, junit, text):
        """`junit`: the report of ctest; `text`: all that it printed, with every try."""
        absent = attempts(text, "Not Run")  # the program does not exist
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
        self.findings = [name for name in with_findings(text) if name not in self.failed]

    def bad(self):
        return self.failed + self.findings


def attempts(text, how):
    """Names of the tests with a try of this result; `how` is a pattern of ctest's output."""
    return sorted(set(re.findall(rf"Test +#\d+: (\S+) .*\*\*\*(?:{how})", text)))


def with_findings(text):
    """Names of the tests with a sanitizer report in ctest's output, in any try."""
    name, found = "?", {}
    for line in text.splitlines():
        result = re.search(r"Test +#\d+: (\S+) ", line)
        if result:
            name = result.group(1)
        elif FINDING.search(line):
            found[name] = True
    return list(found)


def failed_cases(output):
    """Failed cases in GoogleTest's lists, without duplicates."""
    return list(dict.fromkeys(re.findall(r"^\[  FAILED  \] (\w+(?:/\w+)?\.\w+(?:/\w+)?)", output, re.MULTILINE)))


def how_to_run(preset, name, output):
    """The command that runs a failed test alone, limited to its failed cases if they are few."""
    cases = failed_cases(output)
    case = " '" + ":".join(cases) + "'" if 0 < len(cases) <= SHOWN_CASES else ""
    return f"scripts/one_test.py {preset} {name}{case}"


def plan_end(left, root=True):
    """Returns (seconds for the seeds, whether benchmarks are built). `left`: minutes, None without a limit; then the
    seeds have none either. Without root there is no chaos to leave time for."""
    if left is None:
        return None, True
    chaos = CHAOS if root else 0
    return max(0, int((left - chaos - BENCHMARKS - RESERVE) * 60)), left >= BENCHMARKS + RESERVE


def failures(results):
    """Three lines for each failed test, or one line if many tests failed, so that the end of the output shows all."""
    failed = [(result, name) for result in results for name in result.bad()]
    lines = []
    for result, name in failed:
        why = " (a sanitizer found something)" if name in result.findings else ""
        file = f"{name}.log" if name in result.outputs else f"{result.label}.txt"
        log = f"log: build/{result.preset}/test-reports/{file}"
        run = f"run: {how_to_run(result.preset, name, result.outputs.get(name, ''))}"
        if len(failed) <= SHOWN_FAILURES:
            lines += [f"FAILED: {result.preset}:{name}{why}", f"  {log}", f"  {run}"]
        else:
            lines.append(f"FAILED: {result.preset}:{name}{why}  {log}  {run}")
    return lines


def summary(results, broken, reduced, skipped):
    """The last lines of the output."""
    passed = sum(1 for result in results for name in result.passed if name not in result.findings)
    failed = sum(len(result.bad()) for result in results) + len(broken)
    lines = []
    skipped = skipped + [f"{result.preset}:{name}" for result in results for name in result.skipped]
    if skipped:
        lines.append("SKIPPED: " + " ".join(skipped))
    second = [f"{result.preset}:{name}" for result in results for name in result.second_tries]
    if second:
        lines.append("NEEDED A SECOND TRY (look into it): " + " ".join(second))
    lines += ["REDUCED: " + what for what in reduced + [what for result in results for what in result.reduced]]
    lines += failures(results) + [f"FAILED: {what}" for what in broken]
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
    """Directories of tests are in memory, if there is room for them: on a disk, tests that sync files wait for each
    other."""
    with open("/proc/meminfo", encoding="ascii") as file:
        available = int(re.search(r"^MemAvailable: +(\d+)", file.read(), re.MULTILINE).group(1)) << 10
    try:
        usage = shutil.disk_usage("/dev/shm")
    except OSError:
        return "/tmp"
    in_memory = os.path.ismount("/dev/shm") and min(usage.free, available) >= SCRATCH_ROOM
    return "/dev/shm" if in_memory else "/tmp"


def remove(folder):
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=False)


def make_scratch(root):
    """A directory that other users may enter, as some tests run programs as such. Directories of runs that were killed
    are removed."""
    for folder in glob.glob(f"{root}/{SCRATCH_PREFIX}*-*"):
        pid = os.path.basename(folder).split("-")[1]
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}") and os.lstat(folder).st_uid == os.geteuid():
            remove(folder)
    scratch = tempfile.mkdtemp(prefix=f"{SCRATCH_PREFIX}{os.getpid()}-", dir=root)
    os.chmod(scratch, 0o755)
    return scratch


class Run:
    """Steps of builds and tests, taken by the main thread and by lanes beside it."""

    def __init__(self, arguments, budget, scratch):
        self.arguments, self.budget = arguments, budget
        self.environment = dict(os.environ, TMPDIR=scratch)
        self.results, self.broken, self.reduced, self.skipped, self.minutes = [], [], [], [], []
        self.output = threading.Lock()
        self.children, self.lanes = set(), []

    def say(self, line):
        with self.output:
            sys.stdout.write(line if line.endswith("\n") else line + "\n")
            sys.stdout.flush()

    def stream(self, command, prefix, log_path, environment=None):
        """Runs a command and prints what it prints, also into a file; returns its exit code and the processor seconds of it
        and its children. All have the session of this script, since Linux shares the processor among sessions first and
        only within each by niceness (sched_autogroup)."""
        with open(log_path, "w", encoding="utf-8") as log, subprocess.Popen(
                command, cwd=TREE, env=environment or self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace", process_group=0) as process:
            self.children.add(process)
            for line in process.stdout:
                self.say(prefix + line)
                log.write(line)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.children.discard(process)
        return process.returncode, usage.ru_utime + usage.ru_stime

    def beside(self, name, step, *arguments, **options):
        """Starts a lane: a step beside the main thread. An exception in it is a failure of the run."""
        def guarded():
            try:
                step(*arguments, **options)
            except BaseException as error:  # pylint: disable=broad-except
                self.broken.append(f"{name}: {error!r}")
        lane = threading.Thread(target=guarded)
        self.lanes.append(lane)
        lane.start()
        return lane

    def close(self):
        """Ends the child processes that still run after an aborted run."""
        for process in list(self.children):
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        for lane in self.lanes:
            lane.join()

    def took(self, step, begin, seconds):
        self.minutes.append(f"{step} {(time.monotonic() - begin) / 60:.1f} ({seconds / 60:.1f})")

    def build(self, preset, *targets, nice=0):
        """False if a build step fails."""
        self.say(f"\n=== {preset}: build")
        begin = time.monotonic()
        log = f"build/{preset}-build.log"
        code, seconds = self.stream(["nice", "-n", str(nice), f"{TREE}/scripts/build.sh", preset, *targets], "", f"{TREE}/{log}")
        self.took(f"{preset} build", begin, seconds)
        if code != 0:
            self.broken.append(f"{preset}: build; log: {log}; run: scripts/build.sh {preset} {' '.join(targets)}")
        return code == 0

    def check_labels(self, preset):
        """Checks that each test has a level, because a test without a level would never run."""
        listed = subprocess.run(["ctest", "--test-dir", f"build/{preset}", "-N", "-LE", f"^({'|'.join(LEVELS)})$"],
                                cwd=TREE, capture_output=True, text=True, check=True).stdout
        self.broken += [f"{preset}: {name} has no level ({', '.join(LEVELS)})"
                        for name in re.findall(r"^ *Test *#\d+: (.*)$", listed, re.MULTILINE)]

    def test(self, preset, label, prefix="", environment=None, again=True):
        if label in NEEDS_ROOT and os.geteuid() != 0:
            self.skipped.append(f"{label} (runs containers, which needs root)")
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
        command += ["--repeat", "until-pass:2"] if label in TRIED_TWICE and again else []
        _, seconds = self.stream(command + self.arguments, prefix, text, dict(self.environment, **(environment or {})))
        self.took(f"{preset} {label}", begin, seconds)
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
        self.results.append(result)

    def all_in(self, preset):
        """All levels in one preset, one after the other."""
        if self.build(preset, "all"):
            self.check_labels(preset)
            for label in LEVELS:
                self.test(preset, label)

    def instrumented(self):
        """The presets asan and tsan, which leave the processor to the e2e tests. Integration tests wait too, so tsan is
        compiled beside them."""
        waiting = simulation = None
        if self.build("asan", "unit_tests", "integration_tests", "simulation_tests", nice=19):
            self.check_labels("asan")
            self.test("asan", "unit")
            waiting = self.beside("asan:integration", self.test, "asan", "integration", "integration| ")
        tsan = self.build("tsan", "threads_tests", nice=19)
        if waiting:
            waiting.join()
            simulation = self.beside("asan:simulation", self.test, "asan", "simulation", "simulation| ")
        if tsan:
            self.test("tsan", "threads")
        if simulation:
            simulation.join()

    def each_where_it_shows_most(self):
        built = self.build("release", "programs", "e2e_tests", "chaos_tests", "simulation_tests")
        if built:
            self.check_labels("release")
            self.beside("release:e2e", self.test, "release", "e2e", "e2e| ")
        self.instrumented()
        if built:
            self.end()

    def end(self):
        seconds, benchmarks = plan_end(self.budget.left(uptime()), os.geteuid() == 0)
        limit = {} if seconds is None else {"SIMULATION_SECONDS": str(seconds)}
        self.beside("release:simulation", self.test, "release", "simulation", "simulation| ", limit)
        if benchmarks:
            self.build("release", "benchmarks")
        else:
            self.reduced.append("the benchmarks were not built")
        for each in self.lanes:
            each.join()
        left = self.budget.left(uptime())
        if left is None or left >= CHAOS + RESERVE:
            self.test("release", "chaos", again=left is None or left >= 2 * CHAOS + RESERVE)
        else:
            self.reduced.append("chaos")


def cache_line(log):
    """One line with the hit rate of the compiler cache in this run."""
    shown = subprocess.run(["ccache", "--show-log-stats"], env=dict(os.environ, CCACHE_STATSLOG=log), capture_output=True,
                           text=True, check=False).stdout
    hits = re.search(r"Hits: +(\d+) / +(\d+) \(([0-9. %]+)\)", shown)
    size = subprocess.run(["ccache", "--show-stats"], capture_output=True, text=True, check=False).stdout
    size = re.search(r"Cache size \(GB\): +([0-9.]+) / +([0-9.]+)", size)
    return ("compiler cache: " + (f"{hits.group(1)} of {hits.group(2)} found ({hits.group(3)})" if hits else "not asked") +
            (f", {size.group(1)} of {size.group(2)} GB used" if size else ""))


def main():
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    budget = Budget(os.environ, uptime())
    os.makedirs(f"{TREE}/build", exist_ok=True)
    os.environ["CCACHE_STATSLOG"] = log = f"{TREE}/build/ccache-stats.log"
    if os.path.exists(log):
        os.remove(log)
    scratch = make_scratch(scratch_root())
    run = Run(sys.argv[1:], budget, scratch)
    preset = os.environ.get("PRESET")
    try:
        if preset:
            run.all_in(preset)
        else:
            run.each_where_it_shows_most()
    except BaseException as error:
        run.broken.append(f"broken off: {error!r}")
        raise
    finally:
        run.close()
        if os.environ.get("SPLITLET_KEEP_TEST_DIRS"):
            print(f"directories of tests: {scratch}")
        else:
            remove(scratch)
        print(f"\nminutes (of processors): {', '.join(run.minutes)}; all {(uptime() - budget.began) / 60:.1f}")
        print(cache_line(log))
        print("\n".join(summary(run.results, run.broken, run.reduced, run.skipped)), flush=True)
    return 1 if run.broken or any(result.bad() for result in run.results) else 0


if __name__ == "__main__":
    sys.exit(main())
