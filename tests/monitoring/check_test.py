#!/usr/bin/env python3
"""Tests of check.py: each kind of mistake is found."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import check  # noqa: E402

METRICS = check.exported({"pleg": "a_total counter kind\nh_seconds histogram table\n? g gauge\n", "gc": "g gauge\n"})


class Documents(unittest.TestCase):
    PAGE = ("## Every process\n| `g` | gauge | | x |\n## pleg\n| `a_total` | counter | kind (x, y) | x |\n"
            "| `h_seconds` | histogram | table | x |\n")

    def found(self, page):
        return list(check.check_documents(METRICS, page))

    def test_a_page_that_fits_has_no_finding(self):
        self.assertEqual(self.found(self.PAGE), [])

    def test_what_differs_is_named(self):
        for old, new, want in (
                ("`a_total` | counter", "`a_total` | gauge", "a_total is a counter"),
                ("kind (x, y)", "", "a_total is a counter with labels ['kind']"),
                ("`g`", "`other`", "g is exported by gc, pleg and not documented"),
                ("`g`", "`g` | gauge | | x |\n| `more`", "more is documented, and no process exports it"),
                ("## pleg", "## gc", "a_total is exported by pleg, and documented for others")):
            with self.subTest(new=new):
                self.assertTrue(any(want in finding for finding in self.found(self.PAGE.replace(old, new))))


class Expressions(unittest.TestCase):
    def found(self, expression):
        return list(check.check_expression("here", expression, METRICS, {"x:a:rate5m": {"kind"}}))

    def test_what_is_exported_may_be_asked_for(self):
        for expression in (
                'sum by (kind) (rate(a_total{kind!~"x|y", instance="{a}"}[5m])) > 0.5',
                'histogram_quantile(0.99, sum by (table, le) (rate(h_seconds_bucket[$__rate_interval])))',
                'up{job="kubelet"} == 0 and on (instance) (time() - g) < 1e3 or vector(0)',
                'x:a:rate5m{kind="x"} / on (kind) group_left (process) a_total offset 5m'):
            with self.subTest(expression=expression):
                self.assertEqual(self.found(expression), [])

    def test_what_is_not_is_named(self):
        for expression, want in (
                ("rate(b_total[5m])", "no process exports b_total"),
                ('a_total{table="x"}', "a_total has no label table"),
                ("h_seconds", "no process exports h_seconds"),
                ("g_count", "no process exports g_count"),
                ("sum by (other) (a_total)", "has a label other"),
                ("a:b:c", "no process exports a:b:c")):
            with self.subTest(expression=expression):
                self.assertTrue(any(want in finding for finding in self.found(expression)), self.found(expression))


class Rules(unittest.TestCase):
    TEXT = ("groups:\n  - name: n\n    rules:\n      - alert: One\n        expr: g > 1\n        for: 1m\n"
            "      - alert: Two\n        expr: >-\n          a_total\n          > 2\n        labels: {severity: info}\n")

    def test_expressions_are_found_in_both_forms(self):
        self.assertEqual(check.rules_of(self.TEXT), [("alert", "One", "g > 1"), ("alert", "Two", "a_total > 2")])

    def test_a_command_that_does_not_exist_is_named(self):
        words = check.words_of('app.add_subcommand(\n    "describe", "x"); d->add_subcommand("pod", "y"); {"kill", "SIGKILL"}')
        texts = {"r.yml": "`splitletctl describe pod` and splitletctl describe node, or `splitletctl kill`"}
        self.assertEqual(list(check.check_commands(texts, words)), ["r.yml: there is no command splitletctl describe node (node)"])

    def test_an_alert_without_a_test_is_named(self):
        found = list(check.check_rules({"r.yml": self.TEXT}, 'alertname="One"', METRICS))
        self.assertEqual(found, ["r.yml: Two has no test"])


class Boards(unittest.TestCase):
    def board(self, **changes):
        panel = {"id": 1, "type": "stat", "title": "t", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 4},
                 "targets": [{"refId": "A", "expr": "g"}], **changes}
        other = {**panel, "id": 2, "title": "u", "gridPos": {"x": 12, "y": 0, "w": 12, "h": 4},
                 "targets": [{"refId": "A", "expr": "g"}]}
        return {"uid": "b", "panels": [panel, other], "templating": {"list": [{"name": "instance"}]},
                "annotations": {"list": []}}

    def found(self, **changes):
        return list(check.check_boards({"b.json": self.board(**changes)}, METRICS, {}))

    def test_a_good_board_has_no_finding(self):
        self.assertEqual(self.found(), [])

    def test_what_grafana_would_not_show_is_named(self):
        for changes, want in (
                ({"id": 2}, "one id"), ({"targets": []}, "asks for nothing"),
                ({"gridPos": {"x": 4, "y": 0, "w": 12, "h": 4}}, "lie on each other"),
                ({"targets": [{"refId": "A", "expr": "none"}]}, "no process exports none"),
                ({"targets": [{"refId": "A", "expr": 'g{instance="$node"}'}]}, "no variable $node"),
                ({"targets": [{"refId": "A", "expr": "g"}, {"refId": "A", "expr": "g"}]}, "two queries of one name")):
            with self.subTest(want=want):
                self.assertTrue(any(want in finding for finding in self.found(**changes)), self.found(**changes))


if __name__ == "__main__":
    unittest.main()
