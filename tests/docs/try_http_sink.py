"""try_http_sink.py <page> <program>: what the page of the HTTP sink says to try works, block by block."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading

page, program = sys.argv[1:3]
patience_seconds = 120

with open(page, encoding="utf-8") as file:
    section = file.read().split("## Try it on this machine")[1].split("\n## ")[0]
blocks = dict(re.findall(r"^```(\w*)\n(.*?)^```", section, flags=re.DOTALL | re.MULTILINE))

# Another port than the page's, which may be in use here. Bound and never listening, this socket keeps others away from it.
kept = socket.socket()
kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
kept.bind(("127.0.0.1", 0))
port = str(kept.getsockname()[1])
receiver, config = (blocks[language].replace("8080", port) for language in ("python", "toml"))
commands = [line.removeprefix("$ ") for line in blocks[""].splitlines()]
assert commands[:2] == ["python3 receiver.py", "postroom relay"], commands

environment = {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}
environment["POSTROOM_ADMIN__LISTEN"] = "127.0.0.1:0"
environment["PATH"] = os.path.dirname(program) + os.pathsep + environment["PATH"]

with tempfile.TemporaryDirectory() as folder:
    for name, text in (("receiver.py", receiver), ("postroom.toml", config)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def start(command, output):
        return subprocess.Popen(command.split(), cwd=folder, env=environment, stdout=output, stderr=subprocess.DEVNULL, text=True)

    listening = start(commands[0], subprocess.PIPE)
    relay = start(commands[1], subprocess.DEVNULL)
    watchdog = threading.Timer(patience_seconds, listening.kill)
    watchdog.start()
    try:
        subprocess.run(commands[2], shell=True, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        arrived = listening.stdout.readline()
    finally:
        watchdog.cancel()
        for child in (relay, listening):
            child.terminate()
            child.wait()
    print(f"arrived: {arrived}")
    sys.exit(0 if re.fullmatch(r'order\.placed \w{26} \{"order":17\}\n', arrived) else 1)
