#!/usr/bin/env python3
"""Tests of lint.py: for each rule text that must be found, and text that must not."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lint  # noqa: E402  (the path is set just above)


def messages(path, text):
    return [finding.message for finding in lint.check_source(lint.Source(path, text))]


def functions(text):
    source = lint.Source("libs/base/x.cc", text)
    return [(f.name, f.parameters) for f in lint.functions_of(source.code)]


class Includes(unittest.TestCase):
    CASES = (
        ("a service uses a library", "services/gc/a.cc", "libs/bus/bus.h", None),
        ("a service uses itself", "services/gc/a.cc", "services/gc/b.h", None),
        ("a service uses another service", "services/gc/a.cc", "services/pleg/cache.h", "may include a service"),
        ("a test of a service uses another service", "services/gc/a_test.cc", "services/pleg/a.h", "may include a service"),
        ("the simulation uses all services", "tests/sim/a.cc", "services/pleg/a.h", None),
        ("a library uses a service", "libs/bus/a.cc", "services/pleg/a.h", "may include a service"),
        ("a tool uses a library", "chaos/a.cc", "libs/operate/a.h", None),
        ("a tool uses another tool", "ctl/a.cc", "chaos/a.h", "ctl may not include chaos"),
        ("a tool uses itself", "chaos/a.cc", "chaos/node/b.h", None),
        ("a library uses a tool", "libs/operate/a.cc", "ctl/a.h", "libs may not include ctl"),
        ("the tool uses a service", "ctl/a.cc", "services/pleg/a.h", "may include a service"),
        ("a library uses one below", "libs/exec/a.cc", "libs/base/status.h", None),
        ("a library uses one two levels below", "libs/rpc/a.cc", "libs/base/status.h", None),
        ("a library uses one above", "libs/base/a.cc", "libs/exec/exec.h", "libs/base may not use libs/exec"),
        ("a library uses one beside", "libs/fs/a.cc", "libs/kube/pod.h", "libs/fs may not use libs/kube"),
        ("a library's test uses any library", "libs/fs/a_test.cc", "libs/kube/pod.h", None),
        ("a library uses a fake in tests", "libs/fs/a.cc", "tests/fake_cri/a.h", "libs may not include tests"),
        ("an unknown library", "libs/util/a.cc", "libs/base/status.h", "libs/util is not in the table"),
        ("a path from the folder", "libs/base/a.cc", "../base/status.h", "from the root"),
        ("Abseil past the one header", "libs/base/a.cc", "absl/status/status.h", "Abseil"),
        ("Abseil in the one header", "libs/base/status.h", "absl/status/status.h", None),
    )

    def test_arrows(self):
        for name, path, included, want in self.CASES:
            with self.subTest(name):
                found = messages(path, f'#include "{included}"\n')
                if want is None:
                    self.assertEqual(found, [])
                else:
                    self.assertTrue(any(want in message for message in found), found)

    def test_a_system_include_of_abseil_is_found_too(self):
        self.assertEqual(len(messages("libs/base/a.cc", "#include <absl/status/status.h>\n")), 1)


class BannedCalls(unittest.TestCase):
    CASES = (
        ("wall clock", "services/gc/a.cc", "auto t = std::chrono::system_clock::now();", 1),
        ("steady clock", "services/gc/a.cc", "auto t = std::chrono::steady_clock::now();", 1),
        ("a clock type is no call", "services/gc/a.cc", "std::chrono::steady_clock::time_point t;", 0),
        ("the clock's own file", "libs/base/clock.cc", "return std::chrono::steady_clock::now();", 0),
        ("sleep", "libs/bus/a.cc", "std::this_thread::sleep_for(1s);", 1),
        ("sleep of C", "libs/bus/a.cc", "::sleep(1); usleep(1);", 2),
        ("a method of that name", "libs/bus/a.cc", "fake.sleep(1); x->sleep(1);", 0),
        ("sleep in a comment", "libs/bus/a.cc", "// never sleep_for here\n/* nor std::async */", 0),
        ("sleep in a string", "libs/bus/a.cc", 'Say("sleep_for");', 0),
        ("async", "libs/bus/a.cc", "auto f = std::async(g);", 1),
        ("views", "libs/bus/a.cc", "for (auto k : m | std::views::keys) f(k);", 1),
        ("an algorithm that returns a subrange", "libs/bus/a.cc", "std::ranges::unique(list);", 1),
        ("one that returns an iterator", "libs/bus/a.cc", "std::ranges::sort(list); std::ranges::find(list, 1);", 0),
        ("detach", "libs/bus/a.cc", "thread.detach();", 1),
        ("mutex in a service", "services/gc/a.cc", "std::mutex m;", 1),
        ("mutex in a library", "libs/exec/a.cc", "std::mutex m;", 0),
        ("mutex in a service's test", "services/gc/a_test.cc", "std::mutex m;", 0),
    )

    def test_calls(self):
        for name, path, text, want in self.CASES:
            with self.subTest(name):
                self.assertEqual(len(messages(path, text + "\n")), want)

    def test_the_line_is_right(self):
        found = list(lint.check_source(lint.Source("libs/bus/a.cc", "/* a\nb */\nint x;\nstd::async(f);\n")))
        self.assertEqual([f.line for f in found], [4])


class Comments(unittest.TestCase):
    def test_unfinished_work_is_found_in_all_text(self):
        for path in ("libs/base/a.cc", "scripts/a.sh", "proto/splitlet/v1/a.proto"):
            self.assertEqual(len(messages(path, "// TO" "DO: later\n")), 1, path)

    def test_a_silenced_check_needs_name_and_reason(self):
        mark = "NO" "LINT"
        for text, want in ((f"int x;  // {mark}", 1), (f"int x;  // {mark}(bugprone-x)", 1),
                           (f"int x;  // {mark}(bugprone-x): the loop owns it", 0),
                           (f"// {mark}NEXTLINE(bugprone-x): the loop owns it\nint x;", 0)):
            with self.subTest(text):
                self.assertEqual(len(messages("libs/base/a.cc", text + "\n")), want)


class Sizes(unittest.TestCase):
    def test_file(self):
        self.assertEqual(messages("libs/base/a.cc", "int x;\n" * 700), [])
        self.assertEqual(messages("libs/base/a.cc", "int x;\n" * 701), ["701 lines, at most 700"])

    def test_function(self):
        self.assertEqual(messages("libs/base/a.cc", "void F() {\n" + "  G();\n" * 68 + "}\n"), [])
        self.assertEqual(messages("libs/base/a.cc", "void F() {\n" + "  G();\n" * 69 + "}\n"), ["F: 71 lines, at most 70"])

    def test_a_long_class_or_table_is_no_function(self):
        for head in ("class A {", "namespace a {", "const struct {\n  int a;\n} kCases[] = {", "enum class A {",
                     "const std::vector<int> kNumbers{"):
            with self.subTest(head):
                self.assertEqual(messages("libs/base/a.cc", head + "\n" + "\n" * 80 + "};\n"), [])

    def test_functions_are_recognised(self):
        cases = (
            ("plain", "int F(int a, int b) { return a; }", [("F", 2)]),
            ("no parameters", "void F() {}", [("F", 0)]),
            ("member", "class A {\n public:\n  void F(int a) const override { b; }\n  int g = 0;\n};", [("F", 1)]),
            ("constructor with a list", "A::A(int a, int b) : a_(a), b_{b} {\n  F();\n}", [("A::A", 2)]),
            ("template commas are not parameters", "void F(std::map<int, int> m, int b) {}", [("F", 2)]),
            ("template head", "template <class T, class U>\nvoid F(T t, U u) {}", [("F", 2)]),
            ("default argument", "void F(int a = G(1, 2), B b = {1, 2}) {}", [("F", 2)]),
            ("trailing return", "auto F(int a) -> std::string { return {}; }", [("F", 1)]),
            ("struct result", "struct A F(int a);\nB G(int a) { return B{.x = 1}; }", [("G", 1)]),
            ("test macro", "TEST(A, B) {\n  if (x) {\n  }\n}", [("TEST", 0)]),
            ("after a table", "const int kA[] = {1, 2};\nvoid F(int a) {}", [("F", 1)]),
            ("after a class", "struct A {\n  int a = 0;\n};\nvoid F(int a) {}", [("F", 1)]),
            ("braces in strings and characters", "void F(int a) { G(\"}\", '{'); }\nvoid H() {}", [("F", 1), ("H", 0)]),
            ("raw string", 'void F() { G(R"x({ " })x"); }\nvoid H() {}', [("F", 0), ("H", 0)]),
            ("digit separators", "void F() { G(1'000'000); }\nvoid H() {}", [("F", 0), ("H", 0)]),
            ("macro definition", "#define A(x) \\\n  if (x) {\nvoid F() {}", [("F", 0)]),
        )
        for name, text, want in cases:
            with self.subTest(name):
                self.assertEqual(functions(text + "\n"), want)

    def test_parameters(self):
        self.assertEqual(messages("libs/base/a.cc", "void F(int a, int b, int c, int d) {}\n"), [])
        found = messages("libs/base/a.cc", "void F(int a, int b, int c, int d, int e) {}\n")
        self.assertEqual(found, ["F: 5 parameters, at most 4; use a struct"])
        theirs = "void Parser::on_line_impl(int a, int b, int c, int d, int e) {}\n"
        self.assertEqual(messages("libs/base/a.cc", theirs), [], "a library's virtual function")


class Documents(unittest.TestCase):
    def findings(self, files, headerless=frozenset()):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return [finding.message for finding in lint.lint(root, headerless)]

    METRICS = 'Gauge& pods = F.Name("kubelet_running_pods");\nauto x = F.Name("rest_calls_total");\n'

    def test_metric_without_a_line_in_the_page(self):
        found = self.findings({"services/gc/metrics.h": self.METRICS, "docs/metrics.md": "`kubelet_running_pods`"})
        self.assertEqual(found, ["metric rest_calls_total is not in docs/metrics.md"])

    def test_all_documented(self):
        page = "`kubelet_running_pods` and `rest_calls_total`"
        self.assertEqual(self.findings({"services/gc/metrics.h": self.METRICS, "docs/metrics.md": page}), [])

    def test_metric_that_is_gone(self):
        self.assertEqual(self.findings({"docs/metrics.md": "`splitlet_gone_total`"}),
                         ["metric splitlet_gone_total is documented, but nothing has it"])

    def test_metric_that_a_page_says_is_missing(self):
        page = "| `kubelet_gone_total`, `rest_calls_total` | not yet: why |\n| `kubelet_running_pods` | how many |\n"
        self.assertEqual(self.findings({"docs/metrics.md": page}), ["metric kubelet_running_pods is documented, but nothing has it"])
        self.assertEqual(self.findings({"services/gc/metrics.h": self.METRICS, "docs/metrics.md": page}),
                         ["metric rest_calls_total is not in docs/metrics.md"])

    def test_metric_names_in_tests_do_not_count(self):
        self.assertEqual(self.findings({"services/gc/a_test.cc": 'Want("kubelet_running_pods");\n'}), [])

    def test_fail_points(self):
        code = 'Status F() {\n  FAIL_POINT("gc.remove.before");\n  FAIL_POINT_VOID(\n      "gc.remove.after");\n}\n'
        self.assertEqual(self.findings({"services/gc/main.cc": code, "docs/fail-points.md": "| `gc.remove.before` | x |\n"}),
                         ["fail point gc.remove.after is not in docs/fail-points.md"])
        page = "| `gc.remove.before` | x |\n| `gc.remove.after` | x |\n| `gc.gone` | x |\n"
        self.assertEqual(self.findings({"services/gc/main.cc": code, "docs/fail-points.md": page}),
                         ["fail point gc.gone is documented, but nothing has it"])

    def test_sources_without_a_header(self):
        files = {"libs/base/a.cc": "", "libs/base/b.cc": "", "libs/base/b.h": "", "libs/base/b_test.cc": "",
                 "services/gc/main.cc": "", "tests/x/c.cc": ""}
        self.assertEqual(self.findings(files), ["there is no a.h: a reader looks there for what this file does"])
        self.assertEqual(self.findings(files, {("base", "a")}), [])
        self.assertEqual(self.findings(files, {("base", "a"), ("base", "b")}),
                         ["HEADERLESS: take base/b out, it is gone or has its header"])

    def test_names_of_tests(self):
        code = "TEST(Hold, Lasts) {}\nTEST_P(\n    EachProcess, Dies) {}\n"
        page = "`Hold.Lasts`, `Hold.*`, `Kill/EachProcess.Dies`, `Kill/EachProcess.*`, `Hold.Ends`, `Gone.*`, `Gc.Run`\n"
        proto = "service Gc {\n  rpc Run(A) returns (B);\n}\n"
        self.assertEqual(self.findings({"services/gc/a_test.cc": code, "proto/splitlet/v1/a.proto": proto, "docs/a.md": page}),
                         ["there is no test Gone.*", "there is no test Hold.Ends"])

    def test_rows_of_conformance(self):
        top = "| section | cases | covered | partly | otherwise | not yet |\n|---|---|---|---|---|---|\n"
        good = ("| One | 3 | 1 | 1 | 0 | 1 |\n| Two | 1 | 0 | 0 | 1 | 0 |\n| all | 4 | 1 | 1 | 1 | 1 |\n\n"
                "## One\n\n| | case | tests |\n|---|---|---|\n| 7 | a | `Hold.Lasts` |\n| 8 | b | partly: `Hold.Lasts`; c |\n"
                "| 9 | d | not yet: e |\n\n## Two\n\n| 1 | f | otherwise: g; `Hold.Lasts` |\n")
        cases = (
            ("all agrees", "", "", []),
            ("a test that is gone", "| 7 | a | `Hold.Lasts` |", "| 7 | a | `Hold.Ends` |", ["there is no test Hold.Ends"]),
            ("a number left out", "| 8 | b", "| 10 | b", ["case 10 follows case 7", "case 9 follows case 10"]),
            ("a wrong sum", "| One | 3 | 1", "| One | 3 | 2", ["the row of One counts 3 | 1 | 1 | 0 | 1"]),
            ("a section without a row", "| Two | 1 | 0 | 0 | 1 | 0 |\n", "", ["the row of Two counts 1 | 0 | 0 | 1 | 0"]),
            ("a row that says nothing", "not yet: e", "e", [
                "case 9 says neither tests nor one of: partly, otherwise, not yet",
                "the row of One counts 2 | 1 | 1 | 0 | 0", "the row of all counts 3 | 1 | 1 | 1 | 0"]),
        )
        for name, was, now, want in cases:
            with self.subTest(name):
                page = top + (good.replace(was, now) if was else good)
                found = self.findings({"services/gc/a_test.cc": "TEST(Hold, Lasts) {}\n", "docs/conformance.md": page})
                self.assertEqual(sorted(found), sorted(want))

    def test_filters_of_tests(self):
        page = "```\nx_test --gtest_filter='Hold.*:Ho*.La*'\nx_test --gtest_filter=Gone.*\n```\n"
        self.assertEqual(self.findings({"services/gc/a_test.cc": "TEST(Hold, Lasts) {}\n", "docs/a.md": page}),
                         ["no test matches Gone.*"])

    def test_paths_in_pages(self):
        files = {"libs/fs/a.h": "class Place {\n  int Find();\n};\n", "libs/fs/a_test.cc": "", "services/gc/b.h": ""}
        cases = (
            ("a file", "`libs/fs/a.h`", 0), ("a folder", "`libs/fs/`, `libs/fs`", 0), ("that is gone", "`libs/fs/z.h`", 1),
            ("a pattern", "`libs/fs/a.*`, `libs/*/a.h`", 0), ("a pattern of nothing", "`libs/fs/z.*`", 1),
            ("a choice", "`libs/fs/a{.h,_test.cc}`", 0), ("half a choice", "`libs/fs/a.{h,cc}`", 1),
            ("a placeholder", "`libs/<lib>/a.h`, `libs/LIB/a.h`", 0), ("a bare name", "`b.h`, `a_test.cc`", 0),
            ("a bare name of nothing", "`z.h`", 1), ("not of the tree", "`/etc/z.h`, `<state>/z.h`, `build/z.h`, `v1/a`", 0),
            ("a command with a path", "`cat libs/fs/z.h`", 1), ("a link", "[a](../libs/fs/a.h#x), [b](https://z)", 0),
            ("a link to nothing", "[a](z.txt)", 1), ("a member of a class", "`Place::Find`, `node::Place<R>::Find()`", 0),
            ("a member that is gone", "`Place::Lose`", 1), ("a class that is gone", "`Palace::Find`", 1),
        )
        for name, text, want in cases:
            with self.subTest(name):
                self.assertEqual(len(self.findings({**files, "docs/a.md": text + "\n"})), want)


class Citations(unittest.TestCase):
    TREE = {"docs/design.md": "# Design\n\n## The calls\n\n## Time\n", "docs/safety.md": "7. *a*\n8. b\n",
            "proto/splitlet/v1/records.proto": "", "libs/base/README.md": ""}
    CASES = (
        ("a page", "/// Source: docs/design.md.\n", None),
        ("headings", '/// Source: docs/design.md, "The calls" and "Time".\n', None),
        ("a heading over two lines", '/// Source: docs/design.md, "The\n/// calls".\n', None),
        ("a heading that is gone", '/// Source: docs/design.md, "The walls".\n', 'no heading "The walls"'),
        ("rules", "/// Source: docs/safety.md, rules 7 and 8.\n", None),
        ("a rule that is gone", "/// Source: docs/safety.md, rules 7 and 9.\n", "no rule 9"),
        ("another file", "/// Source: proto/splitlet/v1/records.proto.\n", None),
        ("a file that is gone", "/// Source: proto/splitlet/v1/x.proto.\n", "there is no proto/splitlet/v1/x.proto"),
        ("the page of the folder", "/// Source: README.md.\n", None),
        ("public ones", '/// Source: kuberuntime computePodActions; CRI v1; RFC 8259; W3C Trace Context; fail(9).\n', None),
        ("one of several", "/// Source: CRI v1; the old book.\n", "neither a file"),
        ("a specification", "/// Source: pod-sync spec, section 4.\n", "not in the tree"),
        ("what follows another label", "/// Source: CRI v1.\n/// Threads: any.\n", None),
        ("a rule in a sentence", "// The last one (docs/safety.md,\n// rule 9) counts.\n", "no rule 9"),
        ("a page in a sentence", "// See docs/gone.md.\n", "there is no docs/gone.md"),
        ("a document of somebody", "// DES" "IGN.md, rule 3\n", "not in the tree"),
    )

    def findings(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            for name, content in {**self.TREE, path: text}.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(content)
            return [finding.message for finding in lint.lint(root)]

    def test_citations(self):
        for name, text, want in self.CASES:
            with self.subTest(name):
                found = self.findings("libs/base/a.h", text)
                if want is None:
                    self.assertEqual(found, [])
                else:
                    self.assertTrue(any(want in message for message in found), found)

    def test_labels_begin_their_lines(self):
        for text, want in (("/// A thing.\n/// Threads: any.\n/// Errors: none.\n", 0),
                           ("/// A thing. Threads: any.\n", 1), ("/// Threads: any. Errors: none. Units: s.\n", 2),
                           ("/// Threads: any\n/// that is: In: x\n", 1), ("// The Source: it is\n", 0),
                           ("/// Threads: " + "a" * 90 + "\n", 1)):
            with self.subTest(text):
                self.assertEqual(len(self.findings("libs/base/a.h", text)), want)


class Processes(unittest.TestCase):
    """A tree with a process of every node and a process of cluster nodes; findings for places that disagree."""

    TABLE = ('constexpr auto kProcesses = {\n    {"gc", "pressure", "desired|workers", 7,\n     minutes{5}},\n'
             '    {"web", "", "desired", 8, {}, false,\n     RunsOn::kClusterNode},\n    {"later", "", "desired"},\n')
    TREE = {
        "ARCHITECTURE.md": "| gc | `pressure`: disk signals |\n| web | nothing | desired |\n",
        "Makefile": "PROGRAMS = splitlet-gc splitlet-web\n",
        "cmake/package.cmake": 'splitlet_unit(gc PORT 7 DESCRIPTION "x")\nsplitlet_unit(web PORT 8 DESCRIPTION "x")\n',
        "compose/docker-compose.yml": '    command: [gc, "7"]\n    command: [web, "8"]\n',
        "compose/image/programs.sh": "(splitlet-gc splitlet-web)\n",
        "compose/image/setup.sh": "gc  0\nweb 1\n",
        "compose/kubelet.yaml": "    gc: 0\n    web: 1\n",
        "compose/prebuilt.sh": "for process in gc web; do\n",
        "compose/prometheus/nodes.yml": ("regex: '.+:7', target_label: process, replacement: gc}\n"
                                         "regex: '.+:8', target_label: process, replacement: web}\n"),
        "compose/prometheus/rules/alerts.yml": 'up{process="gc"} == 0\ncount(up{process!~"|web"}) < 1\n',
        "ctl/completion.cc": 'local processes="gc web" choices=""\n',
        "deploy/deb/prerm": "stop splitlet-gc splitlet-web splitlet-nats\n",
        "deploy/local/lib.sh": "readonly PROCESSES=(gc) CLUSTER_PROCESSES=(web)\n",
        "deploy/local/nats.sh": "gc   pressure  desired,workers\nweb  -         desired\n",
        "deploy/systemd/processes/gc.conf": "\n",
        "deploy/systemd/processes/web.conf": "\n",
        "docs/metrics.md": "| gc | 7 |\n| web | 8 |\n",
        "services/CMakeLists.txt": "add_subdirectory(gc)\nadd_subdirectory(web)\n",
        "tests/monitoring/check.py": 'PROCESSES = ("gc", "web")\n',
    }

    def findings(self, **changed):
        with tempfile.TemporaryDirectory() as root:
            for name, content in {lint.lint_processes.TABLE: self.TABLE, **self.TREE, **changed}.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(content)
            return [path for path, _, _ in lint.lint_processes.check(root)]

    def test_places_that_agree(self):
        self.assertEqual(self.findings(), [])

    def test_each_place_that_says_something_else_is_named(self):
        for name, content in self.TREE.items():
            if name.endswith(".conf"):
                continue
            with self.subTest(name):
                self.assertEqual(self.findings(**{name: content.replace("gc", "gone")}), [name])

    def test_numbers_and_tables_count(self):
        for name, was, now in (("docs/metrics.md", "7", "8"), ("compose/docker-compose.yml", "7", "70"),
                               ("deploy/local/nats.sh", "desired,workers", "desired"),
                               ("deploy/local/nats.sh", "-  ", "pod"), ("deploy/local/lib.sh", " CLUSTER_PROCESSES=(web)", ""),
                               ("deploy/local/lib.sh", "(gc) CLUSTER_PROCESSES=(web)", "(gc web) CLUSTER_PROCESSES=()"),
                               ("compose/prometheus/rules/alerts.yml", "< 1", "< 2"),
                               ("compose/prometheus/rules/alerts.yml", "|web", ""),
                               ("ARCHITECTURE.md", "pressure", "runtime"), ("ARCHITECTURE.md", "nothing", "`pods`")):
            with self.subTest(name):
                self.assertEqual(self.findings(**{name: self.TREE[name].replace(was, now)}), [name])

    def test_a_process_more_is_missed_everywhere(self):
        table = self.TABLE.replace('{"later", "", "desired"}', '{"later", "", "desired", 9}')
        self.assertEqual(len(set(self.findings(**{lint.lint_processes.TABLE: table}))), len(self.TREE) - 1)  # two units joined, one more

    def test_a_tree_without_the_table_has_nothing_to_check(self):
        self.assertEqual(self.findings(**{lint.lint_processes.TABLE: ""}), [])

    RIGHTS = ('    {"*", "Admin/Ask", "web|gc"},\n    {"pod-worker", "PodStreams/OpenStream",\n     "web"},\n'
              '    {"gc", "Gc/Run", "*"},\n')
    PAGES = {
        "docs/design.md": ("| from | to | call | for |\n|---|---|---|---|\n| views | each owner | `List` | lists |\n"
                           "| web, gc | all | `Ask` | x |\n| web | pod-worker | `OpenStream` | y |\n| all | gc | `Run` | z |\n"
                           "| splitletctl | all | every method | `all` |\n"),
        "SECURITY.md": ("| process | may call |\n|---|---|\n| all | gc `Run` |\n| gc | all `Ask` |\n"
                        "| web | all `Ask`; pod-worker `OpenStream` |\n"),
        "docs/behaviour/streams.md": "| call | process that may |\n|---|---|\n| `OpenStream` | web |\n\nText.\n",
    }

    def rights(self, **changed):
        return self.findings(**{lint.lint_processes.TABLE: self.TABLE + self.RIGHTS, **self.PAGES, **changed})

    def test_rights_that_the_pages_have(self):
        self.assertEqual(self.rights(), [])

    def test_a_right_that_a_page_lacks_or_makes_up_is_named(self):
        for name, was, now in (("docs/design.md", "web, gc", "web"), ("docs/design.md", "`Run`", "`Run`, `Stop`"),
                               ("docs/design.md", "| all | gc |", "| web | gc |"), ("SECURITY.md", "; pod-worker `OpenStream`", ""),
                               ("SECURITY.md", "all `Ask` |\n| web", "gc `Ask` |\n| web"),
                               ("docs/behaviour/streams.md", "| web |", "| none |")):
            with self.subTest(name + was):
                self.assertIn(name, self.rights(**{name: self.PAGES[name].replace(was, now)}))
        self.assertEqual(sorted(self.rights(**{lint.lint_processes.TABLE: self.TABLE + self.RIGHTS.replace("web|gc", "web")})),
                         ["SECURITY.md", "docs/design.md"])


class Arrows(unittest.TestCase):
    TABLE = "# ground\npod:\nrecords: pod\nmetrics:\n\nsync: pod records metrics\nsync/plan: pod\n"
    FILES = {"services/gc/pod/a.h": "", "services/gc/records/b.h": '#include "services/gc/pod/a.h"\n', "services/gc/metrics.h": "",
             "services/gc/sync/plan/d.h": '#include "services/gc/pod/a.h"\n',
             "services/gc/sync/c.cc": '#include "services/gc/pod/a.h"\n#include "services/gc/records/b.h"\n#include "services/gc/metrics.h"\n',
             "services/gc/gc_service.cc": '#include "services/gc/sync/c.h"\n'}
    ROW = "| gc | pod, records, metrics, sync, sync/plan |"

    def findings(self, table=TABLE, row=ROW, **files):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "services/gc"))
            for name, text in (("services/gc/arrows", table), ("ARCHITECTURE.md", f"{lint.lint_arrows.HEAD}\n|---|---|\n{row}\n")):
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            return [found[2] for found in lint.lint_arrows.check(root, list({**self.FILES, **files}.items()))]

    def test_a_true_table(self):
        self.assertEqual(self.findings(), [])

    def test_what_breaks_a_table(self):
        pod, records, sync = '#include "services/gc/pod/a.h"\n', '#include "services/gc/records/b.h"\n', '#include "services/gc/sync/c.h"\n'
        cases = (
            ("up", {"services/gc/pod/a.h": records}, 'include "services/gc/records/b.h": services/gc/arrows has no arrow pod -> records'),
            ("sideways", {"services/gc/sync/plan/d.h": pod + records}, "services/gc/arrows has no arrow sync/plan -> records"),
            ("to the top", {"services/gc/sync/c.h": '#include "services/gc/gc_service.h"\n'}, "sync may not include the service on top"),
            ("an unknown folder", {"services/gc/other/x.cc": ""}, "services/gc/arrows has no room for this folder"),
            ("an arrow too many", {"services/gc/records/b.h": ""}, "records -> pod: no include needs this arrow"),
        )
        for name, files, want in cases:
            with self.subTest(name):
                found = self.findings(**files)
                self.assertEqual(len(found), 1, found)
                self.assertIn(want, found[0])
        self.assertEqual(self.findings(**{"services/gc/pod/a_test.cc": sync, "services/gc/pod/pods_fixture.h": sync}), [], "tests")

    def test_a_room_names_lower_ones_only(self):
        found = self.findings(table=self.TABLE.replace("pod:\n", "pod: sync\n"), **{"services/gc/pod/a.h": '#include "services/gc/sync/c.h"\n'})
        self.assertEqual(found, ["pod -> sync: sync is not on a lower floor (a line above)"])
        self.assertIn('"what is this" is not "room: rooms", each room once', self.findings(table=self.TABLE + "what is this\n"))

    def test_the_page_has_the_same_rooms(self):
        self.assertEqual(len(self.findings(row=self.ROW.replace("records, ", ""))), 1)


class Shapes(unittest.TestCase):
    def test_a_constructor_counts_with_its_initialisers(self):
        for head in ("A::A(int a)\n    : ", "struct A {\n  explicit A(int a)\n    : ", "A::A(B b) noexcept\n    : "):
            with self.subTest(head):
                members = ",\n".join(f"m{i}_([this] {{\n F({i}); }})" if i % 2 else f"m{i}_{{{i}}}" for i in range(50))
                found = messages("libs/base/a.cc", f"{head}{members} {{\n  F();\n}}\n" + ("};\n" if "struct" in head else ""))
                self.assertEqual(len(found), 1, found)
                self.assertRegex(found[0], r"^(A::)?A: 7\d lines, at most 70$")

    POSITIONAL = (
        ("five", "F(A{a, b, c, d, e});", 1), ("four", "F(A{a, b, c, d});", 0), ("named", "F(A{.a = a, .b = b, .c = c, .d = d, .e = e});", 0),
        ("for a member", "A::A() : b_({a, b, c, d, e}) {}", 1), ("as an argument", "F(x, {a, b, c, d, e});", 1),
        ("literals", "F(A{1, 2, 3, 4, kFive});", 0), ("a table", "const int kA[] = {a, b, c, d, e};", 0),
        ("a container", "std::vector<int>{a, b, c, d, e};", 0), ("a class", "class A { int a, b, c, d, e; };", 0),
        ("an enum", "enum class A { a, b, c, d, e };", 0), ("a lambda", "F([] { G(a, b, c, d, e); });", 0),
        ("in it", "F(A{a, B{b, c}, G(d, e)});", 0),
    )

    def test_values_by_position(self):
        for name, text, want in self.POSITIONAL:
            with self.subTest(name):
                self.assertEqual(len(list(lint.lint_shapes.positional(text))), want)

    def test_fields_and_booleans(self):
        body = ("\n public:\n  A(int a) : a_(a) {}\n  int F(int b) const { int c = 0; return c; }\n  static constexpr int kD = 1;\n"
                "  enum class E { f, g };\n  using H = int;\n struct I { int j; bool k; };\n private:\n  std::map<int, bool> l_;\n"
                "  bool m_ = false, n_ = true;\n  const int* o_ = nullptr;\n  std::function<void(int)> p_{q};\n  void R();\n")
        self.assertEqual(lint.lint_shapes.fields_of(body), (5, 2))

    def findings(self, code, ratchets=""):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "scripts"))
            with open(os.path.join(root, lint.lint_shapes.RATCHETS), "w", encoding="utf-8") as file:
                file.write(ratchets)
            return [found[2] for found in lint.lint_shapes.check(root, [lint.Source("libs/bus/a.h", code)], lint.is_test)]

    def test_ratchets_only_shrink(self):
        five = "struct A {\n" + "".join(f"  bool b{i} = false;\n" for i in range(5)) + "};\n"
        row = "booleans libs/bus/a.h A "
        self.assertEqual(self.findings(five), ["A: 5 booleans, at most 3; an enum says which combinations there are"])
        self.assertEqual(self.findings(five, row + "5\n"), [])
        self.assertEqual(len(self.findings(five, row + "4\n")), 1)
        self.assertEqual(self.findings(five, row + "6\n"), [row + "is 5 now, not 6: lower it (scripts/lint.py --ratchets)"])
        self.assertEqual(len(self.findings("", row + "5\n")), 1)

    def test_a_clock_under_another_name(self):
        alias = "using Ticks = std::chrono::steady_clock;\n"
        self.assertEqual(self.findings(alias + "auto t = Ticks::now();\n"), ["Ticks::now: use the Clock that is passed in"])
        self.assertEqual(self.findings(alias + "Ticks::time_point t;\n"), [])


    def test_a_pod_is_parsed_in_one_place(self):
        for name, code, want in (
            ("a pod", "kube::Pod a, b;\nif (!a.ParseFromString(x) || !b.ParseFromString(y)) return;", 2),
            ("by its usual name", "bool F(Records& all) { return all.pod.ParseFromString(x); }", 1),
            ("without a name", "if (!kube::Pod().ParseFromString(x)) return;", 1),
            ("behind a pointer", "F(std::unique_ptr<kube::Pod> made) { made->ParseFromArray(x, 1); }", 1),
            ("a record with a pod", "v1::DesiredRecord record;\nrecord.ParseFromString(x);", 0),
            ("a status", "kube::PodStatus status;\nstatus.ParseFromString(x);\npod->mutable_status()->ParseFromString(x);", 0),
        ):
            with self.subTest(name):
                self.assertEqual(len(self.findings(code)), want)


class Words(unittest.TestCase):
    CASES = (
        ("a plain word", "a.md", "It is read anew.", ["anew"]), ("part of a word", "a.md", "a renewed factory of aftermath", []),
        ("in a name", "libs/fs/a.cc", "void SaveFact(int old_facts);", ["fact", "fact"]), ("history", "docs/history/a.md", "told anew", []),
        ("looked up", "a.md", "It is looked up.", []), ("looked at", "a.md", "It is looked at.", ["look"]),
        ("an opening", "libs/fs/a.h", "/// Of a pod that ended.", ["opening"]), ("a second sentence", "a.md", "It ends. What remains goes.", ["opening"]),
        ("a question", "a.md", "What?", []), ("a string", "libs/fs/a.cc", 'Log("What a pod");', []),
        ("ours", "libs/fs/a.cc", "PreemptionVictims all;", []), ("theirs", "libs/fs/a.cc", "Victims all;", ["victim"]),
    )

    def test_places(self):
        for name, path, text, want in self.CASES:
            with self.subTest(name):
                self.assertEqual([word for _, _, word in lint.lint_words.places([(path, text)])], want)

    def test_the_number_may_only_shrink(self):
        texts, key = [("a.md", "anew and anew")], ("word", "-", "anew")
        for allowed, want in (({key: 2}, 0), ({key: 1}, 1), ({key: 3}, 1), ({}, 1)):
            with self.subTest(str(allowed)):
                self.assertEqual(len(list(lint.lint_words.check(texts, allowed))), want)


if __name__ == "__main__":
    unittest.main(verbosity=0)
