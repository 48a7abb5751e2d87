// Every operation of the document, called on a running relay: the answers are as the document says,
// and say what is true.
//
// The relay's outbox has these messages: `good.*` go to a file, nobody takes `nobody.*` (they die
// at once), and the destination of `down.*` does not answer.
import formats from 'ajv-formats';
import Ajv from 'ajv/dist/2020.js';
import {spawnSync} from 'node:child_process';

import {ask, check, eventually, finish, operations, resolved, spec, tokenOf} from './client.mjs';

const ajv = new Ajv({strict: false, allErrors: true});
formats(ajv);
ajv.addSchema(spec, 'spec');
const called = new Set();

// The path to a node of the document that `schema` stands in, for ajv to find its references.
const pointer = (...keys) => 'spec#' +
    keys.map((key) => '/' + encodeURIComponent(key.replace('~', '~0').replaceAll('/', '~1')))
        .join('');

function schemaPointer(operation, status, type) {
    const responses = operation.operation.responses;
    const key = [String(status), `${String(status)[0]}XX`].find((k) => responses[k]);
    if (!key) return undefined;
    if (!resolved(responses[key]).content?.[type]) return undefined;
    const reference = responses[key].$ref;
    return reference ?
        `spec${reference}/content/${encodeURIComponent(type.replace('/', '~1'))}/schema` :
        pointer(
            'paths', operation.path, operation.method.toLowerCase(), 'responses', key, 'content',
            type, 'schema');
}

async function call(id, {path = {}, query = {}, body, status = 200, role = 'admin', headers} = {}) {
    const operation = operations.find((one) => one.id === id);
    called.add(id);
    let target =
        operation.path.replace(/\{([^}]*)\}/g, (_, name) => encodeURIComponent(path[name]));
    const search = new URLSearchParams(query).toString();
    if (search) target += '?' + search;
    const response = await ask(operation.method, target, {token: tokenOf(role), body, headers});
    check(
        response.status === status,
        `${id} ${target}: ${response.status} instead of ${status}: ${response.text.slice(0, 300)}`);
    const found = schemaPointer(operation, response.status, response.type);
    check(found, `${id}: a ${response.status} of type ${response.type} is not in the document`);
    if (found && response.type.endsWith('json')) {
        const validate = ajv.getSchema(found) ?? ajv.compile({$ref: found});
        check(
            validate(response.json),
            `${id}: ${ajv.errorsText(validate.errors)} in ${response.text.slice(0, 500)}`);
    }
    check(response.headers['x-content-type-options'] === 'nosniff', `${id}: no safety headers`);
    return response.type.endsWith('json') ? response.json : response.text;
}

const list = async (query) => (await call('listMessages', {query})).messages;
const dead = () => list({state: 'dead'});

// The whole.
const session = await call('getSession');
check(
    session.role === 'admin' && session.name === 'admin' && session.may.resend,
    'the session is the token\'s');
check(
    (await call('getSession', {role: 'viewer'})).may.operate === false, 'a viewer may not operate');
await eventually('the dead messages', async () => (await dead()).length >= 3);
const overview = await eventually('the overview', async () => {
    const seen = await call('getOverview');
    const outbox = seen.stores[0]?.queues.find((queue) => queue.queue === 'outbox');
    return outbox?.backlog?.dead >= 3 && outbox.totals.delivered >= 10 && seen.series.length > 0 ?
        seen :
        undefined;
});
check(
    overview.topics.some((topic) => topic.topic === 'good.a' && topic.totals.delivered >= 5),
    'topics are counted');
check((await call('streamLive')).startsWith('id: '), 'the stream begins');
check((await call('listStores')).stores[0].up, 'the store is up');
check(
    (await call('examineStore')).findings.some((finding) => finding.check === 'schema'),
    'the schema is examined');
check((await call('getOpenapi')).startsWith('openapi: 3.1'), 'the document is served');
await call('listWorkers');
const repeats = await call('listSources');
check(repeats.sources.length === 0 && repeats.processes >= 1, 'nothing was received twice');

// Lists.
const everything = await list({limit: '500'});
const seqs = everything.map((message) => BigInt(message.seq));
check(seqs.every((seq, i) => i === 0 || seq < seqs[i - 1]), 'the newest come first');
const paged = [];
for (let cursor;;) {
    const page = await call('listMessages', {query: {limit: '3', ...(cursor ? {cursor} : {})}});
    paged.push(...page.messages.map((message) => message.id));
    cursor = page.next_cursor;
    if (!cursor) break;
}
check(everything.every((message) => paged.includes(message.id)), 'paging finds everything');
check(
    (await list({topic: 'good.a', state: 'done'}))
        .every((message) => message.topic === 'good.a' && message.state === 'done'),
    'topic and state');
for (const filter
         of [{tenant_id: ''},
             {source: ''},
             {correlation_id: 'c1'},
             {ordering_key: 'k1'},
             {aggregate_type: 'order'},
             {blocking: 'true'},
             {put_off: 'true'},
             {error: 'no handler'},
             {created_from: '2020-01-01T00:00:00Z'},
             {created_before: '2020-01-01T00:00:00Z'},
             {owner_token: '00000000-0000-4000-8000-000000000000'},
             {message_id: everything[0].message_id},
             {order: 'oldest'},
             {queue: 'inbox'},
])
    await list(filter);
check((await list({message_id: everything[0].message_id})).length === 1, 'by message id');
for (const bad
         of [{limit: '0'}, {limit: '501'}, {state: 'asleep'}, {created_from: 'yesterday'},
             {tpoic: 'a'}, {cursor: '-1'}]) {
    const problem = await call('listMessages', {query: bad, status: 400});
    check(problem.field === Object.keys(bad)[0], `the problem names ${Object.keys(bad)[0]}`);
}
await call('listMessages', {query: {store: 'nowhere'}, status: 404});

// One message.
const victim = (await dead()).find((message) => message.topic === 'nobody.a');
const detail = await call('getMessage', {path: {id: victim.id}});
check(
    detail.explanation.reason === 'dead' && detail.may.includes('redrive'),
    'a dead message is explained');
check(
    detail.headers.authorization === '***' && detail.headers.colour === 'red',
    'credentials among the headers are hidden');
check(!JSON.stringify(detail).includes('9007199254740993'), 'a payload is not shown unasked');
check(
    (await call('getMessage', {path: {id: victim.message_id}})).message.id === victim.id,
    'by message id');
await call('getMessage', {path: {id: 'nowhere'}, status: 404});
const payload = await call('revealPayload', {path: {id: victim.id}, role: 'payload-viewer'});
check(payload.text === '{"order": 9007199254740993}', `the payload to the byte: ${payload.text}`);
check(payload.headers.authorization === 'Bearer s3cret', 'the headers in full');

// Dead letters, and changes to one and to many.
const letters = await call('listDeadLetters');
check(letters.complete && letters.groups.length >= 1, 'dead letters are grouped');
const group = letters.groups.find((one) => one.topics.some((topic) => topic.topic === 'nobody.a'));
check(group.count >= 3, `one cause, one group: ${JSON.stringify(letters.groups)}`);
check(
    group.deaths_by_hour.reduce((all, each) => all + each, 0) === group.count,
    `all of them died today: ${group.deaths_by_hour}`);
const dry = await call(
    'startOperation',
    {body: {action: 'redrive', filter: {fingerprint: group.fingerprint}, dry_run: true}});
check(dry.matched === group.count, 'a dry run counts');
check(
    (await call(
         'changeMessage', {path: {id: victim.id}, body: {action: 'redrive'}, role: 'operator'}))
        .changed,
    'one is redriven');
await eventually(
    'that it dies again', async () => (await dead()).some((message) => message.id === victim.id));
const done =
    everything.find((message) => message.state === 'done') ?? (await list({state: 'done'}))[0];
await call('changeMessage', {path: {id: done.id}, body: {action: 'redrive'}, status: 409});
await call('changeMessage', {path: {id: done.id}, body: {action: 'explode'}, status: 400});
await call('changeMessage', {path: {id: done.id}, body: '{', status: 400});

const resend = () => call('resendMessage', {
    path: {id: victim.id},
    status: 201,
    body: {
        topic: 'good.resent',
        payload_text: '{"order": 1}',
        headers: {colour: 'blue'},
        idempotency_key: 'resent-once',
    },
});
const resent = await resend();
check((await resend()).id === resent.id, 'the same key sends nothing twice');
const arrived = await eventually(
    'the delivery of what was resent',
    async () => (await list({message_id: resent.message_id, state: 'done'}))[0]);
check(
    (await call('getMessage', {path: {id: arrived.id}})).headers['postroom-resend-of'] ===
        victim.message_id,
    'it names the old one');
await call('resendMessage', {path: {id: arrived.id}, body: {}, status: 409});

await call('startOperation', {body: {action: 'redrive', filter: {state: ['done']}}, status: 400});
await call('startOperation', {body: {action: 'redrive', filter: {colour: 'red'}}, status: 400});
const started = await call(
    'startOperation',
    {body: {action: 'discard', filter: {topic: 'nobody.b'}}, status: 202, role: 'operator'});
const ended = await eventually('the end of the operation', async () => {
    const seen = await call('getOperation', {path: {operation: started.id}});
    return seen.status !== 'running' ? seen : undefined;
});
check(
    ended.status === 'finished' && ended.changed === ended.matched && ended.changed >= 1,
    `it did all: ${JSON.stringify(ended)}`);
check((await list({topic: 'nobody.b', state: 'dead'})).length === 0, 'they are gone');
await call('cancelOperation', {path: {operation: started.id}, status: 202});
check(
    (await call('listOperations')).operations[0].id === started.id,
    'the newest operation comes first');
await call('getOperation', {path: {operation: 'nowhere'}, status: 404});

// Topics and destinations.
check((await call('pauseTopic', {body: {topic: 'good.a'}})).changed, 'a topic is paused');
check(!(await call('pauseTopic', {body: {topic: 'good.a'}})).changed, 'it was paused before');
check(
    (await call('listTopics')).topics.find((topic) => topic.topic === 'good.a').paused,
    'and is listed as such');
check((await call('resumeTopic', {body: {topic: 'good.a'}})).changed, 'it is resumed');
await call('pauseTopic', {body: {topic: ''}, status: 400});
await call('pauseTopic', {body: {topic: 'x'.repeat(256)}, status: 400});
await call('listDestinations');
await call('probeDestination', {body: {destination: 'nowhere'}, status: 202});

// The audit log has all of it.
const entries = (await call('listAudit', {query: {limit: '500'}, role: 'operator'})).entries;
for (const what of ['reveal', 'redrive', 'discard', 'resend', 'pause', 'resume'])
    check(entries.some((entry) => entry.what === what), `${what} is in the audit log`);
check(
    entries.find((entry) => entry.what === 'reveal').who === 'payload-viewer@127.0.0.1',
    'with who did it');
const first = await call('listAudit', {query: {limit: '1'}});
const second = await call('listAudit', {query: {limit: '1', cursor: first.next_cursor}});
check(BigInt(second.entries[0].id) < BigInt(first.entries[0].id), 'by pages');

// Numbered pages.
const pageOf = async (id, query) => (await call(id, {query})).Items;
check(
    (await pageOf('listOutbox', {status: 'processed', topic: 'good.a'}))
        .every((item) => item.ProcessedAt && item.EventType === 'good.a'),
    'processed');
check(
    (await pageOf('listOutbox', {status: 'failed'}))
        .some((item) => item.Id === victim.id && item.LastErrorSnippet),
    'failed');
check(
    (await pageOf('listOutbox', {status: 'pending'})).every((item) => item.ProcessedAt === null),
    'pending');
const one = await call('listOutbox', {query: {status: 'processed', page: '2', pageSize: '3'}});
check(one.Items.length === 3 && one.HasMore, 'the second page of three');
check(
    (await pageOf('listOutbox', {status: 'processed', tenant: 'nobody'})).length === 0,
    'by tenant');
await call('listOutbox', {query: {status: 'lost'}, status: 400});
await call('listWorkflowOutbox');
await call('listInbox');

// Monitoring.
const figures = (await call('getMetrics')).Queues.find((queue) => queue.Queue === 'outbox');
check(figures.Dead >= 1 && figures.Throughput >= 0, 'the five figures');
const exposition = await call('getPrometheusMetrics');
check(/postroom_delivered_total\{.*topic="good.a".*\} \d/.test(exposition), 'metrics');
const lint = spawnSync('promtool', ['check', 'metrics'], {input: exposition, encoding: 'utf8'});
check(
    lint.status === 0 && lint.stdout + lint.stderr === '',
    `promtool: ${lint.status} ${lint.stdout}${lint.stderr}${lint.error ?? ''}`);
check((await call('getLiveness')) === 'ok\n', 'alive');
check((await call('getReadiness', {query: {verbose: ''}})).includes('[+] store'), 'ready');
check(['ok', 'degraded'].includes((await call('getHealth')).status), 'healthy');

for (const {id} of operations) check(called.has(id), `${id} was never called`);
finish(`${called.size} operations of ${operations.length}`);
