// The stream of live events: what happens is told, and a reader that comes back gets what it
// missed.
import http from 'node:http';

import {ask, base, check, eventually, finish, tokenOf} from './client.mjs';

const token = tokenOf('admin');

// Reads events until `enough` says so. `begun` is called when the first one has come.
function listen(enough, headers = {}, begun = () => {}) {
    return new Promise((resolve, reject) => {
        const request = http.get(
            {
                host: base.hostname,
                port: base.port,
                path: '/api/live',
                headers: {authorization: `Bearer ${token}`, ...headers}
            },
            (response) => {
                let text = '';
                response.setEncoding('utf8');
                response.on('data', (chunk) => {
                    text += chunk;
                    const events = text.split('\n\n')
                                       .slice(0, -1)
                                       .filter((block) => block.startsWith('id: '))
                                       .map(
                                           (block) => Object.fromEntries(block.split('\n').map(
                                               (line) =>
                                                   [line.slice(0, line.indexOf(':')),
                                                    line.slice(line.indexOf(':') + 2)])));
                    if (events.length > 0) begun();
                    if (!enough(events)) return;
                    resolve(events);
                    request.destroy();
                });
                response.on('error', () => {});
            });
        request.on('error', (error) => {
            if (error.code !== 'ECONNRESET') reject(error);
        });
        request.setTimeout(60_000, () => reject(new Error('no event for a minute')));
    });
}

const numberOf = (event) => Number(event.id.split('-')[1]);

const first = await listen((events) => events.length >= 2);
check(
    first.every(
        (event) => event.event === 'overview' && JSON.parse(event.data).stores.length === 1),
    'overviews come by themselves');
check(numberOf(first[1]) > numberOf(first[0]), 'ids go up');

const last = first.at(-1).id;
await ask('POST', '/api/topics/pause', {token, body: {topic: 'good.a'}});
await ask('POST', '/api/topics/resume', {token, body: {topic: 'good.a'}});
const missed = await listen(
    (events) => events.filter((event) => event.event === 'change').length >= 2,
    {'last-event-id': last});
check(numberOf(missed[0]) === Number(last.split('-')[1]) + 1, 'it goes on with the next one');
check(
    missed.filter((event) => event.event === 'change')
            .map((event) => JSON.parse(event.data).what)
            .join() === 'pause,resume',
    'nothing is left out');
check(
    missed.filter((event) => event.event === 'change')
        .every((event) => Object.keys(JSON.parse(event.data)).join() === 'store,what'),
    'who did it to what is not for viewers');

const strange =
    await listen((events) => events.length >= 1, {'last-event-id': '0123456789abcdef-7'});
check(strange[0].event === 'reset', 'an id of another run leads to a reset');
check(
    (await listen((events) => events.length >= 1, {'last-event-id': 'rubbish'}))[0].event ===
        'reset',
    'so does rubbish');

// Whoever listens from now on is not told what has ended before: it has to be there first.
let operation;
await new Promise((begun, failed) => {
    operation = listen(
        (events) => events.some(
            (event) => event.event === 'operation' && JSON.parse(event.data).status === 'finished'),
        {}, begun);
    operation.catch(failed);
});
await eventually(
    'the operation', async () => (await ask('POST', '/api/operations', {
                                     token,
                                     body: {action: 'redrive', filter: {topic: 'nobody.a'}}
                                 })).status === 202);
await operation;
finish('the stream');
