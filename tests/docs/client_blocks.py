"""client_blocks.py <source tree> <Node packages>: what the page about the clients shows works, with a connection and a request as the reader has
them. Run by tests/clients/with_databases.py."""

import json
import os
import subprocess
import sys
import tempfile

import psycopg2

from pages import blocks

root, packages = sys.argv[1:3]
shown = {block.language: block.text for block in blocks(root) if block.page == "clients/README.md"}
at = json.loads(os.environ["CLIENT_POSTGRES"])
db = psycopg2.connect(host=at["host"], port=at["port"], user=at["user"], dbname=at["database"])


def count(sql):
    with db:
        cursor = db.cursor()
        cursor.execute(sql)
        return cursor.fetchone()[0]


def check_python():
    sys.path.insert(0, os.path.join(root, "clients", "python"))
    exec(compile(shown["python"], "clients/README.md", "exec"), {"db": db})
    assert count("SELECT count(*) FROM orders") == 1
    assert count("SELECT count(*) FROM infra.outbox WHERE topic = 'order.placed' AND ordering_key = 'customer-5'") == 1


# What the reader's program has got by then. The block's own import is found wherever it stands.
before = """
import pg from "pg";
import { signWebhook } from "./postroom.mjs";
const db = new pg.Client(JSON.parse(process.env.CLIENT_POSTGRES));
await db.connect();
const body = '{"order":17}';
const sent = String(Math.floor(Date.now() / 1000));
const signature = signWebhook(process.env.WEBHOOK_SECRET, "msg_1", sent, body);
const request = { headers: { "webhook-id": "msg_1", "webhook-timestamp": sent, "webhook-signature": signature } };
"""


def check_node():
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(packages, "node_modules"), os.path.join(folder, "node_modules"))
        os.symlink(os.path.join(root, "clients", "node", "postroom.mjs"), os.path.join(folder, "postroom.mjs"))
        program = os.path.join(folder, "shown.mjs")
        with open(program, "w", encoding="utf-8") as file:
            file.write(before + shown["js"] + "await db.end();\n")
        environment = dict(os.environ, WEBHOOK_SECRET="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        for _ in range(2):  # it comes twice
            subprocess.run(["node", "--preserve-symlinks", program], check=True, env=environment)
    shipped = count("SELECT count(*) FROM shipments")
    assert shipped == 1, shipped


check_python()
check_node()
