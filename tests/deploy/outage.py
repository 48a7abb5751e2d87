"""outage.py <postroom> <alerts.yml>: a relay under load, watched by a real Prometheus with the alert rules that ship,
goes through an outage of its destination, and is killed in the end. The alerts fire and resolve, and operators are told
which destination is down and why. Minutes of the rules are seconds here."""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

PATIENCE = 180  # seconds for anything to happen on a busy machine
CONFIG = """\
[stores.main]
url = "sqlite:queue.db"

[sinks.shop]
type = "http"
url = "{url}"
allow_networks = "127.0.0.1"

[[routes]]
topic = "*"
sink = "shop"

[admin]
listen = "127.0.0.1:{admin}"

[log]
per_message = false
"""
SCRAPE = """\
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [alerts.yml]
scrape_configs:
  - job_name: postroom
    static_configs: [{targets: ["127.0.0.1:PORT"]}]
"""


class Port:
    """A port that nobody else is given for as long as this lives, whether somebody listens on it or not."""

    def __init__(self):
        self.socket = socket.socket()  # bound, and never listening
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.number = self.socket.getsockname()[1]


def eventually(what, told):
    """Asks told() until it says something true, and returns that."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = told()
        if answer:
            return answer
        time.sleep(0.2)
    sys.exit(f"FAILED: {what}")


def fetch(url):
    with contextlib.suppress(OSError, http.client.HTTPException):
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read().decode()
    return ""


class Receiver:
    """A destination that can go away and come back."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.close_connection = True
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    def __init__(self):
        self.port = Port()
        self.up()

    def up(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port.number), self.Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def down(self):
        self.server.shutdown()
        self.server.server_close()


class World:
    def __init__(self, program, rules, folder):
        self.program, self.folder = program, folder
        self.receiver = Receiver()
        self.destination = f"http://127.0.0.1:{self.receiver.port.number}"
        self.ports = Port(), Port()
        self.admin, self.prometheus = (port.number for port in self.ports)
        (folder / "postroom.toml").write_text(CONFIG.format(url=self.destination + "/orders", admin=self.admin))
        (folder / "prometheus.yml").write_text(SCRAPE.replace("PORT", str(self.admin)))
        quick = re.sub(r"\b(\d+)m\b", r"\1s", rules).replace("> 300", "> 5")
        assert "for: 5s" in quick and "> 5\n" in quick, "the rules are not what they were"
        (folder / "alerts.yml").write_text(quick)
        self.processes = []

    def start(self, *command):
        log = open(self.folder / (pathlib.Path(command[0]).name + ".log"), "ab")
        process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def start_relay(self):
        return self.start(self.program, "relay")

    def run(self, *arguments, text=None):
        return subprocess.run([self.program, *arguments], cwd=self.folder, input=text, text=True,
                              stdout=subprocess.PIPE, check=True).stdout

    def enqueue(self, count):
        self.run("enqueue", "--jsonl", text='{"topic": "order.placed", "payload": 1}\n' * count)

    def waiting(self):
        return sum(queue["ready"] + queue["in_progress"] for queue in json.loads(self.run("status", "--json")))

    def firing(self):
        answer = fetch(f"http://127.0.0.1:{self.prometheus}/api/v1/alerts")
        alerts = json.loads(answer)["data"]["alerts"] if answer else []
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def scraped(self, query):
        answer = fetch(f"http://127.0.0.1:{self.prometheus}/api/v1/query?query={query}")
        return bool(answer) and bool(json.loads(answer)["data"]["result"])

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def go_through_an_outage(world):
    world.run("migrate", "up")
    relay = world.start_relay()
    world.start("prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                f"--web.listen-address=127.0.0.1:{world.prometheus}")
    world.enqueue(500)
    eventually("Prometheus has counted deliveries",
               lambda: world.scraped("postroom_delivered_total%3E0") and not world.firing())

    world.receiver.down()
    since = time.monotonic()
    world.enqueue(50)
    message = eventually("a message waits", lambda: json.loads(world.run("list", "--limit", "1", "--json") or "[]"))
    message = message[0]["id"]
    answers = {
        "status": lambda: world.run("status"),
        "explain": lambda: world.run("explain", message),
        "the API": lambda: fetch(f"http://127.0.0.1:{world.admin}/api/messages/{message}"),
    }
    for who, told in answers.items():
        eventually(f"{who} names the destination that is down", lambda: world.destination in told())
        print(f"{who} named it after {time.monotonic() - since:.1f} s")
    eventually("the alerts of an outage fire",
               lambda: {"PostroomDestinationDown", "PostroomBacklogOld"} <= world.firing())
    print(f"alerts fired after {time.monotonic() - since:.1f} s: {', '.join(sorted(world.firing()))}")

    world.receiver.up()
    since = time.monotonic()
    eventually("the alerts resolve", lambda: not world.firing())
    print(f"resolved after {time.monotonic() - since:.1f} s")
    eventually("everything is delivered", lambda: world.waiting() == 0)

    relay.send_signal(signal.SIGKILL)
    relay.wait()
    eventually("a relay that is gone is noticed", lambda: "PostroomRelayGone" in world.firing())
    world.start_relay()
    eventually("and that it is back", lambda: "PostroomRelayGone" not in world.firing())


def main():
    program, rules = sys.argv[1:]
    os.environ.pop("POSTROOM_URL", None)
    with tempfile.TemporaryDirectory(prefix="postroom-outage-") as folder:
        world = World(program, pathlib.Path(rules).read_text(), pathlib.Path(folder))
        try:
            go_through_an_outage(world)
        except SystemExit:
            for log in pathlib.Path(folder).glob("*.log"):
                print(f"--- {log.name}\n{log.read_text()[-4000:]}")
            raise
        finally:
            world.end()


main()
