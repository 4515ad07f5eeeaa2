#!/usr/bin/env python3
"""The man page of a command, from what the command itself prints for --help.

    man.py PROGRAM SECTION SEE-ALSO...     writes the page to stdout

Subcommands are asked in turn, so a page never knows less than its program.
"""

import re
import subprocess
import sys
from pathlib import Path

# Parses "  --log-level TEXT=info   debug, info, warn or error": a name, then a text that may begin on the
# next line.
ENTRY = re.compile(r"^  (\S.*?)(?:\s{2,}(.*))?$")
HEADING = re.compile(r"^([A-Z][\w ]*):$")


def help_of(program, path):
    ran = subprocess.run([program, *path, "--help"], check=True, capture_output=True, text=True)
    return ran.stdout


def parse(text):
    """Parses the text of --help: first line, usage, and the (name, text) pairs of each heading."""
    lines = text.splitlines()
    sections, entries = {}, None
    for line in lines[1:]:
        heading = HEADING.match(line)
        entry = ENTRY.match(line)
        if heading:
            entries = sections.setdefault(heading.group(1), [])
        elif entries is not None and line.startswith("     ") and entries:
            entries[-1][1] = (entries[-1][1] + " " + line.strip()).strip()
        elif entries is not None and entry:
            entries.append([entry.group(1), entry.group(2) or ""])
    usage = next((line.removeprefix("Usage: ") for line in lines if line.startswith("Usage: ")), "")
    return lines[0] if lines else "", usage, sections


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def entries_of(sections):
    for heading, entries in sections.items():
        if heading == "Subcommands":
            continue
        for name, text in entries:
            yield f".TP\n.B {roff(name)}\n{roff(text) or chr(92) + '&'}"


def subcommands(program, path, sections):
    """All commands without subcommands, with all their options."""
    for name, text in sections.get("Subcommands", []):
        inner = [*path, name.split(",")[0]]
        _, _, below = parse(help_of(program, inner))
        if "Subcommands" in below:
            yield from subcommands(program, inner, below)
            continue
        yield f".SS {roff(' '.join(inner))}\n{roff(text)}."
        yield from entries_of({heading: [entry for entry in entries if entry[0] != "-h,--help"]
                               for heading, entries in below.items()})


def page(program, section, see_also):
    name = Path(program).name
    first, usage, sections = parse(help_of(program, []))
    summary = first.split(":", 1)[-1].strip()
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    out = [f'.TH {name.upper()} {section} "" "{version}"', ".SH NAME", f"{name} \\- {roff(summary)}",
           ".SH SYNOPSIS", f".B {roff(usage)}", ".SH OPTIONS", *entries_of(sections)]
    commands = list(subcommands(program, [], sections))
    if commands:
        out += [".SH COMMANDS", *commands]
    if see_also:
        out += [".SH SEE ALSO", roff(", ".join(see_also))]
    return "\n".join(out) + "\n"


def main():
    sys.stdout.write(page(sys.argv[1], sys.argv[2], sys.argv[3:]))


if __name__ == "__main__":
    main()
