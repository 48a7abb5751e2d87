"""outage.py <postroom> <alerts.yml>: a relay under load, watched by a real Prometheus with the alert rules that ship,
goes through an outage of its destination, and is killed in the end. Messages come all the time. The alerts fire and
resolve, and operators are told within ten seconds which destination is down and why. Minutes of the rules are seconds
here."""

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
# Seconds from the death of a destination until everybody who is asked names it; more where other tests run beside this one.
NAMED_WITHIN = 10 if float(os.environ.get("POSTROOM_TEST_SCALE", "1")) >= 1 else 30
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

    taken = set()  # ids of messages

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            Receiver.taken.add(self.headers["webhook-id"])
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


class Load:
    """Messages that come a few at a time until the end, whatever else happens."""

    EACH, PAUSE = 20, 0.5

    def __init__(self, world):
        self.world, self.sent, self.failure = world, 0, None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while not self.over.is_set():
                self.world.enqueue(self.EACH)
                self.sent += self.EACH
                self.over.wait(self.PAUSE)
        except subprocess.CalledProcessError as error:
            self.failure = error

    def end(self):
        self.over.set()
        self.thread.join()
        if self.failure:
            sys.exit(f"FAILED: messages could be enqueued throughout: {self.failure}")
        return self.sent


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

    def enqueue_one(self):
        """Returns the id of its row."""
        told = self.run("enqueue", "order.placed", "--payload", "1", "--json")
        return re.search(r'"id":"([^"]+)"', told)[1]

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


def name_the_destination(world, since):
    """Everybody who is asked about it names the destination that is down, soon enough. They are asked at the same time:
    each waits for itself."""
    message = world.enqueue_one()
    answers = {
        "status": lambda: world.run("status"),
        "explain": lambda: world.run("explain", message),
        "the API": lambda: fetch(f"http://127.0.0.1:{world.admin}/api/messages/{message}"),
    }
    took = {}
    while len(took) < len(answers) and time.monotonic() - since < PATIENCE:
        for who, told in answers.items():
            if who not in took and world.destination in told():
                took[who] = time.monotonic() - since
    for who in answers:
        print(f"{who} named it after {took[who]:.1f} s" if who in took else f"{who} never named it")
    if len(took) < len(answers) or max(took.values()) > NAMED_WITHIN:
        sys.exit(f"FAILED: {', '.join(answers)} name the destination that is down within {NAMED_WITHIN} s")


def go_through_an_outage(world):
    world.run("migrate", "up")
    relay = world.start_relay()
    world.start("prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                f"--web.listen-address=127.0.0.1:{world.prometheus}")
    load = Load(world)
    eventually("Prometheus has counted deliveries",
               lambda: world.scraped("postroom_delivered_total%3E0") and not world.firing())

    world.receiver.down()
    since = time.monotonic()
    sent_before = load.sent
    name_the_destination(world, since)
    eventually("the alerts of an outage fire",
               lambda: {"PostroomDestinationDown", "PostroomBacklogOld"} <= world.firing())
    print(f"alerts fired after {time.monotonic() - since:.1f} s: {', '.join(sorted(world.firing()))}")
    if load.sent == sent_before:
        sys.exit("FAILED: messages came during the outage")
    print(f"{load.sent - sent_before} messages came during the outage of {time.monotonic() - since:.1f} s")

    world.receiver.up()
    since = time.monotonic()
    eventually("the alerts resolve", lambda: not world.firing())
    print(f"resolved after {time.monotonic() - since:.1f} s, under the same load")
    sent = load.end() + 1  # the one that was asked about
    eventually("everything is delivered", lambda: world.waiting() == 0)
    if len(Receiver.taken) != sent:
        sys.exit(f"FAILED: {sent} messages were sent and {len(Receiver.taken)} came")
    print(f"{sent} messages sent, and each came")

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
