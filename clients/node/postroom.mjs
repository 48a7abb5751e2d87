// Postroom from Node: send in your own transaction, receive once, verify webhooks.
//
// One file without dependencies: copy it beside your code. It works on the connection that you have: a Client of pg
// (PostgreSQL), or a connection of mysql2/promise (MariaDB, MySQL). The tables are made once by
// `postroom migrate up`, and `postroom relay` delivers.
//
//     await db.query("BEGIN");
//     await db.query("INSERT INTO orders ...");
//     await enqueue(db, "order.placed", { order: 17 }, { ordering_key: "customer-5" });
//     await db.query("COMMIT");

import { createHmac, timingSafeEqual } from "node:crypto";

const known = new Set(("correlation_id due_time tenant_id idempotency_key ordering_key headers content_type message_id " +
    "priority max_attempts expires_at occurred_at aggregate_type aggregate_id").split(" "));
const types = {
    headers: "::jsonb", due_time: "::timestamptz", expires_at: "::timestamptz", occurred_at: "::timestamptz",
    priority: "::integer", max_attempts: "::integer",
};

// Writes a message in the transaction that `connection` has open, and returns the id of its row. It exists exactly when
// that transaction commits; with an idempotency key that is taken, the id of the first message comes back and nothing is
// written. `payload` is a Buffer or a string as it is, or anything that JSON can write. `fields`: correlation_id,
// due_time, tenant_id, idempotency_key, ordering_key, headers (an object), content_type, message_id, priority,
// max_attempts, expires_at, occurred_at, aggregate_type, aggregate_id; times are Dates.
export async function enqueue(connection, topic, payload, fields = {}, { schema = "infra" } = {}) {
    const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
    for (const [name] of given) if (!known.has(name)) throw new TypeError(`enqueue: unknown field ${name}`);
    const raw = Buffer.isBuffer(payload) || typeof payload === "string";
    const body = raw ? payload : JSON.stringify(payload);
    if (isPostgres(connection)) {
        const named = given.map(([name], i) => `, ${name} => $${i + 3}${types[name] ?? ""}`).join("");
        const values = given.map(([name, value]) => (name === "headers" ? JSON.stringify(value) : value));
        const kind = Buffer.isBuffer(body) ? "bytea" : "text";
        const { rows } = await connection.query(
            `SELECT ${quoted(schema)}.outbox_enqueue($1, $2::${kind}${named}) AS id`, [topic, body, ...values]);
        return rows[0].id;
    }
    const texts = Object.fromEntries(given.map(([name, value]) => [name, value instanceof Date ? utc(value) : value]));
    const rows = await call(connection, "outbox_enqueue_with", [topic, body, JSON.stringify(texts)]);
    return String(rows[0].id);
}

// Calls `effect` unless the message `messageId` of `source` has taken effect before; returns whether it did. What
// `effect` writes and the note that the message is done belong to the transaction that `connection` has open: commit it
// afterwards, and the message takes effect exactly once, however often it comes.
export async function once(connection, source, messageId, effect, { schema = "infra" } = {}) {
    const ask = (routine, values) => isPostgres(connection)
        ? connection.query(`SELECT ${quoted(schema)}.${routine}(${values.map((_, i) => `$${i + 1}`).join(", ")}) AS answer`, values)
            .then(({ rows }) => rows[0].answer)
        : call(connection, routine, values).then((rows) => (rows.length > 0 ? Object.values(rows[0])[0] : null));
    await requireTransaction(connection);
    if (await ask("inbox_already_processed", [messageId, source, null])) return false;
    await effect();
    await ask("inbox_mark_processed", [messageId, source]);
    return true;
}

export class InvalidWebhook extends Error {}

const secretBytesMin = 16;

// The value of webhook-signature, as Standard Webhooks defines it, for one secret (whsec_...).
export function signWebhook(secret, messageId, timestamp, body) {
    const text = secret.replace(/^whsec_/, "");
    const key = Buffer.from(text, "base64");
    // Buffer leaves out what is not base64: of a secret that was mistyped nothing might be left.
    if (key.length < secretBytesMin || key.toString("base64") !== text)
        throw new TypeError(`a webhook secret is whsec_ and the base64 of ${secretBytesMin} bytes or more`);
    const signed = Buffer.concat([Buffer.from(`${messageId}.${timestamp}.`), Buffer.from(body)]);
    return "v1," + createHmac("sha256", key).update(signed).digest("base64");
}

// Returns the message id of a request that the relay's HTTP sink sent, or throws InvalidWebhook. `headers` is an object
// or a Headers, `body` the bytes as they came in, `secrets` a list: while keys are changed, the old and the new one.
// `tolerance`: how many seconds the sender's clock may differ.
export function verifyWebhook(headers, body, secrets, { tolerance = 300, now = Date.now() / 1000 } = {}) {
    const entries = typeof headers.entries === "function" ? [...headers.entries()] : Object.entries(headers);
    const lowered = Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
    const { "webhook-id": messageId, "webhook-timestamp": timestamp, "webhook-signature": signature } = lowered;
    const given = [messageId, timestamp, signature];
    if (given.some((value) => typeof value !== "string" || value === "") || !/^\d{1,12}$/.test(timestamp))
        throw new InvalidWebhook("webhook-id, webhook-timestamp or webhook-signature is missing or malformed");
    if (Math.abs(now - Number(timestamp)) > tolerance)
        throw new InvalidWebhook("webhook-timestamp is too far from this machine's clock");
    let matches = 0;
    for (const secret of secrets) {
        const expected = Buffer.from(signWebhook(secret, messageId, timestamp, body));
        for (const text of signature.split(" ")) {
            const told = Buffer.from(text);
            // All of them are compared: how long it takes says nothing about which one was close.
            if (told.length === expected.length && timingSafeEqual(told, expected)) ++matches;
        }
    }
    if (matches === 0) throw new InvalidWebhook("no signature is of one of our secrets");
    return messageId;
}

// Both drivers quote values; only that of PostgreSQL has a form of its own for literals.
const isPostgres = (connection) => typeof connection.escapeLiteral === "function";

const quoted = (name) => `"${name.replaceAll('"', '""')}"`;

const utc = (date) => date.toISOString().replace("T", " ").replace("Z", "");

// The rows of a procedure; its last result has none.
async function call(connection, routine, values) {
    const [results] = await connection.query(`CALL ${routine}(${values.map(() => "?").join(", ")})`, values);
    return Array.isArray(results) ? results[0] : [];
}

// MariaDB has a variable for it and MySQL has none; both tell it with every answer.
async function inTransaction(connection) {
    if (isPostgres(connection)) {
        // Equal in the first statement of a transaction of its own.
        const { rows } = await connection.query("SELECT now() <> statement_timestamp() AS open");
        return rows[0].open;
    }
    const [{ serverStatus }] = await connection.query("DO 0");
    const [inside, autocommit] = [1, 2];
    return (serverStatus & inside) !== 0 || (serverStatus & autocommit) === 0;
}

async function requireTransaction(connection) {
    const open = await inTransaction(connection);
    if (!open) throw new Error("once: the connection commits every statement by itself; open a transaction");
}
