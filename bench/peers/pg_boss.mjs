// https://github.com/timgit/pg-boss. The best configuration notifies, takes batches, and goes on at once while they are full.
import { PgBoss } from 'pg-boss';

const best = { batchSize: 500, burstWhenBatchFull: true, localConcurrency: 2, pollingIntervalSeconds: 0.5 };

export async function open(url, config, connections) {
    const isBest = config === 'best';
    const boss = new PgBoss({ connectionString: url, ...(isBest && { max: connections, useListenNotify: true }) });
    boss.on('error', (error) => console.error(error));
    await boss.start();
    await boss.createQueue('orders', isBest ? { notify: true } : {});
    const work = async (handle) => {
        await boss.work('orders', isBest ? best : {}, async (jobs) => jobs.forEach((job) => handle(job.data)));
        return () => boss.offWork('orders', { wait: false });
    };
    return {
        enqueue: (payload) => boss.send('orders', payload),
        enqueueMany: (payloads) => boss.insert('orders', payloads.map((data) => ({ data }))),
        work,
        close: () => boss.stop({ graceful: false }),
    };
}
