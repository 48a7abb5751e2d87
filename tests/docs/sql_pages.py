"""sql_pages.py <source tree>: what the pages about SQL alone show for PostgreSQL and for MariaDB works, block by block. Run by
tests/clients/with_databases.py."""

import json
import os
import re
import sys

import psycopg2
import pymysql

from pages import blocks

root = sys.argv[1]


def statements(page):
    for block in blocks(root):
        if block.page == page and block.language == "sql":
            yield from (part.strip() for part in re.sub(r" *--.*", "", block.text).split(";") if part.strip())


def run_page(page, run, enqueue, filled_in):
    """The claim's rows are what the later statements name. `filled_in` puts lease and ids into one."""
    lease, ids = None, []
    for statement in statements(page):
        if "outbox_claim" in statement:
            for _ in range(6):  # more than the page settles
                run(enqueue)
            claimed = run(statement)
            lease, ids = claimed[0][1], [str(row[0]) for row in claimed]
            continue
        rows = run(filled_in(statement, lease, ids) if lease else statement)
        expected = {"outbox_read": len(ids), "outbox_ack": 2, "outbox_abandon": 1, "outbox_fail": 1}
        for name, count in expected.items():
            if name + "(" in statement:
                got = len(rows) if name == "outbox_read" else int(rows[0][0])
                assert got == count, (statement, rows)
    assert lease, page


def check_end(run, schema):
    states = {int(state): int(count) for state, count in run(f"SELECT state, count(*) FROM {schema}outbox GROUP BY state")}
    assert states.get(2) == 2 and states.get(3) == 1, states
    [[state]] = run(f"SELECT state FROM {schema}inbox")
    assert int(state) == 2, state


def postgres():
    at = json.loads(os.environ["CLIENT_POSTGRES"])
    db = psycopg2.connect(host=at["host"], port=at["port"], user=at["user"], dbname=at["database"])
    db.autocommit = True

    def run(sql):
        with db.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def filled_in(sql, lease, ids):
        return re.sub(r":(lease_id|id(\d))\b", lambda found: f"'{ids[int(found[2]) - 1]}'" if found[2] else str(lease), sql)

    run_page("docs/guides/postgres-functions.md", run, "SELECT infra.outbox_enqueue('t', '{}')", filled_in)
    check_end(run, "infra.")
    db.close()


def mariadb():
    at = json.loads(os.environ["CLIENT_MARIADB"])
    db = pymysql.connect(host=at["host"], port=at["port"], user=at["user"], password=at["password"].encode(), database=at["database"], autocommit=True)

    def run(sql):
        with db.cursor() as cursor:
            cursor.execute(sql)
            rows = cursor.fetchall()
            while cursor.nextset():
                pass
            return rows

    def filled_in(sql, lease, ids):
        run(f"SET @lease_id = '{lease}'")
        return re.sub(r"<id(\d)>", lambda found: ids[int(found[1]) - 1], sql)

    run_page("docs/guides/mysql-procedures.md", run, "CALL outbox_enqueue('t', '{}', NULL, NULL, NULL, NULL, NULL, NULL)", filled_in)
    check_end(run, "")
    db.close()


postgres()
mariadb()
