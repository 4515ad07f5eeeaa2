"""Words that docs/glossary.md and CONTRIBUTING.md replace by the field's own, and openings that hide a sentence's subject.

scripts/ratchets has, for each word, how often the tree still has it: a line is "word, -, name, number", and the number
may only shrink. A count and not a ban, as some of the words have a right use ("a sign of life").
lint.py calls `check`; each finding is (path, line, message). `places` lists what a reader may want to mend.
"""

import re

# name -> (pattern, replacement)
WORDS = {
    "anew": (r"\banew\b", "again"),
    "at-once": (r"\bat once\b", "immediately, or at the same time"),
    "beat": (r"\bbeats?\b|Beats?(?=[A-Z(]|\b)", "heartbeat"),
    "fact": (r"\bfacts?\b|Facts?(?=[A-Z]|\b)|_facts?_?\b", "record"),
    "figures": (r"\bfigures\b|Figures", "stats"),
    "foreign": (r"\bforeign\b|Foreign(?=[A-Z]|\b)", "unmanaged, or the name of its owner"),
    "life": (r"\b(?:life|lives)\b|(?:Life|Lives)(?=[A-Z]|\b)", "incarnation"),
    "look": (r"\b[Ll]ook(?:s|ed|ing)?\b(?! up)|Looks?(?=[A-Z]|\b)", "inspect, inspection, read, list"),
    "meanwhile": (r"\bmeanwhile\b", "leave it out, or name the moment"),
    "nobody": (r"\b(?:nobody|somebody|whoever)\b", "the name of the process or caller"),
    "stranger": (r"\b[Ss]trangers?\b", "unmanaged pod, unknown peer, another program"),
    "told": (r"\b(?:told|tells?|telling)\b|(?:Told|Tell)s?(?=[A-Z]|\b)", "report, publish, send"),
    "verdict": (r"[Vv]erdict", "decision, terminal status, result"),
    "victim": (r"\bvictims?\b|(?<!Preemption)Victims?", "eviction, preemption victim"),
    "opening": (r"(?:^|(?<=[.:] ))(?:Of|What|Whoever|Those|Who|One|So that)\s+(?=[a-z])", "begin with the subject"),
}
COMPILED = {name: re.compile(pattern) for name, (pattern, _) in WORDS.items()}
COMMENT = re.compile(r"^\s*(?://+|#)\s?(.*)$|\s//+\s?(.*)$")
ENDINGS = (".cc", ".h", ".proto", ".md", ".sh", ".py")
SKIPPED = ("docs/history/", "proto/k8s.io/", "scripts/lint", "CHANGELOG.md")


def is_searched(path):
    return path.endswith(ENDINGS) and not path.startswith(SKIPPED)


def prose_of(path, text):
    """(line, text) of sentences: all of a page; of code its comments."""
    for number, line in enumerate(text.split("\n"), 1):
        if path.endswith(".md"):
            for cell in line.split("|"):
                yield number, cell.strip(" #*>-")
        else:
            comment = COMMENT.match(line) or COMMENT.search(line)
            if comment:
                yield number, comment.group(1) or comment.group(2) or ""


def places(texts):
    """(path, line, name) of each word in each text."""
    for path, text in texts:
        if not is_searched(path):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            for name, pattern in COMPILED.items():
                if name != "opening":
                    for _ in pattern.finditer(line):
                        yield path, number, name
        for number, sentence in prose_of(path, text):
            for _ in COMPILED["opening"].finditer(sentence):
                yield path, number, "opening"


def counts(texts):
    found = dict.fromkeys(WORDS, 0)
    for _, _, name in places(texts):
        found[name] += 1
    return {("word", "-", name): number for name, number in found.items() if number}


def check(texts, allowed):
    found = counts(texts)
    for name, (_, instead) in WORDS.items():
        key = ("word", "-", name)
        number, limit = found.get(key, 0), allowed.get(key, 0)
        if number > limit:
            yield "scripts/ratchets", 1, (f'"{name}" stands {number} times in the tree, at most {limit} are allowed: write {instead} '
                                          f"(scripts/lint.py --words lists them)")
        elif number < limit:
            yield "scripts/ratchets", 1, f'"{name}" stands only {number} times in the tree, not {limit}: scripts/lint.py --ratchets'
