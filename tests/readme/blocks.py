#!/usr/bin/env python3
"""The command blocks of the READMEs.

    blocks.py check             every block says whether it is run; exit code 1 and a line for each that does not
    blocks.py list GROUP[,GROUP...] FILE   the lines of the file's blocks of these groups, in their order

A block is what stands between two lines of three backticks without a language. Above it stands an HTML comment, which
readers of the page do not see: `<!-- run: GROUP -->`, or `<!-- not run: REASON -->`. run.sh says what the groups are.
"""

import re
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
GROUPS = ("local", "long", "samples", "cluster")
MARK = re.compile(r"<!-- (?:run: (?P<group>\w+)|not run: (?P<reason>\S.{9,})) -->")


def blocks(text):
    """(line number of the fence, mark or None, lines) of each block without a language."""
    found, open_at, language, before = [], None, "", ""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            before = line if line.strip() else before
            continue
        if open_at is None:
            open_at, language = number, line[3:].strip()
            mark = MARK.fullmatch(before.strip())
        else:
            if not language:
                found.append((open_at, mark, lines[open_at:number - 1]))
            open_at, before = None, ""
    return found


def pages():
    listed = subprocess.run(["git", "-C", str(TREE), "ls-files", "*.md"], capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else []
    return [TREE / name for name in names] or sorted(TREE.rglob("*.md"))


def problems(name, text):
    for number, mark, _ in blocks(text):
        if mark is None:
            yield f"{name}:{number}: the block does not say whether it is run: <!-- run: GROUP --> or <!-- not run: REASON -->"
        elif mark["group"] and mark["group"] not in GROUPS:
            yield f"{name}:{number}: there is no group {mark['group']}: {', '.join(GROUPS)}"


def check():
    found = [line for page in pages() for line in problems(page.relative_to(TREE), page.read_text())]
    print("\n".join(found) if found else "every block says whether it is run")
    return 1 if found else 0


def commands(groups, text):
    """The lines of the blocks without their marks; an empty line if there are none."""
    for _, mark, lines in blocks(text):
        if mark and mark["group"] in groups.split(","):
            yield from (line for line in lines if line.strip() and not line.startswith("#"))


def main():
    if sys.argv[1:2] == ["check"]:
        return check()
    if len(sys.argv) == 4 and sys.argv[1] == "list":
        print("\n".join(commands(sys.argv[2], (TREE / sys.argv[3]).read_text())))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
