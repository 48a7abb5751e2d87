// clients/node/postroom.mjs against real servers; run by with_databases.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import mysql from "mysql2/promise";
import pg from "pg";

import { InvalidWebhook, enqueue, once, signWebhook, verifyWebhook } from "./postroom.mjs";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const otherSecret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

const postgres = {
    async connect() {
        const db = new pg.Client(JSON.parse(process.env.CLIENT_POSTGRES));
        await db.connect();
        return db;
    },
    begin: "BEGIN",
    outbox: "infra.outbox",
    tables: ["infra.outbox_live", "infra.outbox_waiting", "infra.outbox_key", "shipments"],
    async rows(db, sql) { return (await db.query(sql)).rows; },
};
const mariadb = {
    connect: () => mysql.createConnection(
        { ...JSON.parse(process.env.CLIENT_MARIADB), timezone: "Z", charset: "utf8mb4_general_ci" }),
    begin: "START TRANSACTION",
    outbox: "outbox",
    tables: ["outbox_live", "outbox_waiting", "outbox_key", "shipments"],
    async rows(db, sql) { return (await db.query(sql))[0]; },
};

for (const [name, engine] of Object.entries({ postgres, mariadb })) {
    const opened = [];
    const connect = async () => {
        const db = await engine.connect();
        opened.push(db);
        return db;
    };
    const finish = async () => { for (const db of opened.splice(0)) await db.end(); };
    const empty = async () => {
        const db = await connect();
        for (const table of engine.tables) await db.query(`DELETE FROM ${table}`);
        return db;
    };

    test(`${name}: a message lives and dies with the transaction`, async (t) => {
        t.after(finish);
        const db = await empty();
        const reader = await connect();
        const sent = () => engine.rows(reader, `SELECT topic, payload, ordering_key FROM ${engine.outbox}`);
        await db.query(engine.begin);
        const id = await enqueue(db, "order.placed", { order: 17 }, { ordering_key: "customer-5" });
        assert.equal(id.length, 36);
        assert.equal((await sent()).length, 0);
        await db.query("COMMIT");
        const [row] = await sent();
        assert.equal(String(row.topic), "order.placed");
        assert.equal(String(row.payload), '{"order":17}');
        assert.equal(String(row.ordering_key), "customer-5");
        await db.query(engine.begin);
        await enqueue(db, "order.placed", { order: 18 });
        await db.query("ROLLBACK");
        assert.equal((await sent()).length, 1);
    });

    test(`${name}: bytes stay bytes and every field is taken`, async (t) => {
        t.after(finish);
        const db = await empty();
        const due = new Date(Date.now() + 3600_000);
        await enqueue(db, "t", Buffer.from([0, 255]), {
            content_type: "application/octet-stream", headers: { a: "b" }, correlation_id: "c", tenant_id: "n", priority: 3,
            max_attempts: 4, due_time: due, expires_at: new Date(due.getTime() + 1000), aggregate_type: "cart",
            aggregate_id: "9", idempotency_key: "k",
        });
        await enqueue(db, "t", "again", { idempotency_key: "k", tenant_id: "n" });
        const found = await engine.rows(db, `SELECT payload, priority, due_time FROM ${engine.outbox}`);
        assert.equal(found.length, 1);
        assert.deepEqual([...found[0].payload], [0, 255]);
        assert.equal(Number(found[0].priority), 3);
        assert.equal(found[0].due_time.getTime(), due.getTime());
        await assert.rejects(enqueue(db, "t", 1, { ordering_kye: "k" }), /unknown field ordering_kye/);
    });

    test(`${name}: a message takes effect once however often it comes`, async (t) => {
        t.after(finish);
        const db = await empty();
        const receive = async () => {
            const own = await connect();
            await own.query(engine.begin);
            const acted = await once(own, "shop", "n-1", () => own.query("INSERT INTO shipments VALUES (17)"));
            await own.query("COMMIT");
            return acted;
        };
        const acted = await Promise.all(Array.from({ length: 8 }, receive));
        assert.equal(acted.filter(Boolean).length, 1);
        assert.equal((await engine.rows(db, "SELECT * FROM shipments")).length, 1);
    });

    test(`${name}: what only MariaDB understands is not asked`, async (t) => {
        t.after(finish);
        const db = await connect();
        const asked = [];
        const recording = new Proxy(db, {
            get: (target, key) => key === "query" ? (sql, values) => (asked.push(sql), target.query(sql, values)) : Reflect.get(target, key),
        });
        await db.query(engine.begin);
        assert.equal(await once(recording, "shop", "n-3", () => {}), true);
        await db.query("ROLLBACK");
        assert.deepEqual(asked.filter((sql) => sql.includes("@@")), []);
    });

    test(`${name}: once needs a transaction`, async (t) => {
        t.after(finish);
        await assert.rejects(once(await connect(), "shop", "n-2", () => {}), /open a transaction/);
    });
}

test("the example of Standard Webhooks", () => {
    assert.equal(signWebhook(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}'),
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test("genuine requests are told from forged, late and incomplete ones", () => {
    const body = '{"order":17}';
    const now = 1_000_000;
    const good = { "Webhook-Id": "m-1", "webhook-timestamp": String(now), "webhook-signature": "v1,AAAA " + signWebhook(secret, "m-1", now, body) };
    assert.equal(verifyWebhook(good, body, [otherSecret, secret], { now: now + 100 }), "m-1");
    assert.equal(verifyWebhook(new Headers(good), body, [secret], { now }), "m-1");
    for (const [headers, text, secrets, at] of [
        [good, '{"order":18}', [secret], now],
        [{ ...good, "Webhook-Id": "m-2" }, body, [secret], now],
        [good, body, [otherSecret], now],
        [good, body, [secret], now + 301],
        [good, body, [secret], now - 301],
        [{}, body, [secret], now],
        [{ ...good, "webhook-signature": ["v1,AAAA"] }, body, [secret], now],
        [{ ...good, "webhook-signature": "v1,\u00e9" }, body, [secret], now],
        [{ ...good, "webhook-timestamp": "1".repeat(401) }, body, [secret], now],
        [{ ...good, "webhook-timestamp": [String(now)] }, body, [secret], now],
    ]) assert.throws(() => verifyWebhook(headers, text, secrets, { now: at }), InvalidWebhook);
});

test("a secret that is none is refused, and not taken for an empty key", () => {
    const headers = { "webhook-id": "m-1", "webhook-timestamp": "1000000", "webhook-signature": "v1,AAAA" };
    for (const none of ["", "whsec_", "whsec_!!!!", "whsec_AAAA", `whsec_${"!".repeat(32)}AAAA`])
        assert.throws(() => verifyWebhook(headers, "", [none], { now: 1_000_000 }), /a webhook secret is/);
});
