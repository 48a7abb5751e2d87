// The document is good OpenAPI by the rules of the linter, and every operation names its role.
import {createConfig, lint} from '@redocly/openapi-core';

import {check, finish, operations} from './client.mjs';

const config = await createConfig({extends: ['recommended']});
const problems = await lint({ref: process.env.POSTROOM_SPEC, config});
for (const problem of problems)
    check(false, `${problem.ruleId}: ${problem.message} at ${problem.location?.[0]?.pointer}`);
for (const {id, role} of operations)
    check(
        ['none', 'viewer', 'operator', 'payload-viewer', 'admin'].includes(role),
        `${id} has no x-role`);
finish(`linted ${operations.length} operations`);
