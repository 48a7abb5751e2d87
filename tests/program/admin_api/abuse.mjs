// What a hostile or broken client can do to the server: each gets the right refusal, while good
// clients keep being answered. The relay runs with admin.request_timeout = 1s and
// admin.connections_max = 64.
import net from 'node:net';

import {ask, base, check, eventually, finish, sleep, tokenOf} from './client.mjs';

const token = tokenOf('admin');
const authorized = `Authorization: Bearer ${token}\r\n`;
const host = `Host: 127.0.0.1:${base.port}\r\n`;

// Sends bytes as they are and returns all that comes back until the server closes, or `patience` is
// over.
function raw(bytes, {patience = 20_000, keepOpen = false} = {}) {
    return new Promise((resolve) => {
        const socket = net.connect(Number(base.port), base.hostname);
        let text = '';
        const timer = setTimeout(() => {
            socket.destroy();
            resolve({text, closed: false});
        }, patience);
        socket.on('connect', () => {
            socket.write(bytes);
            if (!keepOpen) return;
        });
        socket.on('data', (chunk) => (text += chunk));
        const end = () => {
            clearTimeout(timer);
            socket.destroy();
            resolve({text, closed: true});
        };
        socket.on('end', end);
        socket.on('close', end);
        socket.on('error', end);
    });
}
const statusOf = (text) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
const answersIn = (text) => (text.match(/HTTP\/1\.1 \d+/g) ?? []).length;

// Too large.
const big = await ask('POST', '/api/topics/pause', {
                token,
                body: JSON.stringify({topic: 'x'.repeat(3 * 1024 * 1024)})
            }).catch((error) => ({status: error.code}));
check(big.status === 413, `a body of 3 MiB: ${big.status}`);
check(
    statusOf((await raw(`GET /livez HTTP/1.1\r\n${host}X: ${'x'.repeat(20_000)}\r\n\r\n`)).text) ===
        431,
    'a header of 20 kB');
check(
    statusOf((await raw(`GET /livez HTTP/1.1\r\n${host}${'X: y\r\n'.repeat(10_000)}\r\n`)).text) ===
        431,
    '10,000 headers');
check(
    [400, 431].includes(
        statusOf((await raw(`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n`)).text)),
    'a path of 20 kB');

// Too slow.
const slowHead = await raw(`GET /livez HTTP/1.1\r\n${host}X-`);
check(
    slowHead.closed && statusOf(slowHead.text) === 408,
    `headers that do not end: ${slowHead.text.slice(0, 60)}`);
const slowBody = await raw(`POST /api/topics/pause HTTP/1.1\r\n${host}${
    authorized}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
check(
    slowBody.closed && statusOf(slowBody.text) === 408,
    `a body that does not end: ${slowBody.text.slice(0, 60)}`);
const drip = net.connect(Number(base.port), base.hostname);
let dripped = '';
drip.on('data', (chunk) => (dripped += chunk));
drip.on('error', () => {});
const dripping = setInterval(() => drip.writable && drip.write('X'), 100);
await new Promise((resolve) => drip.on('close', resolve));
clearInterval(dripping);
check([400, 408].includes(statusOf(dripped)), `a byte every 100 ms: ${dripped.slice(0, 60)}`);

// Foreign hosts and origins.
const status = async (headers, path = '/api/session') =>
    (await ask('GET', path, {token, headers})).status;
check(await status({host: 'evil.example'}) === 403, 'a name that was pointed here');
check(
    await status({host: '127.0.0.1.evil.example'}) === 403, 'a name that looks like this machine');
check(await status({host: `localhost:${base.port}`}) === 200, 'this machine\'s name');
check(await status({origin: 'http://evil.example'}) === 403, 'a page of another site');
check(await status({origin: 'null'}) === 403, 'a page of nowhere');
check(
    await status({origin: `http://127.0.0.1:${base.port}`, host: `127.0.0.1:${base.port}`}) === 200,
    'the server\'s own page');
check(
    await status(
        {origin: `http://127.0.0.1:${Number(base.port) + 1}`, host: `127.0.0.1:${base.port}`}) ===
        403,
    'another server of this machine');
check(await status({'sec-fetch-site': 'cross-site'}) === 403, 'an image tag of another site');
check(statusOf((await raw('GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n')).text) === 400, 'no host at all');
check(
    statusOf((await raw(`GET /livez HTTP/1.1\r\n${host}Host: b\r\nConnection: close\r\n\r\n`)).text) === 400,
    'two hosts');
const plain = await ask(
    'POST', '/api/topics/pause',
    {token, body: '{"topic":"a"}', headers: {'content-type': 'text/plain'}});
check(plain.status === 415, `a form of another site: ${plain.status}`);
const answer = await ask('GET', '/api/session', {token});
check(!('access-control-allow-origin' in answer.headers), 'no page of another site may read');
check(
    answer.headers['content-security-policy'].includes('frame-ancestors \'none\''),
    'nobody frames it');

// Two readings of one request: refused, and what is behind it is never taken for a request of its
// own.
const behind = `GET /livez HTTP/1.1\r\n${host}\r\n`;
const post = (headers, body) => `POST /api/topics/pause HTTP/1.1\r\n${host}${
    authorized}Content-Type: application/json\r\n${headers}\r\n${body}`;
for (const [what, bytes] of [
         [
             'a length and chunks',
             post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${behind}`)
         ],
         [
             'chunks and a length',
             post('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', `0\r\n\r\n${behind}`)
         ],
         ['chunks', post('Transfer-Encoding: chunked\r\n', `0\r\n\r\n${behind}`)],
         ['chunks by another name', post('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${behind}`)],
         [
             'a space before the colon',
             post('Transfer-Encoding : chunked\r\n', `0\r\n\r\n${behind}`)
         ],
         ['two lengths', post('Content-Length: 0\r\nContent-Length: 40\r\n', behind)],
         ['two lengths in one', post('Content-Length: 0, 40\r\n', behind)],
         ['a length with a sign', post('Content-Length: +5\r\n', `{}   ${behind}`)],
         ['a negative length', post('Content-Length: -1\r\n', behind)],
         ['a length in hexadecimal', post('Content-Length: 0x5\r\n', `{}   ${behind}`)],
         ['a length beyond 64 bits', post('Content-Length: 99999999999999999999\r\n', behind)],
         ['a chunk of -2', post('Transfer-Encoding: chunked\r\n', `-2\r\n\r\n${behind}`)],
         ['a NUL in a header', post('X: a\0b\r\nContent-Length: 2\r\n', `{}${behind}`)],
         ['a bare line feed', `GET /livez HTTP/1.1\n${host}\n${behind}`],
         ['a proxy\'s request', `GET http://127.0.0.1/livez HTTP/1.1\r\n${host}Connection: close\r\n\r\n`],
         ['no version', `GET /livez\r\n\r\n`],
         ['rubbish', `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n`],
]) {
    const {text, closed} = await raw(bytes, {patience: 10_000});
    const got = statusOf(text);
    check(
        (got >= 400 && got !== 401 && got !== 500) || (got === 0 && closed),
        `${what}: ${text.slice(0, 80)}`);
    check(answersIn(text) <= 1, `${what}: the bytes behind it were taken for a request`);
}
check(
    answersIn(
        (await raw(behind + behind.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))).text) ===
        2,
    'pipelined requests are answered one by one');

// Paths.
for (const path
         of ['/api/%zz', '/api/messages/%00', '/api/messages?limit=1&limit=2', '/api/messages/%ff'])
    check(
        statusOf(
            (await raw(`GET ${path} HTTP/1.1\r\n${host}${authorized}Connection: close\r\n\r\n`))
                .text) === 400,
        path);
check((await ask('GET', '/../../etc/passwd', {token})).status === 404, 'no way out of the pages');

// Idle and slow connections by the thousand: good clients keep being answered.
async function latencies(count) {
    const took = [];
    for (let i = 0; i < count; i++) {
        const begun = process.hrtime.bigint();
        const {status} = await ask('GET', '/livez', {});
        check(status === 200, `a good client is answered: ${status}`);
        took.push(Number(process.hrtime.bigint() - begun) / 1e6);
    }
    took.sort((a, b) => a - b);
    return {p50: took[Math.floor(count / 2)], p99: took[Math.floor(count * 0.99)]};
}
const calm = await latencies(200);
const crowd = [];
for (let i = 0; i < 1000; i++) {
    const socket = net.connect(Number(base.port), base.hostname);
    socket.on('error', () => {});
    if (i % 2) socket.on('connect', () => socket.write(`GET /livez HTTP/1.1\r\n${host}X-`));
    crowd.push(socket);
    if (i % 100 === 0) await sleep(10);
}
const crowded = await latencies(200);
console.log(`livez with 1,000 idle or slow connections: p50 ${crowded.p50.toFixed(2)} ms, p99 ${
    crowded.p99.toFixed(2)} ms (without them ${calm.p50.toFixed(2)}, ${calm.p99.toFixed(2)})`);
for (const socket of crowd) socket.destroy();

// Streams that nobody reads: bounded, and the rest works.
const deaf = [];
for (let i = 0; i < 40; i++) {
    const socket = net.connect(Number(base.port), base.hostname);
    socket.on('error', () => {});
    socket.on('connect', () => socket.write(`GET /api/live HTTP/1.1\r\n${host}${authorized}\r\n`));
    socket.pause();
    deaf.push(socket);
}
await eventually(
    'the refusal of a stream more than there may be',
    async () => (await ask('GET', '/api/live', {token})).status === 429);
check((await ask('GET', '/api/session', {token})).status === 200, 'the rest works');
for (const socket of deaf) socket.destroy();

finish('abuse');
