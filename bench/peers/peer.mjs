// node peer.mjs <peer> <default|best> <url> <connections>: a peer under the control of the bench.
//
// Reads a command a line from standard input and answers each with a line; ends with its input. A peer's file exports
// open(url, config, connections), which resolves to
//     enqueue(payload)         one message, resolves when it is committed
//     enqueueMany(payloads)    in one transaction or call
//     work(handle)             starts the workers; resolves to a function that stops them
//     close()
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const [peerName, config, url, connections] = process.argv.slice(2);
const { open } = await import(`./${peerName}.mjs`);
const peer = await open(url, config, Number(connections));

// 200 bytes of JSON, as in the other loads of the bench.
const payloadSize = 200;
const payloadOf = (number) => {
    const frame = JSON.stringify({ number, fill: '' }).length;
    return { number, fill: '.'.repeat(payloadSize - frame) };
};
const payloads = (count) => Array.from({ length: count }, (_, i) => payloadOf(i));

const now = () => process.hrtime.bigint();  // of a clock that all processes of the machine share
const secondsSince = (start) => Number(now() - start) / 1e9;

let handled = 0;
let sent = 0;
let committedAt = [];
let handledAt = [];

const handle = (payload) => {
    handledAt[payload.number] ??= now();
    handled += 1;
};

// Each of `writers` does `step` again and again; returns the sum of what the steps returned.
async function repeat(writers, seconds, step) {
    const start = now();
    let count = 0;
    const writer = async () => {
        while (secondsSince(start) < seconds) {
            // Not `count += await`: that forgets what others have counted meanwhile.
            const some = await step();
            count += some;
        }
    };
    await Promise.all(Array.from({ length: writers }, writer));
    return count;
}

async function fill(count) {
    for (let done = 0; done < count; done += 1000) await peer.enqueueMany(payloads(Math.min(1000, count - done)));
    return count;
}

// Until `count` are handled, or for so many seconds: a peer may be made for another pace.
async function drain(count, limitSeconds) {
    handled = 0;
    const start = now();
    const stop = await peer.work(handle);
    while (handled < count && secondsSince(start) < limitSeconds) await sleep(1);
    afterAnswer = stop;
    return handled;
}

// What need not be timed.
let afterAnswer = null;
let stopListening = async () => {};

async function steadily(count, paceMs, step) {
    const start = performance.now();
    for (let i = 0; i < count; ++i) {
        const wait = start + i * paceMs - performance.now();
        if (wait > 0) await sleep(wait);
        await step(i);
    }
    return count;
}

const commands = {
    warm: (writers) => Promise.all(Array.from({ length: writers }, async () => {
        for (let i = 0; i < 10; ++i) await peer.enqueue(payloadOf(i));
    })).then(() => writers),
    enqueue: (writers, seconds) => repeat(writers, seconds, () => peer.enqueue(payloadOf(1)).then(() => 1)),
    bulk: (rows, seconds) => repeat(1, seconds, () => peer.enqueueMany(payloads(rows)).then(() => rows)),
    fill,
    drain,
    listen: async () => {
        handled = 0;
        handledAt = [];
        stopListening = await peer.work(handle);
        return 'ready';
    },
    handled: () => handled,
    send: (count, paceMs) => {
        committedAt = [];
        return steadily(count, paceMs, async (i) => {
            await peer.enqueue(payloadOf(i));
            committedAt[i] = now();
        });
    },
    committed: () => committedAt.join(' '),
    received: () => Array.from(handledAt, (at) => at ?? 0).join(' '),
    write: (rows, paceMs, seconds) => {
        const rounds = Math.floor(seconds * 1000 / paceMs);
        steadily(rounds, paceMs, () => peer.enqueueMany(payloads(rows)).then(() => { sent += rows; })).catch(fail);
        return 'started';
    },
    sent: () => sent,
};

function fail(error) {
    console.error(`${peerName}: ${error.stack ?? error}`);
    process.exit(1);
}

process.on('unhandledRejection', fail);
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
    const [command, ...values] = line.split(' ');
    if (!Object.hasOwn(commands, command)) fail(`unknown command ${command}`);
    try {
        process.stdout.write(`${await commands[command](...values.map(Number))}\n`);
        await afterAnswer?.();
        afterAnswer = null;
    } catch (error) {
        fail(error);
    }
}
// Workers that wait for a poll need not be waited for.
await Promise.race([stopListening().then(peer.close), sleep(2000)]);
process.exit(0);
