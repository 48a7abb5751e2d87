"""blocks.py <source tree>: every code block of the documentation is claimed. It is a part of a source that is compiled, and says the same; or
another test runs it; or claims.toml says why nobody does. Blocks of "text" are pictures."""

import json
import os
import re
import subprocess
import sys

from pages import blocks, by_another_test, is_commands, read_claims, report, why_not_run

root = sys.argv[1]
claims = read_claims()


def region(source, name):
    """What stands between "// [name]" and "// [/name]", or "# [name]" and "# [/name]", without the indentation of the marks."""
    found = re.search(rf"^( *)(?://|#) \[{re.escape(name)}\]\n(.*?)^ *(?://|#) \[/{re.escape(name)}\]\n", source, flags=re.DOTALL | re.MULTILINE)
    if not found:
        return None
    indent = len(found.group(1))
    return "".join(line[indent:] if line.strip() else "\n" for line in found.group(2).splitlines(keepends=True))


def pattern(text):
    """Of a block in which lines "// ..." stand for any lines."""
    parts = re.split(r"^ *// \.\.\.\n", text, flags=re.MULTILINE)
    return r"(?:.*\n)*?".join(re.escape(part) for part in parts)


def compare(block, path, name, text):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        source = file.read()
    if not name:
        return None if re.search("^" + pattern(text), source, flags=re.MULTILINE) else f"{block}: not in {path}"
    shown = region(source, name)
    if shown is None:
        return f"{block}: {path} has no region [{name}]"
    return None if re.fullmatch(pattern(text), shown) else f"{block}: {path} [{name}] has\n{shown}"


def problem_of(block):
    """None when the block is claimed, and is what the claim says."""
    named = re.fullmatch(r"(\S+/\S+\.\w+)(?: \[([\w-]+)\])?", block.mark)
    if named:
        return compare(block, named.group(1), named.group(2), block.text)
    named = re.match(r"// (\S+) \[([\w-]+)\]\n", block.text)
    if named:
        return compare(block, named.group(1), named.group(2), block.text[named.end():])
    excuse = why_not_run(block, claims)
    if excuse:
        excuse["met"] = True
        return None
    claim = by_another_test(block, claims)
    if claim:
        claim["met"] = True
        return None
    if block.language == "json":
        json.loads(block.text)
        return None
    if block.language == "text" or is_commands(block):  # a picture, or run by commands.py
        return None
    return f"{block}: nobody runs it, or says why not"


def stale():
    names = subprocess.run(["grep", "-rhoE", r"\w+", os.path.join(root, "tests")], check=True, capture_output=True, text=True).stdout.split()
    known = set(names)
    for claim in claims["run"]:
        if "met" not in claim or not set(claim["test"].split(".")) <= known:
            yield f"claims.toml: {claim}: no such block, or no such test"
    for claim in claims["not_run"]:
        if "met" not in claim:
            yield f"claims.toml: {claim}: no such block"


everything = list(blocks(root))
problems = [problem for problem in map(problem_of, everything) if problem]
sys.exit(report(problems + list(stale()), f"{len(everything)} blocks"))
