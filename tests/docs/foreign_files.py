"""foreign_files.py <source tree> <program>: the files for other programs that the documentation shows are what these programs, and ours, want."""

import os
import shutil
import subprocess
import sys
import tempfile

from pages import blocks, clean_environment

root, program = sys.argv[1:3]


def shown(page, first):
    return next(block.text for block in blocks(root) if block.page == page and block.first.startswith(first))


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def check_prometheus(folder):
    shutil.copy(os.path.join(root, "deploy", "prometheus", "alerts.yml"), folder)
    config = write(folder, "prometheus.yml", shown("docs/guides/on-call.md", "rule_files:"))
    subprocess.run(["promtool", "check", "config", config], check=True)


def check_freetds(folder):
    """With the section the driver gets as far as looking for the server; without what makes it verify, it is not asked."""

    def said(text):
        path = write(folder, "freetds.conf", text.replace("db.example.com", "db.invalid"))
        ran = subprocess.run([program, "status", "--url", "sqlserver://user@db.invalid/shop?servername=production&driver=FreeTDS"], cwd=folder,
                             env=clean_environment(FREETDSCONF=path), capture_output=True, text=True)
        print(ran.stderr)
        return ran.stderr

    section = shown("docs/reference/sqlserver.md", "[production]")
    unverified = "".join(line for line in section.splitlines(keepends=True) if "ca file" not in line)
    assert "is the server running" in said(section)
    assert "ca file" in said(unverified)


with tempfile.TemporaryDirectory() as folder:
    check_prometheus(folder)
    check_freetds(folder)
