#!/usr/bin/env python3
"""Tests of run_tests.py and one_test.py: counts, omitted steps, last lines of the output."""

import contextlib
import io
import os
import tempfile
import threading
import time
import unittest

import one_test
import run_tests

JUNIT = """<?xml version="1.0"?>
<testsuite name="x" tests="5">
  <testcase name="bus" classname="bus" time="1.0" status="run"><system-out>ok
REDUCED: seeds 7 to 9
</system-out></testcase>
  <testcase name="kube" classname="kube" time="1.0" status="run"><system-out>ok</system-out></testcase>
  <testcase name="pleg_2" classname="pleg_2" time="1.0" status="fail"><failure/><system-out>pleg.cc:3: Failure
[  FAILED  ] Looks.EndAtOnce (3 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Looks.EndAtOnce
</system-out></testcase>
  <testcase name="gone" classname="gone" time="0" status="notrun"><skipped/></testcase>
  <testcase name="compose" classname="compose" time="0" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
</testsuite>
"""
PRINTED = """    1/5 Test  #1: bus ..............***Failed    1.00 sec
        Test  #1: bus ..............   Passed    1.00 sec
    2/5 Test  #2: kube .............   Passed    1.00 sec
    3/5 Test  #3: pleg_2 ...........***Failed    1.00 sec
    4/5 Test  #4: gone .............***Not Run   0.00 sec
    5/5 Test  #5: compose ..........***Skipped   0.00 sec
"""


def result():
    made = run_tests.Result("asan", "unit")
    made.read(JUNIT, PRINTED)
    return made


class ResultTest(unittest.TestCase):
    def test_each_test_counts_once_by_how_it_ended(self):
        made = result()
        self.assertEqual(made.passed, ["bus", "kube"])
        self.assertEqual(made.failed, ["pleg_2", "gone"])
        self.assertEqual(made.skipped, ["compose"])
        self.assertEqual(made.second_tries, ["bus"])
        self.assertEqual(made.reduced, ["seeds 7 to 9"])

    def test_the_last_lines_name_what_failed_its_log_and_how_to_run_it(self):
        self.assertEqual(run_tests.summary([result()], ["tsan: build"], ["chaos"], ["e2e"]), [
            "SKIPPED: e2e asan:compose",
            "NEEDED A SECOND TRY (look into it): asan:bus",
            "REDUCED: chaos",
            "REDUCED: seeds 7 to 9",
            "FAILED: asan:pleg_2",
            "  log: build/asan/test-reports/pleg_2.log",
            "  run: scripts/one_test.py asan pleg_2 'Looks.EndAtOnce'",
            "FAILED: asan:gone",
            "  log: build/asan/test-reports/gone.log",
            "  run: scripts/one_test.py asan gone",
            "FAILED: tsan: build",
            "2 passed, 3 failed"])

    def test_a_finding_fails_a_test_whose_second_try_passed(self):
        made = run_tests.Result("asan", "unit")
        made.read(JUNIT, PRINTED.replace("    2/5", "==1==ERROR: AddressSanitizer: heap-use-after-free\n    2/5"))
        lines = run_tests.summary([made], [], [], [])
        self.assertIn("FAILED: asan:bus (a sanitizer found something)", lines)
        self.assertIn("  log: build/asan/test-reports/unit.txt", lines)
        self.assertEqual(lines[-1], "1 passed, 3 failed")

    def test_many_failures_have_one_line_each(self):
        made = run_tests.Result("asan", "unit")
        made.failed = [f"test_{number}" for number in range(20)]
        lines = run_tests.summary([made], [], [], [])
        self.assertEqual(len(lines), 21)
        self.assertEqual(lines[0], "FAILED: asan:test_0  log: build/asan/test-reports/unit.txt  run: scripts/one_test.py asan test_0")

    def test_many_failed_cases_are_not_listed(self):
        output = "".join(f"[  FAILED  ] Ending.Case{number}\n" for number in range(4))
        self.assertEqual(run_tests.how_to_run("tsan", "x", output), "scripts/one_test.py tsan x")

    def test_each_sort_of_report_is_a_finding(self):
        for line in ("==1==ERROR: AddressSanitizer: heap-use-after-free", "WARNING: ThreadSanitizer: data race",
                     "a.cc:3:4: runtime error: signed integer overflow", "ERROR: LeakSanitizer: detected memory leaks"):
            self.assertEqual(run_tests.with_findings(f" 1/5 Test  #1: bus ...***Failed\n{line}\n"), ["bus"])
        self.assertEqual(run_tests.with_findings(" 1/5 Test  #1: sanitizers ...   Passed\n"), [])


class RunTest(unittest.TestCase):
    def run_of(self):
        return run_tests.Run([], run_tests.Budget({}, 0.0), "/tmp")

    def test_an_exception_in_a_lane_is_a_failure(self):
        run = self.run_of()
        run.beside("release:e2e", lambda: 1 // 0).join()
        self.assertEqual(len(run.broken), 1)
        self.assertIn("release:e2e: ZeroDivisionError", run.broken[0])

    def test_a_command_is_told_by_its_code_and_the_time_of_its_children(self):
        run = self.run_of()
        with open(os.devnull, "w", encoding="utf-8") as run_out, contextlib.redirect_stdout(run_out):
            code, seconds = run.stream(["sh", "-c", "sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'; exit 3"], "",
                                       os.devnull)
        self.assertEqual(code, 3)
        self.assertGreater(seconds, 0)

    def test_commands_stay_in_the_session_so_that_niceness_counts_between_them(self):
        run, said = self.run_of(), io.StringIO()
        with contextlib.redirect_stdout(said):
            run.stream(["sh", "-c", "ps -o sid= -p $$"], "", os.devnull)
        self.assertEqual(int(said.getvalue()), os.getsid(0))

    def test_without_a_release_build_the_other_presets_run_to_their_end(self):
        run, gate, ended = self.run_of(), threading.Event(), []
        run.build = lambda preset, *targets, **options: preset != "release"
        run.check_labels = lambda preset: None

        def test(preset, label, *_):
            if label == "simulation":
                gate.wait()
            ended.append(f"{preset}:{label}")
        run.test = test
        threading.Timer(0.05, gate.set).start()
        run.each_where_it_shows_most()
        self.assertEqual(sorted(ended), ["asan:integration", "asan:simulation", "asan:unit", "tsan:threads"])

    def test_closing_ends_what_still_runs(self):
        run = self.run_of()
        run.beside("lane", run.stream, ["sleep", "600"], "", os.devnull)
        while not run.children:
            time.sleep(0.01)
        run.close()
        self.assertFalse(run.children)

    def test_directories_of_killed_runs_go(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(f"{root}/st-999999999-x")
            os.mkdir(f"{root}/st-{os.getpid()}-y")
            made = run_tests.make_scratch(root)
            self.assertEqual(os.stat(made).st_mode & 0o777, 0o755)
            self.assertEqual(sorted(os.listdir(root)), sorted([f"st-{os.getpid()}-y", os.path.basename(made)]))


class EndTest(unittest.TestCase):
    def test_seeds_and_benchmarks_are_left_out_when_time_gets_short(self):
        # minutes left, whether root -> seconds for seeds (None: all), benchmarks
        cases = ((None, True, (None, True)), (60, True, (2400, True)), (21, True, (60, True)), (20, True, (0, True)),
                 (10, True, (0, True)), (10, False, (300, True)), (5, True, (0, True)), (4, True, (0, False)),
                 (-3, True, (0, False)))
        for left, root, want in cases:
            with self.subTest((left, root)):
                self.assertEqual(run_tests.plan_end(left, root), want)

    def test_the_budget_counts_from_where_the_run_began(self):
        self.assertIsNone(run_tests.Budget({}, 100.0).left(700.0))
        self.assertEqual(run_tests.Budget({"TEST_MINUTES": "80"}, 100.0).left(700.0), 70.0)
        self.assertEqual(run_tests.Budget({"TEST_MINUTES": "80", "TEST_BEGAN": "40"}, 100.0).left(700.0), 69.0)


class OneTestTest(unittest.TestCase):
    TESTS = [{"name": "pleg_1", "command": ["pleg_test"], "properties": [
        {"name": "ENVIRONMENT", "value": ["ASAN_OPTIONS=a=1:b=2", "GTEST_TOTAL_SHARDS=2", "GTEST_SHARD_INDEX=0"]},
        {"name": "WORKING_DIRECTORY", "value": "/tree"}]}, {"name": "bus", "command": ["bus_test"]}]

    def test_a_test_in_shards_is_found_with_and_without_its_number(self):
        for name, want in (("pleg_1", "pleg_1"), ("pleg", "pleg_1"), ("bus", "bus")):
            self.assertEqual(one_test.find(self.TESTS, name)["name"], want)
        self.assertIsNone(one_test.find(self.TESTS, "ple"))

    def test_it_runs_with_ctests_environment_and_chosen_cases_without_shards(self):
        self.assertEqual(one_test.invocation(self.TESTS[0], "Looks.*"),
                         (["pleg_test", "--gtest_filter=Looks.*"], {"ASAN_OPTIONS": "a=1:b=2"}, "/tree"))
        self.assertEqual(one_test.invocation(self.TESTS[0], "")[1]["GTEST_TOTAL_SHARDS"], "2")
        self.assertEqual(one_test.invocation(self.TESTS[1], ""), (["bus_test"], {}, "."))


if __name__ == "__main__":
    unittest.main(verbosity=0)
