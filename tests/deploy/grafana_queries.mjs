// grafana_queries.mjs <dashboard> <metrics header...>: every query of the dashboard is PromQL, and
// asks for metrics that there are. promtool parses what stands in a file of rules, so each query
// becomes one.
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const [dashboard, source] = process.argv.slice(2);
const {panels} = JSON.parse(readFileSync(dashboard, 'utf8'));
const known = new Set(readFileSync(source, 'utf8').match(/postroom_[a-z_]+/g));
const queries =
    panels.flatMap((panel) => panel.targets.map(({expr}) => ({panel: panel.title, expr})));

let failed = queries.length < 10;
for (const {panel, expr} of queries)
    for (const name of expr.match(/postroom_[a-z_]+/g) ?? [])
        if (!known.has(name.replace(/_(bucket|sum|count)$/, ''))) {
            console.error(`${panel}: there is no metric ${name}`);
            failed = true;
        }
const folder = mkdtempSync(join(tmpdir(), 'grafana-'));
const rules =
    queries.map(({expr}, i) => ({
                    record: `query_${i}`,
                    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$store', '.*')
                }));
writeFileSync(join(folder, 'rules.yml'), JSON.stringify({groups: [{name: 'queries', rules}]}));
const parsed =
    spawnSync('promtool', ['check', 'rules', join(folder, 'rules.yml')], {encoding: 'utf8'});
rmSync(folder, {recursive: true});
console.log(`${queries.length} queries\n${parsed.stdout}${parsed.stderr}${parsed.error ?? ''}`);
process.exit(failed || parsed.status !== 0 ? 1 : 0);
