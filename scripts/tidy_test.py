#!/usr/bin/env python3
"""Tests of tidy.py: changes after which a source is checked again."""

import os
import tempfile
import unittest

import tidy

FILES = {
    "libs/a/a.h": '#pragma once\n#include <vector>\n#include "libs/b/b.h"\n',
    "libs/a/a.cc": '#include "libs/a/a.h"\n',
    "libs/b/b.h": '#pragma once\n#include "x/v1/x.grpc.pb.h"\n',
    "libs/b/other.cc": '#include "libs/b/b.h"\n#include "fmt/core.h"\n',
    "libs/c/c.cc": "int c;\n",
    "proto/x/v1/x.proto": 'syntax = "proto3";\nimport "x/v1/y.proto";\nimport public "x/v1/z.proto";\n',
    "proto/x/v1/y.proto": "",
    "proto/x/v1/z.proto": "",
}
SOURCES = ["libs/a/a.cc", "libs/b/other.cc", "libs/c/c.cc"]


class TreeTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)
        for path, text in FILES.items():
            self.write(path, text)

    def write(self, path, text):
        full = os.path.join(self.root.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def tree(self):
        return tidy.Tree(self.root.name)

    def test_a_source_sees_headers_of_the_tree_and_protos_through_each_other(self):
        self.assertEqual(self.tree().closure("libs/a/a.cc"),
                         ["libs/a/a.cc", "libs/a/a.h", "libs/b/b.h", "proto/x/v1/x.proto", "proto/x/v1/y.proto",
                          "proto/x/v1/z.proto"])

    def test_the_key_changes_with_all_that_is_seen_and_with_nothing_else(self):
        cases = (("the source itself", "libs/a/a.cc", True), ("its header", "libs/a/a.h", True),
                 ("a header of its header", "libs/b/b.h", True), ("a proto behind it", "proto/x/v1/z.proto", True),
                 ("a source beside it", "libs/c/c.cc", False), ("who includes the same", "libs/b/other.cc", False))
        for name, path, changes in cases:
            with self.subTest(name):
                before = self.tree().key("libs/a/a.cc", b"")
                self.write(path, FILES[path] + "// more\n")
                self.assertEqual(self.tree().key("libs/a/a.cc", b"") != before, changes)
                self.write(path, FILES[path])

    def test_the_key_changes_with_the_rules(self):
        self.assertNotEqual(self.tree().key("libs/c/c.cc", b"-*"), self.tree().key("libs/c/c.cc", b"bugprone-*"))

    def test_sources_to_look_at_for_a_change(self):
        cases = (("a source", ["libs/c/c.cc"], ["libs/c/c.cc"]),
                 ("a header: the source of its name", ["libs/a/a.h"], ["libs/a/a.cc"]),
                 ("a header without one: any that sees it", ["libs/b/b.h"], ["libs/a/a.cc"]),
                 ("a header that a changed source sees", ["libs/b/b.h", "libs/b/other.cc"], ["libs/b/other.cc"]),
                 ("what is not compiled", ["README.md", "libs/gone.cc", ""], []))
        for name, changed, want in cases:
            with self.subTest(name):
                self.assertEqual(self.tree().affected(changed, SOURCES), want)

    def test_a_stamp_holds_for_its_key_only(self):
        stamps = tidy.Stamps(os.path.join(self.root.name, "stamps"))
        self.assertFalse(stamps.holds("libs/c/c.cc", "1"))
        stamps.put("libs/c/c.cc", "1")
        self.assertTrue(stamps.holds("libs/c/c.cc", "1"))
        self.assertFalse(stamps.holds("libs/c/c.cc", "2"))


if __name__ == "__main__":
    unittest.main(verbosity=0)
