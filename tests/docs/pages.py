"""The code blocks of the documentation, for the tests beside this file."""

import glob
import os
import re
import sys
import tomllib
from typing import NamedTuple


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str
    mark: str  # what the comment in front of it says, or nothing

    @property
    def first(self):
        return self.text.partition("\n")[0]

    def __str__(self):
        return f"{self.page}:{self.line}: {self.first}"


def pages(root):
    named = [os.path.join(root, "README.md"), os.path.join(root, "clients", "README.md")]
    return named + sorted(glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True))


def blocks(root):
    for path in pages(root):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for found in re.finditer(r"(?:^<!-- ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
            line = text.count("\n", 0, found.start(2)) + 1
            yield Block(os.path.relpath(path, root), line, found.group(2), found.group(3), found.group(1) or "")


def read_claims():
    with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "claims.toml"), "rb") as file:
        return tomllib.load(file)


def why_not_run(block, claims):
    """The entry of claims.toml that says it, or None."""
    return next((claim for claim in claims["not_run"] if claim["page"] == block.page and block.first.startswith(claim["first"])), None)


def by_another_test(block, claims):
    """The entry of claims.toml that says which test runs it, or None."""
    for claim in claims["run"]:
        if claim.get("page", block.page) == block.page and claim["language"] == block.language and block.first.startswith(claim.get("first", "")):
            return claim
    return None


def is_commands(block):
    """Whether it is for commands.py: a reader's terminal with nothing but commands of the program, and questions to its admin server."""
    typed = [line for line in block.text.splitlines() if line.startswith("$ ")]
    ours = all(re.match(r"\$ (?:[A-Z_]+=\S+ )*(?:postroom|export|curl) ", line) for line in typed)
    return block.language in ("", "console") and block.first.startswith("$ ") and ours


def clean_environment(**more):
    """Without the settings of whoever runs the test."""
    return dict({name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}, **more)


def report(problems, what):
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{what}, {len(problems)} of them wrong")
    return 1 if problems else 0
