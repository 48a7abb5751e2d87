// https://docs.bullmq.io. Finished jobs are removed, as the other peers of the bench remove theirs.
import { Queue, Worker } from 'bullmq';
import Redis from 'ioredis';

const bestConcurrency = 100;
const jobOptions = { removeOnComplete: true };

// `url` is the path of the server's socket, '#' and the prefix of the keys.
export async function open(url, config) {
    const [path, prefix] = url.split('#');
    const connect = () => new Redis({ path, maxRetriesPerRequest: null });
    const connection = connect();
    const queue = new Queue('orders', { connection, prefix });
    await queue.waitUntilReady();
    const work = async (handle) => {
        const workerConnection = connect();
        const worker = new Worker('orders', async (job) => handle(job.data), {
            connection: workerConnection,
            prefix,
            concurrency: config === 'best' ? bestConcurrency : 1,
        });
        await worker.waitUntilReady();
        return async () => {
            await worker.close();
            workerConnection.disconnect();
        };
    };
    return {
        enqueue: (payload) => queue.add('order.placed', payload, jobOptions),
        enqueueMany: (payloads) =>
            queue.addBulk(payloads.map((data) => ({ name: 'order.placed', data, opts: jobOptions }))),
        work,
        close: async () => {
            await queue.close();
            connection.disconnect();
        },
    };
}
