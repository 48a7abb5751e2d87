"""commands.py <source tree> <program>: the commands of the documentation are commands that the program takes. The lines "$ postroom ..." and
"$ curl ..." of each block are run in a folder of their own, on an SQLite file with a dead message and one that waits; those of claims.toml are not."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from pages import blocks, by_another_test, clean_environment, is_commands, read_claims, report, why_not_run

root, program = sys.argv[1:3]
claims = read_claims()
patience_seconds = 60
admin_address = "127.0.0.1:8025"  # the pages'


class Folder:
    """Where the commands of one block are run."""

    def __init__(self, path):
        self.path = path
        # Another port than the pages', which may be in use here. Bound and never listening, this socket keeps others away from it.
        self.kept = socket.socket()
        self.kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.kept.bind(("127.0.0.1", 0))
        self.admin = f"127.0.0.1:{self.kept.getsockname()[1]}"
        self.environment = clean_environment(POSTROOM_ADMIN__LISTEN=self.admin, PATH=os.path.dirname(program) + os.pathsep + os.environ["PATH"])
        self.background = []
        self.terminal = pty.openpty()
        threading.Thread(target=self.read_terminal, daemon=True).start()
        self.run("postroom migrate up")
        self.id = json.loads(self.run("postroom enqueue order.placed --payload '{}' --json").stdout)["message_id"]
        self.run("postroom relay --once --set relay.unroutable=dead --set sinks.none.type=stdout --set routes.0.topic=x --set routes.0.sink=none")
        self.run("postroom enqueue order.placed --payload '{}' --due-time 2999-01-01T00:00:00Z")
        with open(os.path.join(path, "orders.jsonl"), "w", encoding="utf-8") as file:
            file.write('{"topic": "order.placed", "payload": {"order": 17}}\n')

    def read_terminal(self):
        """What nobody reads fills the terminal, and whoever writes to it stands still."""
        while os.read(self.terminal[0], 65536):
            pass

    def run(self, command):
        return subprocess.run(command, shell=True, cwd=self.path, env=self.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=patience_seconds)

    def give_token(self):
        """For who sends one, and to the relays that are started from now on."""
        made = json.loads(self.run("postroom token new alice --role operator --json").stdout)
        self.environment |= {"POSTROOM_TOKEN": made["token"], "POSTROOM_TOKENS__ALICE__ROLE": made["role"], "POSTROOM_TOKENS__ALICE__SHA256": made["sha256"]}

    def here(self, command):
        """With the message of this folder, a database that is here, and less time."""
        command = re.sub(r"01J\.\.\.|\bID\b", self.id, command).replace(admin_address, self.admin)
        command = re.sub(r"postgresql://app@db/\w+", "sqlite:postroom.db", command)
        command = re.sub(r"--seconds \d+|(?<=postroom bench)$", " --seconds 1", command)
        return command.replace("curl -s ", "curl -s --fail ")

    def start(self, command):
        child = subprocess.Popen("exec env " + command, shell=True, cwd=self.path, env=self.environment, stdin=self.terminal[1], stdout=self.terminal[1],
                                 stderr=subprocess.PIPE, text=True)
        self.background.append((command, child))
        if " relay" in command:
            self.await_admin_server(child)
        else:
            time.sleep(2)

    def await_admin_server(self, relay):
        end = time.monotonic() + patience_seconds
        while relay.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(self.admin.split(":"), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)

    def problems_of_background(self):
        for command, child in self.background:
            ended = child.poll()
            child.send_signal(signal.SIGINT)  # as Ctrl-C does
            said = child.communicate(timeout=patience_seconds)[1]
            if ended is not None or child.returncode not in (0, -signal.SIGINT):
                yield f"{command}: ended with {child.returncode}: {said}"


def problem_of(folder, command, answer):
    """`answer` is the next line of the page: an error of the program's is expected, but for what its dots stand for."""
    ran = folder.run(command)
    if ran.returncode == 2 and "--yes" in ran.stderr:  # the reader is asked, and says yes
        ran = folder.run(command.partition(" #")[0] + " --yes")
    if answer.startswith("{"):
        return None if ran.returncode == 0 and json.loads(ran.stdout).keys() == json.loads(answer).keys() else f"{command}: {ran}"
    if answer.startswith("postroom: "):
        told = all(part.strip() in ran.stderr for part in answer.split("..."))
        return None if ran.returncode != 0 and told else f"{command}: {ran}"
    return f"{command}: ended with {ran.returncode}: {ran.stderr}" if ran.returncode != 0 else None


def problems_of(block):
    found = []
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path)
        if "$POSTROOM_TOKEN" in block.text:
            folder.give_token()
        if re.search(rf"^\$ .*{admin_address}", block.text, flags=re.MULTILINE):
            folder.start("postroom relay")
        lines = block.text.replace("\\\n", "").splitlines() + [""]
        for line, answer in zip(lines, lines[1:]):
            if line.startswith("$ export POSTROOM_URL="):
                folder.environment["POSTROOM_URL"] = "sqlite:other.db"  # the page's server is not here
            if not line.startswith("$ ") or line.startswith("$ export "):
                continue
            command = folder.here(line.removeprefix("$ "))
            if re.search(r"postroom (?:relay|tail|top)\b", command):
                folder.start(command)
            else:
                found.append(problem_of(folder, command, answer))
        found += folder.problems_of_background()
    return [f"{block}\n    {problem}" for problem in found if problem]


taken = [block for block in blocks(root) if is_commands(block) and not why_not_run(block, claims) and not by_another_test(block, claims)]
problems = [problem for block in taken for problem in problems_of(block)]
sys.exit(report(problems, f"{len(taken)} blocks with commands") or (0 if taken else 1))
