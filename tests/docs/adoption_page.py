"""adoption_page.py <source tree>: the commands of the guide about taking over a table work, on PostgreSQL, with tables such as it speaks of. Run by
tests/clients/with_databases.py."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import psycopg2

from pages import blocks, clean_environment

page = "docs/guides/adopting-a-table.md"
patience_seconds = 60
at = json.loads(os.environ["CLIENT_POSTGRES"])
program = os.environ["CLIENT_PROGRAM"]
environment = clean_environment(
    POSTROOM_URL=f"postgresql://{at['user']}@{at['host']}:{at['port']}/{at['database']}",
    PATH=os.path.dirname(program) + os.pathsep + os.environ["PATH"])
db = psycopg2.connect(host=at["host"], port=at["port"], user=at["user"], dbname=at["database"])
db.autocommit = True
cursor = db.cursor()


def run(command):
    """One that follows is ended as a reader would, with Ctrl-C."""
    child = subprocess.Popen("exec " + command, shell=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if "--follow" in command:
        time.sleep(2)
        assert child.poll() is None, (command, child.communicate())
        child.send_signal(signal.SIGINT)
    said, complained = child.communicate(timeout=patience_seconds)
    assert child.returncode in (0, -signal.SIGINT), (command, said, complained)
    return said


def count(sql):
    cursor.execute(sql)
    return cursor.fetchone()[0]


cursor.execute("""
    CREATE TABLE outbox_event (event_id uuid PRIMARY KEY DEFAULT gen_random_uuid(), event_type text, payload text, status int,
                               created_at timestamptz DEFAULT now());
    INSERT INTO outbox_event (event_type, payload, status) SELECT 'order.placed', '{}', status FROM generate_series(0, 3) status;
    CREATE SCHEMA shop;
    CREATE TABLE shop.events (nr bigint PRIMARY KEY, kind text, body text, sent_at timestamptz);
    INSERT INTO shop.events VALUES (1, 'order.placed', '{}', now()), (2, 'order.placed', '{}', NULL);
    CREATE TABLE "OutboxMessages" ("Id" uuid PRIMARY KEY, "TenantId" text, "EventType" text, "Payload" text);
    INSERT INTO "OutboxMessages" VALUES (gen_random_uuid(), 'north', 'order.placed', '{}');
""")
for block in blocks(sys.argv[1]):
    if block.page != page:
        continue
    lines = block.text.splitlines() + [""]
    for line, answer in zip(lines, lines[1:]):
        if line.startswith("$ postroom "):
            said = run(line.removeprefix("$ "))
            expected = re.sub(r"\d+", r"\\d+", answer.replace("(", r"\(").replace(")", r"\)"))
            assert not answer.startswith("would ") or re.search(expected, said), (answer, said)
        elif line.endswith("-- may be NULL"):
            cursor.execute(line)

# New and waiting for another attempt of the first table, the one that was not sent of the second.
taken = count("SELECT count(*) FROM infra.outbox WHERE topic = 'order.placed'")
assert taken == 3, taken
without_key = count('SELECT count(*) FROM "OutboxMessages" WHERE "IdempotencyKey" IS NULL')
assert without_key == 0, without_key
print(f"{taken} rows were taken over")
