"""links.py <source tree>: every relative link of the tree's Markdown files leads to a file, and to a heading where it names
one. Links to other sites are not followed. Every guide is in the navigation and in the README."""

import os
import re
import subprocess
import sys

root = os.path.realpath(sys.argv[1])


def pages():
    listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], check=True,
                            capture_output=True, text=True).stdout
    return [os.path.join(root, path) for path in listed.splitlines() if os.path.exists(os.path.join(root, path))]


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchor(heading):
    """As GitHub and mkdocs make it."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", words.lower()).strip())


def anchors(path):
    with open(path, encoding="utf-8") as file:
        headings = re.findall(r"^#+ +(.*)$", without_code(file.read()), flags=re.MULTILINE)
    return {anchor(heading) for heading in headings}


def broken(path):
    with open(path, encoding="utf-8") as file:
        text = without_code(file.read())
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(file):
            yield f"{target}: no such file"
        elif heading and file.endswith(".md") and heading not in anchors(file):
            yield f"{target}: no such heading"


def unlisted():
    """Guides that neither the site's navigation nor the README leads to."""
    for index in ("mkdocs.yml", "README.md"):
        with open(os.path.join(root, index), encoding="utf-8") as file:
            text = file.read()
        for guide in sorted(os.listdir(os.path.join(root, "docs", "guides"))):
            if f"docs/guides/{guide}" not in text:
                yield f"{index}: docs/guides/{guide} is not there"


def main():
    found = 0
    for problem in unlisted():
        found += 1
        print(problem, file=sys.stderr)
    checked = pages()
    for path in checked:
        for problem in broken(path):
            found += 1
            print(f"{os.path.relpath(path, root)}: {problem}", file=sys.stderr)
    print(f"{len(checked)} pages, {found} broken or missing links")
    return 1 if found or not checked else 0


sys.exit(main())
