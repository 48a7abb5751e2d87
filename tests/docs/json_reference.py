"""json_reference.py <page> <commands page> <program>: every command that prints JSON, and every field it prints, is on the page of JSON output."""

import json
import os
import re
import subprocess
import sys
import tempfile

page, commands_page, program = sys.argv[1:4]
with open(page, encoding="utf-8") as file:
    text = file.read()
known = set(re.findall(r"`([a-z_0-9]+)`", text))
with open(commands_page, encoding="utf-8") as file:
    sections = re.split(r"^## postroom ", file.read(), flags=re.MULTILINE)[1:]
unknown = [name for name, _, body in (section.partition("\n") for section in sections) if "--json" in body and f"`{name}`" not in text]
environment = {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}
environment["POSTROOM_URL"] = "sqlite:shop.db"
environment["POSTROOM_RELAY__UNROUTABLE"] = "dead"


def run(*words, code=0):
    ran = subprocess.run([program, *words], env=environment, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == code, (words, ran)
    return ran.stdout


def fields(value, inside=None):
    if isinstance(value, list):
        for part in value:
            yield from fields(part, inside)
    elif isinstance(value, dict):
        for key, part in value.items():
            # What is in them is the user's.
            if inside not in ("payload", "headers"):
                yield key
                yield from fields(part, key)


with tempfile.TemporaryDirectory() as folder:
    run("migrate", "up")
    run("pause", "held.back")
    everything = ("--ordering-key", "k", "--tenant-id", "t", "--correlation-id", "c", "--header", "a=b", "--due-time", "2999-01-01T00:00:00Z",
                  "--expires-at", "2999-02-01T00:00:00Z", "--priority", "3", "--idempotency-key", "i")
    id = json.loads(run("enqueue", "t", "--payload", "{}", "--json", *everything))["id"]
    commands = (["list"], ["show", id, "--payload"], ["show", id], ["explain", id], ["status"], ["doctor"], ["enqueue", "t", "--payload", "1"],
                ["enqueue", "t", "--payload", "1", "--dry-run"], ["redrive", "--all"], ["discard", "--all", "--yes"], ["purge", "--dry-run"],
                ["purge", "--yes"], ["migrate", "status"], ["migrate", "plan"], ["migrate", "up"], ["config", "show"], ["config", "check"],
                ["restore", "hold"], ["restore", "status"], ["restore", "continue", "--yes"],
                ["version"], ["pause", "held.back"], ["resume", "held.back"], ["retry-now", "--all", "--yes"], ["workers"],
                ["token", "new", "alice", "--role", "viewer"], ["bench", "--seconds", "1"])
    missing = {}
    for words in commands:
        for field in fields(json.loads(run(*words, "--json"))):
            if field not in known:
                missing.setdefault(field, words)
    for name in unknown:
        print(f"{name} prints JSON and is not on the page", file=sys.stderr)
    for field, words in missing.items():
        print(f"{field}, printed by {' '.join(words)}, is not on the page", file=sys.stderr)
    sys.exit(1 if missing or unknown else 0)
