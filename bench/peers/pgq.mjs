// PgQ with its ticker pgqd, both as Debian packages them, by the functions of its manual. The best configuration ticks
// every 10 ms and asks as often; the default ticks every second, or as the queue's own defaults say.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const insert = { name: 'insert', text: `SELECT pgq.insert_event('orders', 'order.placed', $1)` };
const insertMany = {
    name: 'insert_many',
    text: `SELECT count(pgq.insert_event('orders', 'order.placed', p)) FROM unnest($1::text[]) AS u(p)`,
};
const bestTicker = `SELECT pgq.set_queue_config('orders', 'ticker_max_lag', '0'),
                           pgq.set_queue_config('orders', 'ticker_idle_period', '0'),
                           pgq.set_queue_config('orders', 'rotation_period', '15 seconds')`;

async function setUp(pool, isBest) {
    // One process of several sets it up; the others wait.
    const client = await pool.connect();
    await client.query('SELECT pg_advisory_lock(1)');
    await client.query('CREATE EXTENSION IF NOT EXISTS pgq');
    await client.query(`SELECT pgq.create_queue('orders')`);
    await client.query(`SELECT pgq.register_consumer('orders', 'bench')`);
    if (isBest) await client.query(bestTicker);
    await client.query('SELECT pg_advisory_unlock(1)');
    client.release();
}

// It ends with this process, however that ends.
async function startTicker(url, isBest) {
    const { hostname, port, username, password, pathname } = new URL(url);
    const folder = await mkdtemp(join(tmpdir(), 'pgqd-'));
    const secret = password === '' ? '' : ` password=${decodeURIComponent(password)}`;
    const settings = [
        '[pgqd]', `logfile = ${join(folder, 'log')}`, `pidfile = ${join(folder, 'pid')}`,
        `base_connstr = host=${hostname} port=${port} user=${username}${secret}`,
        `database_list = ${pathname.slice(1)}`, `initial_database = ${pathname.slice(1)}`,
        ...(isBest ? ['ticker_period = 0.01', 'maint_period = 5'] : []),
    ];
    await writeFile(join(folder, 'pgqd.ini'), `${settings.join('\n')}\n`);
    const ticker = spawn('setpriv', ['--pdeathsig', 'KILL', 'pgqd', '-q', join(folder, 'pgqd.ini')],
        { stdio: 'ignore' });
    return async () => {
        ticker.kill('SIGINT');
        await once(ticker, 'exit');
        await rm(folder, { recursive: true });
    };
}

export async function open(url, config, connections) {
    const isBest = config === 'best';
    const pool = new pg.Pool({ connectionString: url, max: connections });
    await setUp(pool, isBest);
    let stopTicker = async () => {};
    const consume = async (handle, stopped) => {
        while (!stopped()) {
            const next = await pool.query(`SELECT pgq.next_batch('orders', 'bench') AS batch`);
            const batch = next.rows[0].batch;
            if (batch === null) {
                await sleep(isBest ? 10 : 1000);
                continue;
            }
            const events = await pool.query('SELECT ev_id, ev_type, ev_data FROM pgq.get_batch_events($1)', [batch]);
            events.rows.forEach((event) => handle(JSON.parse(event.ev_data)));
            await pool.query('SELECT pgq.finish_batch($1)', [batch]);
        }
    };
    const work = async (handle) => {
        let stop = false;
        stopTicker = await startTicker(url, isBest);
        const consumer = consume(handle, () => stop);
        return async () => {
            stop = true;
            await consumer;
            await stopTicker();
            stopTicker = async () => {};
        };
    };
    return {
        enqueue: (payload) => pool.query({ ...insert, values: [JSON.stringify(payload)] }),
        enqueueMany: (payloads) => pool.query({ ...insertMany, values: [payloads.map((p) => JSON.stringify(p))] }),
        work,
        close: async () => {
            await stopTicker();
            await pool.end();
        },
    };
}
