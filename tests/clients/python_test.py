"""clients/python/postroom.py against real servers; run by with_databases.py."""

import datetime
import json
import os
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

import psycopg2
import pymysql

import postroom

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER_SECRET = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def connect_postgres():
    at = json.loads(os.environ["CLIENT_POSTGRES"])
    return psycopg2.connect(host=at["host"], port=at["port"], user=at["user"], dbname=at["database"])


def connect_mariadb():
    at = json.loads(os.environ["CLIENT_MARIADB"])
    return pymysql.connect(host=at["host"], port=at["port"], user=at["user"], password=at["password"].encode(),
                           database=at["database"])


def rows(db, sql):
    cursor = db.cursor()
    cursor.execute(sql)
    return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in cursor.fetchall()]


class OnServer:
    """What holds on every server: the class below says which."""

    def setUp(self):
        self.db = self.connect()
        for table in (*self.outbox_tables, "orders", "shipments"):
            self.db.cursor().execute(f"DELETE FROM {table}")
        self.db.commit()

    def tearDown(self):
        self.db.close()

    def sent(self):
        reader = self.connect()
        try:
            return rows(reader, f"SELECT topic, payload, ordering_key FROM {self.outbox}")
        finally:
            reader.close()

    def texts(self):
        return [tuple(v.decode() if isinstance(v, bytes) else v for v in row) for row in self.sent()]

    def test_a_message_lives_and_dies_with_the_transaction(self):
        self.db.cursor().execute("INSERT INTO orders VALUES (17)")
        row = postroom.enqueue(self.db, "order.placed", {"order": 17}, ordering_key="customer-5")
        self.assertEqual(len(row), 36)
        self.assertEqual(self.sent(), [])
        self.db.commit()
        self.assertEqual(self.texts(), [("order.placed", '{"order": 17}', "customer-5")])
        postroom.enqueue(self.db, "order.placed", {"order": 18})
        self.db.rollback()
        self.assertEqual(len(self.sent()), 1)

    def test_bytes_stay_bytes_and_every_field_is_taken(self):
        due = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        postroom.enqueue(self.db, "t", b"\x00\xff", content_type="application/octet-stream", headers={"a": "b"},
                         correlation_id="c", tenant_id="n", priority=3, max_attempts=4, due_time=due,
                         expires_at=due + datetime.timedelta(days=1), aggregate_type="cart", aggregate_id="9")
        self.db.commit()
        [row] = rows(self.db, f"SELECT payload, priority, max_attempts, due_time FROM {self.outbox}")
        self.assertEqual(row[0], b"\x00\xff")
        self.assertEqual(row[1:3], (3, 4))
        stored = row[3] if row[3].tzinfo else row[3].replace(tzinfo=datetime.timezone.utc)
        self.assertEqual(stored, due)

    def test_a_taken_key_gives_the_first_id(self):
        first = postroom.enqueue(self.db, "t", 1, idempotency_key="k")
        second = postroom.enqueue(self.db, "t", 2, idempotency_key="k")
        self.db.commit()
        self.assertEqual(first, second)
        self.assertEqual(len(self.sent()), 1)

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(TypeError, "unknown field ordering_kye"):
            postroom.enqueue(self.db, "t", 1, ordering_kye="k")
        with self.assertRaisesRegex(ValueError, "due_time: a datetime without a time zone"):
            postroom.enqueue(self.db, "t", 1, due_time=datetime.datetime(2030, 1, 1))

    def test_a_message_takes_effect_once_however_often_it_comes(self):
        def receive():
            db = self.connect()
            try:
                with postroom.once(db, "shop", "m-1") as new:
                    if new:
                        db.cursor().execute("INSERT INTO shipments VALUES (17)")
                        time.sleep(0.05)  # while the others arrive
                db.commit()
            finally:
                db.close()

        threads = [threading.Thread(target=receive) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(rows(self.db, "SELECT * FROM shipments")), 1)

    def test_an_effect_that_fails_leaves_the_message_new(self):
        with self.assertRaises(ZeroDivisionError), postroom.once(self.db, "shop", "m-2") as new:
            self.assertTrue(new)
            1 / 0
        self.db.rollback()
        with postroom.once(self.db, "shop", "m-2") as new:
            self.assertTrue(new)
        self.db.commit()
        with postroom.once(self.db, "shop", "m-2") as new:
            self.assertFalse(new)

    def test_once_needs_a_transaction(self):
        self.turn_autocommit_on()
        with self.assertRaisesRegex(RuntimeError, "open a transaction"), postroom.once(self.db, "shop", "m-3"):
            pass


class OnPostgres(OnServer, unittest.TestCase):
    connect = staticmethod(connect_postgres)
    outbox = "infra.outbox"
    outbox_tables = ("infra.outbox_live", "infra.outbox_waiting", "infra.outbox_key")

    def turn_autocommit_on(self):
        self.db.autocommit = True

    def test_a_transaction_may_be_open_on_a_connection_that_commits_by_itself(self):
        self.turn_autocommit_on()
        self.db.cursor().execute("BEGIN")
        with postroom.once(self.db, "shop", "m-4") as new:
            self.assertTrue(new)
        self.db.cursor().execute("COMMIT")
        self.db.cursor().execute("BEGIN")
        with postroom.once(self.db, "shop", "m-4") as new:
            self.assertFalse(new)
        self.db.cursor().execute("COMMIT")


class OnMariadb(OnServer, unittest.TestCase):
    connect = staticmethod(connect_mariadb)
    outbox = "outbox"
    outbox_tables = ("outbox_live", "outbox_waiting", "outbox_key")

    def turn_autocommit_on(self):
        self.db.autocommit(True)


class OnSqlite(unittest.TestCase):
    def test_a_message_lives_and_dies_with_the_transaction(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "shop.db")
            environment = dict(os.environ, POSTROOM_URL="sqlite:" + path)
            program = os.environ["CLIENT_PROGRAM"]
            subprocess.run([program, "migrate", "up"], check=True, env=environment, stdout=subprocess.DEVNULL)
            db = sqlite3.connect(path)
            with db:
                postroom.enqueue(db, "order.placed", {"order": 17}, headers={"a": "b"}, message_id="m-1")
            postroom.enqueue(db, "order.placed", {"order": 18})
            db.rollback()
            with self.assertRaisesRegex(ValueError, "ordering_key: SQLite has no stored functions"):
                postroom.enqueue(db, "t", 1, ordering_key="k")
            db.close()
            listed = subprocess.run([program, "list", "--json"], check=True, env=environment, capture_output=True)
            [message] = json.loads(listed.stdout)
            self.assertEqual((message["topic"], message["message_id"]), ("order.placed", "m-1"))


class Webhooks(unittest.TestCase):
    def request(self, body=b'{"order":17}', at=1_000_000):
        return {"Webhook-Id": "m-1", "webhook-timestamp": str(at),
                "webhook-signature": "v1,AAAA " + postroom.sign_webhook(SECRET, "m-1", at, body)}

    def test_the_example_of_the_standard(self):
        signature = postroom.sign_webhook(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
        self.assertEqual(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")

    def test_genuine_requests_are_told_by_any_of_the_secrets(self):
        for secrets in ([SECRET], [OTHER_SECRET, SECRET]):
            self.assertEqual(postroom.verify_webhook(self.request(), b'{"order":17}', secrets, now=1_000_100), "m-1")

    def test_forged_late_and_incomplete_ones_are_refused(self):
        good = self.request()
        for headers, body, secrets, now in (
                (good, b'{"order":18}', [SECRET], 1_000_000),
                (dict(good, **{"Webhook-Id": "m-2"}), b'{"order":17}', [SECRET], 1_000_000),
                (good, b'{"order":17}', [OTHER_SECRET], 1_000_000),
                (good, b'{"order":17}', [SECRET], 1_000_301),
                (good, b'{"order":17}', [SECRET], 999_699),
                ({}, b'{"order":17}', [SECRET], 1_000_000),
                *((dict(good, **{name: value}), b'{"order":17}', [SECRET], 1_000_000) for name, value in (
                    ("webhook-timestamp", "soon"), ("webhook-timestamp", "1" * 401), ("webhook-timestamp", "1" * 5000),
                    ("webhook-timestamp", " 1000000"), ("webhook-timestamp", "1_000_000"), ("webhook-timestamp", None),
                    ("webhook-signature", "v1,\u00e9"), ("webhook-signature", "v1,\udc80"), ("webhook-signature", ["v1,AAAA"]),
                    ("webhook-signature", ""), ("Webhook-Id", ""), ("Webhook-Id", "\udc80")))):
            with self.subTest(headers=headers), self.assertRaises(postroom.InvalidWebhook):
                postroom.verify_webhook(headers, body, secrets, now=now)

    def test_a_secret_that_is_none_is_refused_and_not_taken_for_an_empty_key(self):
        for secret in ("", "whsec_", "whsec_!!!!", "whsec_AAAA", "whsec_" + "!" * 32 + "AAAA"):
            with self.subTest(secret=secret), self.assertRaisesRegex(ValueError, "a webhook secret is"):
                postroom.verify_webhook(self.request(), b'{"order":17}', [secret], now=1_000_000)


if __name__ == "__main__":
    unittest.main()
