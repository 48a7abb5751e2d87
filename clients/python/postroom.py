"""Postroom from Python: send in your own transaction, receive once, verify webhooks.

One file without dependencies: copy it, or put its folder on your path. It works on the connection that you
have: psycopg2 and psycopg (PostgreSQL), PyMySQL, mysqlclient and mysql.connector (MariaDB, MySQL), sqlite3.
The tables are made once by `postroom migrate up`, and `postroom relay` delivers.

    with db:                                        # your transaction
        db.cursor().execute("INSERT INTO orders ...")
        postroom.enqueue(db, "order.placed", {"order": 17}, ordering_key="customer-5")
"""

import base64
import contextlib
import datetime
import hashlib
import hmac
import json
import re
import time

__all__ = ["InvalidWebhook", "enqueue", "once", "sign_webhook", "verify_webhook"]

_FIELDS = frozenset(
    "correlation_id due_time tenant_id idempotency_key ordering_key headers content_type message_id priority "
    "max_attempts expires_at occurred_at aggregate_type aggregate_id".split())
# Those that need a rule of the database, which a plain INSERT does not run.
_FIELDS_OF_FUNCTION = frozenset("due_time idempotency_key ordering_key priority expires_at occurred_at".split())
_SECRET_BYTES_MIN = 16
_DRIVERS = {
    "psycopg2": "postgres", "psycopg": "postgres",
    "pymysql": "mysql", "MySQLdb": "mysql", "mysql": "mysql",
    "sqlite3": "sqlite",
}


def enqueue(connection, topic, payload, *, schema="infra", **fields):
    """Writes a message in the transaction that `connection` has open, and returns the id of its row (on SQLite, the
    row's number). It exists exactly when that transaction commits; with an idempotency key that is taken, the id
    of the first message comes back and nothing is written.

    `payload` is bytes or str as it is, or anything that json can write. `fields`: correlation_id, due_time,
    tenant_id, idempotency_key, ordering_key, headers (a dict), content_type, message_id, priority, max_attempts,
    expires_at, occurred_at, aggregate_type, aggregate_id; times are datetimes with a time zone.
    """
    unknown = sorted(set(fields) - _FIELDS)
    if unknown:
        raise TypeError("enqueue: unknown field " + ", ".join(unknown))
    given = {name: value for name, value in fields.items() if value is not None}
    for name, value in given.items():
        if isinstance(value, datetime.datetime) and value.tzinfo is None:
            raise ValueError(f"{name}: a datetime without a time zone could mean any hour")
    if not isinstance(payload, (bytes, str)):
        payload = json.dumps(payload)
    return _ENQUEUE[_engine(connection)](connection, topic, payload, schema, given)


@contextlib.contextmanager
def once(connection, source, message_id, *, schema="infra"):
    """Yields True when the message `message_id` of `source` has not taken effect before, else False. What the block
    writes and the note that the message is done belong to the transaction that `connection` has open: commit it
    afterwards, and the message takes effect exactly once, however often it comes.

        with db, postroom.once(db, "shop", request.headers["webhook-id"]) as new:
            if new:
                db.cursor().execute("INSERT INTO shipments ...")
    """
    engine = _engine(connection)
    if engine == "sqlite":
        raise NotImplementedError("once: SQLite has no stored functions; use the library's inbox")
    if _autocommits(connection):
        raise RuntimeError("once: the connection commits every statement by itself; open a transaction")
    done = _call(connection, engine, schema, "inbox_already_processed", (message_id, source, None))
    yield not done
    if not done:
        _call(connection, engine, schema, "inbox_mark_processed", (message_id, source))


class InvalidWebhook(Exception):
    """The request is not one that a holder of a secret has just sent."""


def sign_webhook(secret, message_id, timestamp, body):
    """The value of webhook-signature, as Standard Webhooks defines it, for one secret (whsec_...)."""
    key = _key_of(secret)
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def verify_webhook(headers, body, secrets, *, tolerance=300, now=None):
    """Returns the message id of a request that the relay's HTTP sink sent, or raises InvalidWebhook.

    `headers` is a mapping, `body` the bytes as they came in, `secrets` a list: while keys are changed, the old and
    the new one. `tolerance`: how many seconds the sender's clock may differ.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp, signature = (lowered.get("webhook-" + name) for name in ("id", "timestamp", "signature"))
    if not (_is_text(message_id) and _is_text(signature) and _is_text(timestamp) and re.fullmatch("[0-9]{1,12}", timestamp)):
        raise InvalidWebhook("webhook-id, webhook-timestamp or webhook-signature is missing or malformed")
    timestamp = int(timestamp)
    signatures = signature.encode().split(b" ")
    if abs((time.time() if now is None else now) - timestamp) > tolerance:
        raise InvalidWebhook("webhook-timestamp is too far from this machine's clock")
    expected = [sign_webhook(secret, message_id, timestamp, body).encode() for secret in secrets]
    # All of them are compared: how long it takes says nothing about which one was close.
    matches = [hmac.compare_digest(a, b) for a in expected for b in signatures]
    if not any(matches):
        raise InvalidWebhook("no signature is of one of our secrets")
    return message_id


def _key_of(secret):
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if len(key) < _SECRET_BYTES_MIN:
        raise ValueError(f"a webhook secret is whsec_ and the base64 of {_SECRET_BYTES_MIN} bytes or more")
    return key


def _is_text(value):
    """Whether it is text that can be written as bytes: half a surrogate pair cannot."""
    try:
        return isinstance(value, str) and bool(value.encode())
    except UnicodeEncodeError:
        return False


def _engine(connection):
    for of_type in type(connection).__mro__:
        engine = _DRIVERS.get(of_type.__module__.split(".")[0])
        if engine:
            return engine
    raise TypeError(f"a connection of {type(connection).__module__} is not known; known: " + ", ".join(_DRIVERS))


def _autocommits(connection):
    # psycopg, both of them: a transaction may be open on a connection that otherwise commits by itself.
    if getattr(getattr(connection, "info", None), "transaction_status", 0):
        return False
    if hasattr(connection, "get_autocommit"):
        return bool(connection.get_autocommit())
    return bool(getattr(connection, "autocommit", False))


def _call(connection, engine, schema, routine, arguments):
    places = ", ".join(["%s"] * len(arguments))
    if engine == "postgres":
        return _row(connection, f"SELECT {_quoted(schema)}.{routine}({places})", arguments)[0]
    row = _row(connection, f"CALL {routine}({places})", arguments)
    return row[0] if row else None


def _row(connection, sql, arguments):
    cursor = connection.cursor()
    try:
        cursor.execute(sql, arguments)
        row = cursor.fetchone() if cursor.description else None
        while sql.startswith("CALL") and cursor.nextset():
            pass  # a call ends with a result of its own, which the next statement must not find
        return row
    finally:
        cursor.close()


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


def _enqueue_postgres(connection, topic, payload, schema, fields):
    if "headers" in fields:
        fields = dict(fields, headers=json.dumps(fields["headers"]))
    types = {"headers": "::jsonb", "due_time": "::timestamptz", "expires_at": "::timestamptz", "occurred_at": "::timestamptz"}
    named = "".join(f", {name} => %s{types.get(name, '')}" for name in fields)
    kind = "bytea" if isinstance(payload, bytes) else "text"
    sql = f"SELECT {_quoted(schema)}.outbox_enqueue(%s, %s::{kind}{named})"
    return str(_row(connection, sql, (topic, payload, *fields.values()))[0])


def _enqueue_mysql(connection, topic, payload, schema, fields):
    utc = datetime.timezone.utc
    texts = {
        name: value.astimezone(utc).strftime("%Y-%m-%d %H:%M:%S.%f") if isinstance(value, datetime.datetime) else value
        for name, value in fields.items()
    }
    row = _row(connection, "CALL outbox_enqueue_with(%s, %s, %s)", (topic, payload, json.dumps(texts)))
    return row[0].decode() if isinstance(row[0], (bytes, bytearray)) else str(row[0])


def _enqueue_sqlite(connection, topic, payload, schema, fields):
    refused = sorted(set(fields) & _FIELDS_OF_FUNCTION)
    if refused:
        raise ValueError(f"{', '.join(refused)}: SQLite has no stored functions; the library or `postroom enqueue` can")
    if isinstance(payload, str):
        payload = payload.encode()
    if "headers" in fields:
        fields = dict(fields, headers=json.dumps(fields["headers"]))
    names = ["topic", "payload", *fields]
    sql = f"INSERT INTO outbox_live ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    return str(connection.execute(sql, (topic, payload, *fields.values())).lastrowid)


_ENQUEUE = {"postgres": _enqueue_postgres, "mysql": _enqueue_mysql, "sqlite": _enqueue_sqlite}
