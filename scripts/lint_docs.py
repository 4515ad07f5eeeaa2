"""What comments and pages cite: sources of class comments, files and headings of documents, rules of safety, tests; and
what docs/conformance.md counts.

lint.py calls `check`; each finding is (path, line, message). Where something is wrong in shape and not in truth, the
rule errs on the side of silence.
"""

import fnmatch
import os
import re

SKIPPED_FOLDERS = {"build", ".git", ".cache", "__pycache__"}
LABELS = r"In|Owns|Out|Killed(?: at any line)?|Threads|Errors|Units|Source"
LABEL = re.compile(rf"(?<!\S)({LABELS}):(?=\s|$)")
MAX_COLUMNS = 100

# Names in a Source that are not files of the tree.
PUBLIC_SOURCES = tuple(re.compile(pattern) for pattern in (
    r"(kubelet|kubectl|kuberuntime|client-go|containerd|prometheus|nats|systemd|runc)('s)? \S.*$",
    r"(the )?Kubernetes API( conventions)?(, \S.*)?$",
    r"CRI v1(, \S.*)?$", r"CSI(, \S.*)?$", r"RFC \d+$", r"SPDY/3\.1(, \S.*)?$", r"KEP-\d+$", r"W3C Trace Context(, \S.*)?$",
    r"the public OTLP (specification|exporter configuration)(, \S.*)?$", r"Go's \S.*$", r"[\w.-]+\(\d\)$"))
# A file with its headings or rules: docs/a.md, "Heading" and "Other"; docs/safety.md, rules 3, 4 and 7
# to 9.
FILE = r"[\w.-]+(?:/[\w.-]+)*\.(?:md|proto|h|cc|py|sh|yaml|json)"
PARTS = r'(?:,\s+"[^"]+"(?:(?:,|\s+and)\s+"[^"]+")*|,\s+rules?\s+\d+(?:(?:,|\s+and|\s+to)\s+\d+)*)'
FILE_SOURCE = re.compile(rf"({FILE})({PARTS}?)$")
CITATION = re.compile(rf"(?<![\w/.<>*{{}}-])({FILE})({PARTS})")
PAGE_NAME = re.compile(r"(?<![\w/.<>*{}-])((?:[\w.-]+/)*[\w-]+\.md)\b")
ABSENT = re.compile(r"\b(?:DESIGN|STYLE|LAYOUT|BUILD-NOTES)(?:\.md)?(?:,? rules?\b|:? \"|\.md| \d)|"
                    r"\b[a-z-]+ specs?,? (?:sections?\b|\d|\"|constants)")
HEADING = re.compile(r"^#+[ \t]+(.*?)[ \t]*$", re.MULTILINE)
RULE = re.compile(r"^(\d+)\. ", re.MULTILINE)

LINK = re.compile(r"\]\(([^()\s]+)\)")
TICKED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.*<>{},-]+(?:/[\w.*<>{},-]+)*/?$")
FILE_NAME = re.compile(r"[\w*-]+\.(?:h|cc|py|sh|proto|\*|\{h,cc\})$")
TEST_NAME = re.compile(r"(?:[A-Z]\w*/)?([A-Z]\w*)\.([A-Z]\w*|\*)(?:/[\w*]+)?$")
TEST_CASE = re.compile(r"\b(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)")
GTEST_FILTER = re.compile(r"--gtest_filter='?([^\s'`]+)")
MEMBER = re.compile(r"(?:\w+::)*([A-Z]\w*)(?:<\w*>)?::(\w+)(?:\(.*)?$")
CONFORMANCE = "docs/conformance.md"
COVERED = ("covered", "partly", "otherwise", "not yet")
SERVICE = re.compile(r"^service\s+(\w+)\s*\{", re.MULTILINE)


def line_at(text, offset):
    return text.count("\n", 0, offset) + 1


class Tree:
    """Files and folders by path; reads pages and other texts on demand."""

    def __init__(self, root):
        self.root = root
        self.files, self.folders = [], set()
        for folder, folders, names in os.walk(root):
            folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith(".run")]
            here = os.path.relpath(folder, root)
            self.folders.add("" if here == "." else here)
            self.files += [os.path.normpath(os.path.join(here, name)) for name in names]
        self.file_set, self.names = set(self.files), {os.path.basename(f) for f in self.files}
        self.top = {f.split("/")[0] for f in self.folders if f}
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                self.texts[path] = file.read()
        return self.texts[path]

    def pages(self):
        return sorted(f for f in self.files if f.endswith(".md"))

    def find(self, path, folder):
        """The file that a path in a text of `folder` names."""
        for base in ("", folder, "docs"):
            candidate = os.path.normpath(os.path.join(base, path))
            if candidate in self.file_set:
                return candidate
        if "/" not in path:
            return next((f for f in self.pages() if os.path.basename(f) == path), None)
        return None

    def matches(self, pattern, folder):
        """True if a path with *, {a,b} or <name> matches a file."""
        pattern = re.sub(r"<[^>]*>|\b[A-Z]{3,}\b", "*", pattern.rstrip("/"))
        choice = re.search(r"\{([^}]*)\}", pattern)
        patterns = [pattern]
        if choice:
            patterns = [pattern.replace(choice.group(0), one) for one in choice.group(1).split(",")]
        for one in patterns:
            here = [os.path.normpath(os.path.join(base, one)) for base in ("", folder)]
            if any(h in self.file_set or h in self.folders for h in here):
                continue
            if not any(fnmatch.fnmatchcase(f, h) for h in here if "*" in h for f in (*self.files, *self.folders)):
                return False
        return True


def part_problem(tree, path, parts):
    """The heading or rule of `, "Heading" and ...` or `, rules 1 and ...` that the file lacks, or None."""
    text = tree.text(path)
    for heading in re.findall(r'"([^"]+)"', parts):
        if " ".join(heading.split()) not in HEADING.findall(text):
            return f'{path} has no heading "{" ".join(heading.split())}"'
    if "rule" in parts:
        known = set(RULE.findall(text))
        for number in re.findall(r"\d+", parts):
            if number not in known:
                return f"{path} has no rule {number}"
    return None


def source_problem(tree, source, folder):
    """The reason why a part of a Source label is invalid, or None."""
    match = FILE_SOURCE.match(source)
    if match:
        path = tree.find(match.group(1), folder)
        return part_problem(tree, path, match.group(2)) if path else f"there is no {match.group(1)}"
    if any(pattern.match(source) for pattern in PUBLIC_SOURCES):
        return None
    return f'"{source}" is neither a file of the tree nor a public source'


def comment_blocks(text):
    """(first line, lines without the comment mark) of each run of comment lines."""
    block, start = [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        match = re.match(r"[ \t]*//+ ?(.*)$", line)
        if match:
            if not block:
                start = number
            block.append(match.group(1))
        elif block:
            yield start, block
            block = []


def check_labels(path, text):
    for start, lines in comment_blocks(text):
        labelled = any(LABEL.match(line) for line in lines)
        for i, line in enumerate(lines):
            for match in LABEL.finditer(line):
                before = line[:match.start()].rstrip()
                if before and (labelled or before.endswith(".")):
                    yield path, start + i, f'"{match.group(0)}" begins its line'
            if LABEL.match(line) and len(line) + 4 > MAX_COLUMNS:
                yield path, start + i, f"{len(line) + 4} columns, at most {MAX_COLUMNS}"


def check_sources(tree, path, text):
    folder = os.path.dirname(path)
    for start, lines in comment_blocks(text):
        joined = "\n".join(lines)
        for match in re.finditer(rf"^Source:\s+(.*?)(?=\n(?:{LABELS}):|\.\s|\.?\Z)", joined,
                                 re.DOTALL | re.MULTILINE):
            line = start + joined.count("\n", 0, match.start())
            for source in " ".join(match.group(1).split()).rstrip(".").split("; "):
                problem = source_problem(tree, source, folder)
                if problem:
                    yield path, line, f"Source: {problem}"


def check_citations(tree, path, text):
    """Checks every citation of a document, a heading or a rule."""
    folder = os.path.dirname(path)
    for match in ABSENT.finditer(text):
        yield path, line_at(text, match.start()), f"{match.group(0)}: cites a document that is not in the tree"
    plain = re.sub(r"\n[ \t]*(?://+|#)[ \t]?", lambda m: "\n" + " " * (len(m.group(0)) - 1), text)
    for match in PAGE_NAME.finditer(plain):
        if not tree.find(match.group(1), folder):
            yield path, line_at(plain, match.start()), f"there is no {match.group(1)}"
    for match in CITATION.finditer(re.sub(r"\s", " ", plain)):
        cited = tree.find(match.group(1), folder)
        problem = cited and part_problem(tree, cited, match.group(2))
        if problem:
            yield path, line_at(plain, match.start()), problem


def check_page(tree, path, text, known):
    """Checks links, and paths, class members and test names in backquotes."""
    folder = os.path.dirname(path)
    for match in LINK.finditer(text):
        target = match.group(1).split("#")[0]
        if target and "://" not in target and not os.path.exists(os.path.join(tree.root, folder, target)):
            yield path, line_at(text, match.start()), f"the link to {target} leads nowhere"
    for match in TICKED.finditer(text):
        for word in match.group(1).split():
            problem = word_problem(tree, word.strip(",;:()'\""), folder, known)
            if problem:
                yield path, line_at(text, match.start()), problem
    for match in GTEST_FILTER.finditer(text):
        for name in match.group(1).split(":"):
            suite, _, case = name.split("/")[-1 if "/" in name.split(".")[0] else 0].partition(".")
            if not any(fnmatch.fnmatchcase(s, suite) and fnmatch.fnmatchcase(c, case or "*") for s, c in known["cases"]):
                yield path, line_at(text, match.start()), f"no test matches {name}"


def word_problem(tree, word, folder, known):
    test = TEST_NAME.match(word)
    if test:
        suite, case = test.groups()
        if suite in known["services"] or (suite, case) in known["cases"]:
            return None
        if case == "*" and any(suite == s for s, _ in known["cases"]):
            return None
        return f"there is no test {suite}.{case}"
    member = MEMBER.match(word)
    if member:
        gone = [name for name in member.groups() if name not in known["words"]]
        return f"there is no {gone[0]} in the code" if gone else None
    if not PATH.match(word):
        return None
    if "/" in word and word.split("/")[0] in tree.top:
        return None if tree.matches(word, folder) else f"there is no {word}"
    if FILE_NAME.match(word) and not re.match(r"\W", word):
        names = re.sub(r"\{h,cc\}", "*", word)
        return None if any(fnmatch.fnmatchcase(n, names) for n in tree.names) else f"there is no file {word}"
    return None


def check_conformance(text):
    """Checks that cases are numbered in sequence, that each has its coverage, and that the table at the top has their counts."""
    counts, told, section, last = {}, {}, None, None
    for number, line in enumerate(text.split("\n"), 1):
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if line.startswith("## "):
            section, last = line[3:].strip(), None
            counts[section] = dict.fromkeys(COVERED, 0)
        elif section is None and len(cells) == 2 + len(COVERED) and cells[1].isdigit():
            told[cells[0]] = cells[1:], number
        elif len(cells) == 3 and cells[0].isdigit():
            if last is not None and int(cells[0]) != last + 1:
                yield CONFORMANCE, number, f"case {cells[0]} follows case {last}"
            last = int(cells[0])
            how = "covered" if cells[2].startswith("`") else cells[2].partition(":")[0]
            if how not in COVERED:
                yield CONFORMANCE, number, f"case {last} says neither tests nor one of: {', '.join(COVERED[1:])}"
                continue
            counts[section][how] += 1
    counts["all"] = {how: sum(one[how] for one in counts.values()) for how in COVERED}
    for section, ways in counts.items():
        row = [str(sum(ways.values())), *(str(ways[how]) for how in COVERED)]
        found, number = told.get(section, (None, 1))
        if found != row:
            yield CONFORMANCE, number, f"the row of {section} counts {' | '.join(row)}"


def check_headers(tree, exceptions):
    """Each .cc of the product has its header. `exceptions`: its library, service or program, and its name."""
    left = set(exceptions)
    for path in sorted(tree.files):
        if not path.endswith(".cc") or path.split("/")[0] not in ("libs", "services", "ctl", "chaos", "kubelet"):
            continue
        name = os.path.basename(path)[:-3]
        if name.endswith(("_test", "_fuzz", "main")) or path[:-3] + ".h" in tree.file_set:
            continue
        parts = path.split("/")
        owner = parts[0] if parts[0] in ("ctl", "chaos", "kubelet") else parts[1]
        if (owner, name) not in exceptions:
            yield path, 1, f"there is no {name}.h: a reader looks there for what this file does"
        left.discard((owner, name))
    for owner, name in sorted(left):
        yield "scripts/lint.py", 1, f"HEADERLESS: take {owner}/{name} out, it is gone or has its header"


def check(root, sources, exceptions):
    """`sources`: (path, text) of code; `exceptions`: those of check_headers."""
    tree = Tree(root)
    code = [(p, t) for p, t in sources if p.endswith((".cc", ".h"))]
    protos = [(p, t) for p, t in sources if p.startswith("proto/splitlet") and p.endswith(".proto")]
    known = {"cases": {m.groups() for p, t in code for m in TEST_CASE.finditer(t)},
             "words": {word for _, t in code for word in re.findall(r"\w+", t)},
             "services": {name for _, t in protos for name in SERVICE.findall(t)}}
    for path, text in sources:
        if path.endswith((".cc", ".h", ".proto")):
            yield from check_labels(path, text)
            yield from check_sources(tree, path, text)
        if not path.endswith("_test.py") and not path.startswith("scripts/lint"):
            yield from check_citations(tree, path, text)
    for path in tree.pages():
        yield from check_citations(tree, path, tree.text(path))
        yield from check_page(tree, path, tree.text(path), known)
    if CONFORMANCE in tree.file_set:
        yield from check_conformance(tree.text(CONFORMANCE))
    yield from check_headers(tree, exceptions)
