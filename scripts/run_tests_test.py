#!/usr/bin/env python3
"""Tests of run_tests.py and one_test.py: what is counted, what is left out, what the last lines say."""

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
        made = result()
        made.finding = "build/asan/test-reports/unit.txt"
        self.assertEqual(run_tests.summary([made], ["tsan: build"], ["chaos"]), [
            "SKIPPED: asan:compose",
            "NEEDED A SECOND TRY (look into it): asan:bus",
            "REDUCED: chaos",
            "REDUCED: seeds 7 to 9",
            "FAILED: asan:pleg_2",
            "  log: build/asan/test-reports/pleg_2.log",
            "  run: scripts/one_test.py asan pleg_2 'Looks.EndAtOnce'",
            "FAILED: asan:gone",
            "  log: build/asan/test-reports/gone.log",
            "  run: scripts/one_test.py asan gone",
            "FAILED: asan:unit: A SANITIZER FOUND SOMETHING: build/asan/test-reports/unit.txt",
            "FAILED: tsan: build",
            "2 passed, 4 failed"])

    def test_many_failed_cases_are_not_listed(self):
        output = "".join(f"[  FAILED  ] Ending.Case{number}\n" for number in range(4))
        self.assertEqual(run_tests.how_to_run("tsan", "x", output), "scripts/one_test.py tsan x")

    def test_what_a_sanitizer_says_is_a_finding(self):
        for line in ("==1==ERROR: AddressSanitizer: heap-use-after-free", "WARNING: ThreadSanitizer: data race",
                     "a.cc:3:4: runtime error: signed integer overflow", "ERROR: LeakSanitizer: detected memory leaks"):
            self.assertRegex(line, run_tests.FINDING)
        self.assertNotRegex("sanitizers .... Passed", run_tests.FINDING)


class EndTest(unittest.TestCase):
    def test_what_is_left_out_when_time_gets_short(self):
        # minutes left -> seconds for seeds (None: all), chaos, benchmarks
        cases = ((None, (None, True, True)), (60, (None, True, True)), (19, (None, True, True)), (17, (120, True, True)),
                 (15, (0, True, True)), (14, (0, False, True)), (5, (0, False, True)), (4, (0, False, False)),
                 (-3, (0, False, False)))
        for left, want in cases:
            with self.subTest(left):
                self.assertEqual(run_tests.plan_end(left), want)

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
