// What the checks of the admin API share: the document, its operations, and a client.
import {readFileSync} from 'node:fs';
import http from 'node:http';
import {parse} from 'yaml';

// Given by the test that starts this: POSTROOM_SPEC, ADMIN_URL, and TOKEN_<ROLE> for each role.
export const spec = parse(readFileSync(process.env.POSTROOM_SPEC, 'utf8'));
// The linter needs no server.
export const base = new URL(process.env.ADMIN_URL || 'http://127.0.0.1');
export const roles = ['viewer', 'operator', 'payload-viewer', 'admin'];
export const tokenOf = (role) => process.env['TOKEN_' + role.toUpperCase().replace('-', '_')];

// Every operation: { id, method, path, role, operation }.
export const operations = Object.entries(spec.paths)
                              .flatMap(
                                  ([path, item]) => ['get', 'post', 'put', 'patch', 'delete']
                                                        .filter((method) => item[method])
                                                        .map((method) => ({
                                                                 id: item[method].operationId,
                                                                 method: method.toUpperCase(),
                                                                 path,
                                                                 role: item[method]['x-role'],
                                                                 operation: item[method],
                                                             })));

// Follows "$ref"s, one after the other.
export function resolved(node) {
    while (node?.$ref) {
        node = node.$ref.slice(2).split('/').reduce((at, key) => at[key.replace('~1', '/')], spec);
    }
    return node;
}

// One request; nothing is thrown for a status. The body of a stream is its first event.
export function ask(method, path, {token, body, headers = {}} = {}) {
    return new Promise((resolve, reject) => {
        const text = body === undefined ? undefined :
            typeof body === 'string'    ? body :
                                          JSON.stringify(body);
        const request = http.request(
            {
                host: base.hostname,
                port: base.port,
                method,
                path,
                agent: false,  // a connection of its own: a kept one may be closed for others
                headers: {
                    ...(text === undefined ? {} : {
                        'content-type': 'application/json',
                        'content-length': Buffer.byteLength(text)
                    }),
                    ...(token ? {authorization: `Bearer ${token}`} : {}),
                    ...headers,
                },
            },
            (response) => {
                let received = '';
                const done = () => resolve({
                    status: response.statusCode,
                    headers: response.headers,
                    text: received,
                    type: (response.headers['content-type'] ?? '').split(';')[0],
                    get json() {
                        return JSON.parse(received);
                    },
                });
                response.setEncoding('utf8');
                response.on('data', (chunk) => {
                    received += chunk;
                    if (response.headers['content-type'] === 'text/event-stream' &&
                        /\n\n/.test(received)) {
                        done();
                        request.destroy();
                    }
                });
                response.on('end', done);
                response.on('error', () => done());
            });
        request.on('error', reject);
        request.end(text);
    });
}

let failures = 0;
export function check(holds, what) {
    if (holds) return;
    failures += 1;
    console.error(`FAILED: ${what}`);
}
export function finish(summary) {
    console.log(`${summary}; ${failures} failures`);
    process.exit(failures === 0 ? 0 : 1);
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export async function eventually(what, look, patience = 60_000) {
    const give_up = Date.now() + patience;
    for (;;) {
        const found = await look();
        if (found) return found;
        if (Date.now() > give_up) throw new Error(`${what} did not happen within ${patience} ms`);
        await sleep(100);
    }
}
