// The loop that one writes by hand with the usual driver: what the language costs, beside the peers that share it.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const tables = `
CREATE TABLE IF NOT EXISTS message (
    id uuid PRIMARY KEY, seq bigint GENERATED ALWAYS AS IDENTITY, topic text NOT NULL, payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), due_at timestamptz NOT NULL DEFAULT now(), lease_until timestamptz,
    owner uuid, status smallint NOT NULL DEFAULT 0, attempts int NOT NULL DEFAULT 0, last_error text);
CREATE INDEX IF NOT EXISTS message_ready ON message (due_at, seq) WHERE status = 0;`;
const insert = { name: 'insert', text: 'INSERT INTO message (id, topic, payload) VALUES ($1, $2, $3)' };
const insertMany = {
    name: 'insert_many',
    text: `INSERT INTO message (id, topic, payload)
           SELECT i, 'order.placed', p FROM unnest($1::uuid[], $2::jsonb[]) AS u(i, p)`,
};
const claim = {
    name: 'claim',
    text: `WITH chosen AS (SELECT id FROM message WHERE status = 0 AND due_at <= now()
                            ORDER BY due_at, seq LIMIT $1 FOR UPDATE SKIP LOCKED)
           UPDATE message m SET status = 1, owner = $2, lease_until = now() + interval '30 s', attempts = attempts + 1
             FROM chosen WHERE m.id = chosen.id RETURNING m.id, m.payload`,
};
const ack = { name: 'ack', text: 'DELETE FROM message WHERE id = ANY ($1::uuid[])' };
const workers = 2;
const batch = 100;

export async function open(url, config, connections) {
    const pool = new pg.Pool({ connectionString: url, max: connections });
    await pool.query(tables);
    const work = async (handle) => {
        let stopped = false;
        const owner = randomUUID();
        const loop = async () => {
            while (!stopped) {
                const { rows } = await pool.query({ ...claim, values: [batch, owner] });
                rows.forEach((row) => handle(row.payload));
                if (rows.length > 0) await pool.query({ ...ack, values: [rows.map((row) => row.id)] });
                else await sleep(5);
            }
        };
        const loops = Array.from({ length: workers }, loop);
        return () => {
            stopped = true;
            return Promise.all(loops);
        };
    };
    return {
        enqueue: (payload) => pool.query({ ...insert, values: [randomUUID(), 'order.placed', payload] }),
        enqueueMany: (payloads) =>
            pool.query({ ...insertMany, values: [payloads.map(() => randomUUID()), payloads.map((p) => JSON.stringify(p))] }),
        work,
        close: () => pool.end(),
    };
}
