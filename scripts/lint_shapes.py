"""Shapes that make code hard to read: constructors, values by position, clocks under another name, large classes, pods parsed anywhere.

What stands in scripts/ratchets is allowed as it is there and may only shrink: a line is "rule, path, name, number".
lint.py calls `blank_initialisers` before it looks for functions, and `check`; each finding is (path, line, message).
"""

import os
import re

RATCHETS = "scripts/ratchets"
MAX_POSITIONAL = 4
MAX_FIELDS = 20
MAX_BOOLEANS = 3
CLOSING = {"(": ")", "{": "}", "[": "]", "<": ">"}

CONSTRUCTOR = re.compile(r"(?:\b([A-Z]\w*)(?:<[^<>;]*>)?::\1|(?:^|[;{}:])\s*(?:explicit\s+)?([A-Z]\w*))\s*(?=\()")
MEMBER_INITIALISER = re.compile(r"\s*[A-Za-z_][\w:]*\s*(?:<[^;{}]*?>)?\s*(?=[({])")
CLOCK_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*std::chrono::(?:steady|system|high_resolution)_clock\s*;")
AGGREGATE = re.compile(r"(?:(?<![\w:>])(?:[a-z_]\w*::)*[A-Z]\w*|\(|,)\s*(?=\{)")
POD_PARSER = "libs/kube/pod_bytes.cc"
POD_NAMES = re.compile(r"(?<!\w)Pod(?:>)?\s*[&*]?\s+(\w+(?:\s*,\s*\w+)*)\s*[;,)({=]")
CLASS = re.compile(r"\b(?:class|struct)\s+(\w+)(?:\s+final)?(?:\s*:[^{};]*)?\s*\{")
LITERAL = re.compile(r"(?:-?[\d'.]+\w*|\"[^\"]*\"|'[^']*'|true|false|nullptr|\w*::?k[A-Z]\w*|k[A-Z]\w*|\{\})$")
FIELD = re.compile(r"^(?:mutable\s+)?(?:const\s+)?[\w:]+(?:<.*>)?(?:\s+const)?[&*\s]+(\w+)\s*(?:=.*|\{.*)?$", re.DOTALL)
NO_FIELD = re.compile(r"^(?:using|typedef|friend|static|constexpr|inline|enum|class|struct|template|explicit|virtual|return|public|private"
                      r"|protected|case|default|operator|~)\b")


def end_of(code, start):
    """The offset of the bracket that closes the one at `start`, or -1."""
    stack = []
    for i in range(start, len(code)):
        c = code[i]
        if c in "({[":
            stack.append(CLOSING[c])
        elif c in ")}]":
            if not stack or stack.pop() != c:
                return -1
            if not stack:
                return i
    return -1


def initialisers(code):
    """(start, end) of each list of initialisers of a constructor: from its colon to its body."""
    for match in CONSTRUCTOR.finditer(code):
        close = end_of(code, match.end())
        colon = re.compile(r"\s*(?:noexcept\s*)?:(?!:)").match(code, close + 1) if close > 0 else None
        if not colon:
            continue
        at = colon.end()
        while True:
            name = MEMBER_INITIALISER.match(code, at)
            if not name:
                break
            at = end_of(code, name.end()) + 1
            if at == 0:
                break
            comma = re.compile(r"\s*,").match(code, at)
            if not comma:
                body = re.compile(r"\s*(?=\{)").match(code, at)
                if body:
                    yield colon.end() - 1, body.end()
                break
            at = comma.end()


def blank_initialisers(code):
    """The code with lists of initialisers blanked, line for line, so that a constructor looks like a function."""
    pieces, last = [], 0
    for start, end in initialisers(code):
        if start >= last:
            pieces += [code[last:start], re.sub(r"[^\n]", " ", code[start:end])]
            last = end
    return "".join(pieces) + code[last:]


def parts_of(code, start, end):
    """The parts between top-level commas of the brackets at `start` and `end`."""
    depth, begin, parts = 0, start + 1, []
    for i in range(start + 1, end):
        c = code[i]
        if c in "({[":
            depth += 1
        elif c in ")}]":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(code[begin:i].strip())
            begin = i + 1
    parts.append(code[begin:end].strip())
    return [part for part in parts if part]


def positional(code):
    """(offset, number) of each aggregate that is filled by position with more than MAX_POSITIONAL values."""
    for match in AGGREGATE.finditer(code):
        start = match.end()
        before = code[max(0, match.start() - 80):start]
        if re.search(r"\b(?:class|struct|enum|namespace|union)\b[^;{}]*$|\)\s*(?:const\s*)?(?:noexcept\s*)?$|\boperator\b[^;{}]*$", before):
            continue
        end = end_of(code, start)
        if end < 0 or ";" in code[start:end] and not re.search(r"\[", code[start:end]):
            continue
        parts = parts_of(code, start, end)
        if len(parts) > MAX_POSITIONAL and not parts[0].startswith((".", "{")) and \
                not all(LITERAL.match(part) for part in parts) and not any(re.match(r"(?:return|if|for)\b", p) for p in parts):
            yield start, len(parts)


def fields_of(body):
    """(fields, booleans) of the body of a class, without its nested classes and functions."""
    flat, depth, templates = [], 0, re.compile(r"<[^<>;{}]*>")
    while templates.search(body):
        body = templates.sub("", body)
    for c in body:
        if c in "{(":
            depth += 1
            flat.append("\0" if depth == 1 and c == "{" else "\1" if depth == 1 else "")
        elif c in "})":
            depth -= 1
            flat.append(";" if depth == 0 and c == "}" else "")
        elif depth == 0:
            flat.append(c)
    fields = booleans = 0
    for statement in "".join(flat).split(";"):
        statement = re.sub(r"\b(?:public|private|protected)\s*:", "", statement.split("\0")[0]).strip()
        if not statement or "\1" in statement.split("=")[0] or NO_FIELD.match(statement):
            continue
        if FIELD.match(statement):
            names = 1 + len(re.findall(r",\s*[*&]?\w+\s*(?:=[^,]*)?(?=,|$)", statement))
            fields += names
            booleans += names if re.match(r"(?:mutable\s+)?bool\s", statement) else 0
    return fields, booleans


def classes_of(code):
    for match in CLASS.finditer(code):
        end = end_of(code, match.end() - 1)
        if end > 0:
            yield match.group(1), match.start(), *fields_of(code[match.end():end])


def read_ratchets(root):
    """The allowed numbers in scripts/ratchets, by (rule, path, name)."""
    path, ratchets = os.path.join(root, RATCHETS), {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split("#")[0].split()
                if len(words) == 4:
                    ratchets[tuple(words[:3])] = int(words[3])
    return ratchets


def measured(sources, is_test):
    """(number, limit, source, offset) of each value above its limit, by (rule, path, name)."""
    found = {}

    def add(rule, source, name, number, limit, offset):
        key = (rule, source.path, name)
        before = found.get(key)
        total = number + (before[0] if before and rule == "positional" else 0)
        found[key] = (max(total, before[0]) if before else total, limit, source, offset)

    for source in sources:
        if not source.path.endswith((".cc", ".h")) or is_test(source.path) or "_fixture" in source.path:
            continue
        for offset, _ in positional(source.code):
            add("positional", source, "-", 1, 0, offset)
        for name, offset, fields, booleans in classes_of(source.code):
            if fields > MAX_FIELDS:
                add("fields", source, name, fields, MAX_FIELDS, offset)
            if booleans > MAX_BOOLEANS:
                add("booleans", source, name, booleans, MAX_BOOLEANS, offset)
    return found


TEXTS = {
    "positional": "an aggregate is filled by position with more than 4 values (here: {number}, at most {limit}); name its fields",
    "fields": "{name}: {number} fields, at most {limit}",
    "booleans": "{name}: {number} booleans, at most {limit}; an enum says which combinations there are",
}


def check_ratchets(root, sources, is_test):
    allowed, found = read_ratchets(root), measured(sources, is_test)
    for key, (number, limit, source, offset) in sorted(found.items(), key=lambda item: item[0]):
        if number > allowed.get(key, limit):
            text = TEXTS[key[0]].format(name=key[2], number=number, limit=allowed.get(key, limit))
            yield source.path, source.line_of(offset), text
    for key, number in sorted(allowed.items()):
        if key[0] in TEXTS and number > found.get(key, (0,))[0]:
            yield RATCHETS, 1, f"{' '.join(key)} is {found.get(key, (0,))[0]} now, not {number}: lower it (scripts/lint.py --ratchets)"


def write_ratchets(root, sources, is_test, words):
    """Writes the present values above a limit, and the count of each word in the tree."""
    with open(os.path.join(root, RATCHETS), "w", encoding="utf-8") as file:
        file.write("# rule path name number: what is above a limit of scripts/lint_shapes.py, or a word of scripts/lint_words.py; may only shrink\n")
        numbers = {key: number for key, (number, *_) in measured(sources, is_test).items()}
        for key, number in sorted({**numbers, **words}.items()):
            file.write(f"{' '.join(key)} {number}\n")


def check_clocks(sources):
    """Reports clocks under another name."""
    for source in sources:
        for match in CLOCK_ALIAS.finditer(source.code):
            alias = match.group(1)
            for call in re.finditer(rf"\b{alias}::now\b", source.code):
                if source.path != "libs/base/clock.cc":
                    yield source.path, source.line_of(call.start()), f"{alias}::now: use the Clock that is passed in"


def check_pods(sources, is_test):
    """Bytes become a pod in one place, which refuses bytes that are none and counts."""
    for source in sources:
        if source.path == POD_PARSER or is_test(source.path) or "_fixture" in source.path:
            continue
        names = {"pod", r"Pod\(\)"}
        for match in POD_NAMES.finditer(source.code):
            names.update(re.findall(r"\w+", match.group(1)))
        for match in re.finditer(rf"(?<!\w)(?:{'|'.join(sorted(names))})(?:\.|->)(?:Merge|Parse)From\w+\(", source.code):
            yield source.path, source.line_of(match.start()), "a pod is parsed by kube::PodBytes or kube::ParsePod (libs/kube/pod_bytes.h)"


def check(root, sources, is_test):
    yield from check_clocks(sources)
    yield from check_pods(sources, is_test)
    yield from check_ratchets(root, sources, is_test)
