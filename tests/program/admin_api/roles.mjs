// Every operation with every kind of caller: who may gets past the gate, who may not is refused in
// the right way. Generated from the document, so that an operation that is added is checked too.
import {ask, check, finish, operations, roles, tokenOf} from './client.mjs';

const includes = (role, wanted) => wanted === 'none' || role === wanted || role === 'admin' ||
    (wanted === 'viewer' && role !== 'none');

let asked = 0;
async function status({method, path}, token) {
    asked += 1;
    // Ids that are nowhere and bodies that say nothing: what matters is who gets as far as being
    // told that.
    const target = path.replace(/\{[^}]*\}/g, 'nowhere');
    const response = await ask(method, target, {token, body: method === 'POST' ? {} : undefined});
    if (response.status >= 400 && response.type !== 'text/plain' && path !== '/health')
        check(
            response.type === 'application/problem+json',
            `${method} ${path}: a ${response.status} that is no problem`);
    return response.status;
}

for (const operation of operations) {
    const name = `${operation.method} ${operation.path} (${operation.role})`;
    const without = await status(operation);
    check(
        operation.role === 'none' ? without !== 401 && without !== 403 : without === 401,
        `${name} without a token: ${without}`);
    const wrong = await status(operation, 'wrong');
    check(wrong === 401, `${name} with a wrong token: ${wrong}`);
    for (const role of roles) {
        const got = await status(operation, tokenOf(role));
        const refused = got === 401 || got === 403;
        check(refused === !includes(role, operation.role), `${name} as ${role}: ${got}`);
        check(got < 500 || got === 503, `${name} as ${role}: ${got}`);
    }
}
check(
    (await ask('GET', '/api/nowhere', {token: tokenOf('admin')})).status === 404,
    'an unknown path is not found');
check(
    (await ask('DELETE', '/api/messages', {token: tokenOf('admin')})).status === 405,
    'a method that is not there');
finish(`${asked} requests for ${operations.length} operations`);
