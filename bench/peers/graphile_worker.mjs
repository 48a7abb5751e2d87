// https://worker.graphile.org: the best configuration is that of its page on performance.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

const quiet = new Logger(() => (level, text) => {
    if (level === 'error') console.error(text);
});
const best = { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const defaultPool = 10;

export async function open(url, config, connections) {
    const max = config === 'best' ? Math.max(connections, best.concurrentJobs + 2) : defaultPool;
    const pool = new pg.Pool({ connectionString: url, max });
    pool.on('error', (error) => console.error(error));
    pool.on('connect', (client) => client.on('error', (error) => console.error(error)));
    const utils = await makeWorkerUtils({ pgPool: pool, logger: quiet });
    await utils.migrate();
    const work = async (handle) => {
        const runner = await run({
            pgPool: pool,
            logger: quiet,
            noHandleSignals: true,
            taskList: { order_placed: async (payload) => handle(payload) },
            preset: { worker: config === 'best' ? best : {} },
        });
        return () => runner.stop();
    };
    return {
        enqueue: (payload) => utils.addJob('order_placed', payload),
        enqueueMany: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: 'order_placed', payload }))),
        work,
        close: async () => {
            await utils.release();
            await pool.end();
        },
    };
}
