#!/usr/bin/env python3
"""The house rules that no other tool checks: include arrows, sizes, banned calls, undocumented metrics and fail
points, and what comments and pages cite (lint_docs.py).

    lint.py [ROOT]      prints "file:line: message" for each finding; exit code 1 if there is one
    lint.py --ratchets  writes scripts/ratchets from what the tree has now (lint_shapes.py, lint_words.py)
    lint.py --words     lists the places of the words that the tree should lose (lint_words.py)

Text is looked at without comments and strings where it matters; there is no parser, so a rule errs on the side
of silence when code is laid out in a way that clang-format would not leave.
"""

import bisect
import os
import re
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lint_arrows  # noqa: E402  (the path is set just above)
import lint_docs  # noqa: E402  (the path is set just above)
import lint_processes  # noqa: E402
import lint_shapes  # noqa: E402
import lint_words  # noqa: E402

# Libraries that a library may include; those that these may include are allowed too. See
# ARCHITECTURE.md.
LIB_ARROWS = {
    "base": set(),
    "config": {"base"},
    "exec": {"base"},
    "dbus": {"exec", "fs"},
    "fs": {"exec"},
    "kube": {"base"},
    "process": {"base", "fs"},
    "logs": {"base", "fs", "kube"},
    "node": {"fs", "kube"},
    "cgroup": {"dbus", "fs", "kube"},
    "rpc": {"exec"},
    "bus": {"exec", "rpc"},
    "peers": {"rpc"},
    "plugins": {"fs", "rpc"},
    "cri": {"exec", "kube", "logs", "rpc"},
    "csi": {"kube", "rpc"},
    "apiclient": {"exec", "fs", "http", "kube", "process", "x509"},
    "fake_api": {"apiclient", "exec", "kube"},
    "http": {"base"},
    "https": {"fs"},
    "spdy": {"base"},
    "trace": {"http", "rpc"},
    "x509": {"base"},
    "daemon": {"apiclient", "config", "exec", "bus", "fs", "https", "node", "rpc", "trace", "kube"},
    "operate": {"bus", "kube", "process", "rpc"},
}
# Sources without a header of the same name, by library, service or program. The list only shrinks.
HEADERLESS = set()  # {("cri", "fake_state")}
TOOLS = ("ctl", "chaos", "kubelet")  # programs for people, a folder each; their common code is in
                                     # libs/operate
MAX_FILE_LINES = 700
MAX_FUNCTION_LINES = 70
MAX_PARAMETERS = 4
SKIPPED_FOLDERS = {"build", ".git", ".cache", "__pycache__"}
CODE_ENDINGS = (".cc", ".h")
TEXT_ENDINGS = CODE_ENDINGS + (".sh", ".py", ".proto", ".cmake", ".yaml", ".txt")

# pattern on code without comments and strings; message; True for exempt files
BANNED_CALLS = (
    (r"\b(?:system|steady|high_resolution)_clock::now\b", "use the Clock that is passed in",
     lambda path: path == "libs/base/clock.cc"),
    (r"\bsleep_(?:for|until)\b|\b(?:u|nano)sleep\s*\(|(?<![\w.>])sleep\s*\(", "no sleeping; wait for a condition",
     # The term delay(...), and code that polls other programs until a deadline.
     lambda path: path == "libs/base/fail_point.cc" or path.startswith(("tests/harness/", "tests/bench/"))),
    (r"\bstd::async\b", "no std::async; use a strand", lambda path: False),
    (r"\.\s*detach\s*\(\s*\)", "no detached threads", lambda path: False),
    (r"\bstd::(?:views|ranges::(?:unique|remove|remove_if|partition|stable_partition|rotate|search|equal_range))\b",
     "clang 14 does not compile it", lambda path: False),
    (r"\bstd::(?:recursive_|shared_|timed_)?mutex\b|\bstd::condition_variable\b",
     "no mutex in services: the loop thread owns the state",
     lambda path: not path.startswith("services/") or is_test(path)),
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
# In two parts, so that this file does not match itself.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME)\b")
SILENCED = re.compile(r"NO" r"LINT\w*(\([^)]+\))?(:?\s*\S+)?")
METRIC = re.compile(r'(?<!section\()"((?:splitlet|kubelet)_[a-z0-9_]+)"')
NAMED_METRIC = re.compile(r'\bName\(\s*"([a-z][a-z0-9_]+)"')
DOCUMENTED_METRIC = re.compile(r"`((?:splitlet|kubelet)_[a-z0-9_]+)`")
ABSENT_ROW = re.compile(r"^\|[^|]*\| (?:not yet|never)\b.*$", re.MULTILINE)  # a metric of a kubelet, and why it is
                                                                             # absent here
FAIL_POINT = re.compile(r'\bFAIL_POINT(?:_[A-Z]+)?\(\s*"([^"]+)"')


class Finding(NamedTuple):
    path: str
    line: int
    message: str


def is_test(path):
    return path.startswith("tests/") or path.endswith("_test.cc") or "/fake_" in path


class Source:
    """One file: its text, and the same text with comments and the insides of strings blanked, line for line."""

    TOKEN = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"([^()\s\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'',
        re.DOTALL)

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.newlines = [i for i, c in enumerate(text) if c == "\n"]
        self.code = self.TOKEN.sub(self._blank, text)

    @staticmethod
    def _blank(match):
        text = match.group(0)
        quote = text[-1] if text[0] in "\"'R" else " "
        return quote + re.sub(r"[^\n]", " ", text[1:-1]) + quote

    def line_of(self, offset):
        return bisect.bisect_left(self.newlines, offset) + 1

    def finding(self, offset, message):
        return Finding(self.path, self.line_of(offset), message)


def reachable_libs(lib):
    """The library and all libraries that it may use, directly or through others."""
    seen, todo = set(), [lib]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(LIB_ARROWS.get(name, ()))
    return seen


def wrong_arrow(path, included):
    """The reason why a file may not include another one, or None."""
    here, there = path.split("/"), included.split("/")
    if there[0] == "services":
        if here[0] == "services" and here[1] == there[1]:
            return None
        if here[0] == "tests":
            return None
        return "only its own service and tests may include a service"
    if here[0] in ("libs", "services", *TOOLS) and there[0] in ("tests", *TOOLS) and here[0] != there[0] and not is_test(path):
        return f"{here[0]} may not include {there[0]}"
    if here[0] != "libs" or there[0] != "libs" or is_test(path):
        return None
    if there[1] not in reachable_libs(here[1]):
        return f"libs/{here[1]} may not use libs/{there[1]} (see the table in ARCHITECTURE.md)"
    return None


def check_includes(source):
    for match in INCLUDE.finditer(source.text):
        included = match.group(2)
        if included.startswith("absl/") and source.path != "libs/base/status.h":
            yield source.finding(match.start(2), "Abseil comes through libs/base/status.h")
        if match.group(1) == '"':
            if included.startswith("."):
                yield source.finding(match.start(2), "includes are written from the root of the tree")
            reason = wrong_arrow(source.path, included)
            if reason:
                yield source.finding(match.start(2), f'include "{included}": {reason}')
    if source.path.startswith("libs/"):
        lib = source.path.split("/")[1]
        if lib not in LIB_ARROWS:
            yield Finding(source.path, 1, f"libs/{lib} is not in the table of libraries")


def check_banned_calls(source):
    for pattern, message, exempt in BANNED_CALLS:
        if exempt(source.path):
            continue
        for match in re.finditer(pattern, source.code):
            yield source.finding(match.start(), f"{' '.join(match.group(0).split())}: {message}")


def check_silencing(source):
    for match in SILENCED.finditer(source.text):
        if "END" in match.group(0)[:10]:
            continue
        if not match.group(1) or not match.group(2):
            yield source.finding(match.start(), "a silenced check is named, with the reason after a colon")


def check_unfinished(source):
    for match in UNFINISHED.finditer(source.text):
        yield source.finding(match.start(), f"{match.group(0)}: finish it, or leave it out and say so in the docs")


def check_file_size(source):
    lines = source.text.count("\n")
    if lines > MAX_FILE_LINES:
        yield Finding(source.path, 1, f"{lines} lines, at most {MAX_FILE_LINES}")


class Function(NamedTuple):
    name: str
    start: int  # offsets of the first character of the head and of the closing brace
    end: int
    parameters: int


TEMPLATE_HEAD = re.compile(r"^\s*template\s*<")
SCOPE_HEAD = re.compile(r"^\s*(?:(?:static|const|constexpr|inline|typedef|export)\s+)*"
                        r"(?:namespace|class|struct|union|enum|extern)\b")
AFTER_PARAMETERS = re.compile(r"\)\s*(?:(?:const|noexcept|override|final|mutable|try|&&?)\s*)*"
                              r"(?:->[^{}]*|requires[^{}]*|:[^:{}].*)?$", re.DOTALL)


def without_template(head):
    """The declaration after `template <...>`."""
    while TEMPLATE_HEAD.match(head):
        depth, i = 0, head.index("<")
        while i < len(head):
            depth += {"<": 1, ">": -1}.get(head[i], 0)
            i += 1
            if depth == 0:
                break
        head = head[i:]
    return head


def is_function_head(head):
    head = without_template(head)
    if SCOPE_HEAD.match(head) or not head.strip():
        return False
    if re.search(r"[\w>}]$", head) and not re.search(r"\)[^()]*\s\w+$|->\s*[\w:<>*& ,]+$", head):
        return False
    return bool(AFTER_PARAMETERS.search(head.rstrip()))


def parameters_of(head):
    """Commas at the top of the first parentheses that follow the name, plus one; 0 when they are empty."""
    head = re.sub(r"\boperator\s*\(\s*\)", "operator_call", without_template(head))
    opening = head.find("(")
    if opening < 0 or head[:opening].isspace() or re.match(r"\s*[A-Z_]+$", head[:opening]):
        return 0  # a macro such as TEST(...)
    depth, angle, commas, content = 0, 0, 0, False
    for c in head[opening:]:
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                break
        elif c in "<>":
            angle += 1 if c == "<" else -1
        elif c == "," and depth == 1 and angle <= 0:
            commas += 1
        content = content or (not c.isspace() and c != "(")
    return commas + 1 if content else 0


def functions_of(code):
    """Functions defined outside of other functions, with their extent. Members of classes count."""
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), code,
                  flags=re.MULTILINE | re.DOTALL)
    code = lint_shapes.blank_initialisers(code)
    stack, inside, head_start = [], None, 0
    for match in re.finditer(r"[{};]|\b(?:public|private|protected)\s*:", code):
        token, at = match.group(0), match.start()
        if token == "{":
            head = code[head_start:at]
            kind = "scope"
            if inside is not None or re.search(r"[=,(\w>]$", head) and not head.endswith(" ") or head.rstrip().endswith("="):
                kind = "inner"
            elif is_function_head(head):
                kind = "function"
                inside = (head_start + len(head) - len(head.lstrip()), head)
            elif not SCOPE_HEAD.match(without_template(head)):
                kind = "inner"
            stack.append(kind)
            if kind != "inner":
                head_start = at + 1
        elif token == "}":
            kind = stack.pop() if stack else "scope"
            if kind == "function":
                start, head = inside
                name = re.search(r"([\w:~]+)\s*\(", without_template(head))
                yield Function(name.group(1) if name else head.split()[-1], start, at, parameters_of(head))
                inside = None
            if inside is None and kind != "inner":
                head_start = at + 1
        elif inside is None and "inner" not in stack:
            head_start = match.end()


def check_functions(source):
    for function in functions_of(source.code):
        lines = source.line_of(function.end) - source.line_of(function.start) + 1
        if lines > MAX_FUNCTION_LINES:
            yield source.finding(function.start, f"{function.name}: {lines} lines, at most {MAX_FUNCTION_LINES}")
        # lower_case_with_lines: a virtual function of a library; our functions have another style.
        ours = not re.fullmatch(r"[a-z]+(?:_[a-z]+)+", function.name.rsplit("::", 1)[-1])
        if ours and function.parameters > MAX_PARAMETERS:
            yield source.finding(
                function.start, f"{function.name}: {function.parameters} parameters, at most {MAX_PARAMETERS}; use a struct")


def documented(root, name, pattern):
    """Names in backquotes in a page of docs/; empty if the page does not exist."""
    path = os.path.join(root, "docs", name)
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as page:
        return set(re.findall(pattern, ABSENT_ROW.sub("", page.read())))


def registered(sources, pattern, want):
    """First place of each name in the sources that `want` accepts."""
    names = {}
    for source in sources:
        if want(source.path):
            for match in pattern.finditer(source.text):
                names.setdefault(match.group(1), source.finding(match.start(1), ""))
    return names


def check_documented(root, sources):
    """Checks that each metric and fail point is in its page, and that each one in a page exists."""
    def product(path):
        return path.endswith(CODE_ENDINGS) and path.startswith(("libs/", "services/", *(f"{tool}/" for tool in TOOLS))) and not is_test(path)

    metrics = registered(sources, METRIC, product)
    metrics.update(registered(sources, NAMED_METRIC, lambda p: product(p) and p.endswith("metrics.h")))
    points = registered(sources, FAIL_POINT, lambda p: product(p) and p != "libs/base/fail_point.h")
    for page, what, names, pattern in (
            ("metrics.md", "metric", metrics, DOCUMENTED_METRIC),
            ("fail-points.md", "fail point", points, re.compile(r"^\|[ ]*`([a-z0-9-]+\.[A-Za-z0-9.-]+)`", re.MULTILINE))):
        known = documented(root, page, pattern)
        mentioned = documented(root, page, re.compile(r"`([^`\s]+)`"))
        for name, place in sorted(names.items()):
            if name not in mentioned:
                yield Finding(place.path, place.line, f"{what} {name} is not in docs/{page}")
        for name in sorted(known - set(names)):
            yield Finding(f"docs/{page}", 1, f"{what} {name} is documented, but nothing has it")


def read_tree(root, endings=TEXT_ENDINGS):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith(".run"))
        for name in sorted(names):
            if name.endswith(endings):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    yield Source(os.path.relpath(path, root), file.read())


CODE_CHECKS = (check_includes, check_banned_calls, check_silencing, check_functions)


def check_source(source):
    yield from check_unfinished(source)
    if source.path.endswith(CODE_ENDINGS + (".sh", ".py")):
        yield from check_file_size(source)
    if source.path.endswith(CODE_ENDINGS):
        for check in CODE_CHECKS:
            yield from check(source)


def lint(root, headerless=frozenset()):
    sources = list(read_tree(root))
    findings = [finding for source in sources for finding in check_source(source)]
    findings.extend(check_documented(root, sources))
    texts = texts_of(sources)
    findings.extend(Finding(*found) for found in lint_words.check(texts + pages(root), lint_shapes.read_ratchets(root)))
    findings.extend(Finding(*found) for found in lint_processes.check(root))
    findings.extend(Finding(*found) for found in lint_arrows.check(root, texts))
    findings.extend(Finding(*found) for found in lint_shapes.check(root, sources, is_test))
    findings.extend(Finding(*found) for found in lint_docs.check(root, texts, headerless))
    return sorted(findings)


def texts_of(sources):
    return [(source.path, source.text) for source in sources]


def pages(root):
    return texts_of(read_tree(root, (".md",)))


def main():
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    roots = [argument for argument in sys.argv[1:] if argument not in options]
    root = os.path.normpath(roots[0] if roots else os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if options == ["--ratchets"]:
        sources = list(read_tree(root))
        lint_shapes.write_ratchets(root, sources, is_test, lint_words.counts(texts_of(sources) + pages(root)))
        return 0
    if options == ["--words"]:
        for path, line, word in lint_words.places(texts_of(read_tree(root)) + pages(root)):
            print(f"{path}:{line}: {word}")
        return 0
    findings = lint(root, HEADERLESS)
    for finding in findings:
        print(f"{finding.path}:{finding.line}: {finding.message}")
    if findings:
        print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
