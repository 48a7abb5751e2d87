// The page's own arithmetic: words for numbers and times, searches, JSON that is indented but not read.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

const { build } = createRequire(`${process.env.POSTROOM_WEB_WORK}/`)("esbuild");

async function load(path) {
    const { outputFiles } = await build({ entryPoints: [`${process.env.POSTROOM_WEB_SOURCE}/src/${path}`], bundle: true, format: "esm", write: false, nodePaths: [`${process.env.POSTROOM_WEB_WORK}/node_modules`] });
    return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

test("spans have two units and keep their sign", async () => {
    const { span, distance } = await load("base/words.ts");
    const expected = [
        [0, "0 s"],
        [0.0004, "<1 ms"],
        [0.85, "850 ms"],
        [1, "1 s"],
        [9.94, "9.9 s"],
        [61, "1 min 1 s"],
        [3600, "1 h"],
        [3725, "1 h 2 min"],
        [180_000, "2 d 2 h"],
        [-0.003, "−3 ms"],
        [-75, "−1 min 15 s"],
    ];
    for (const [seconds, words] of expected) assert.equal(span(seconds), words);
    assert.equal(distance(1000, 4000), "3 s ago");
    assert.equal(distance(24_000, 4000), "in 20 s");
    assert.equal(distance(4400, 4000), "now");
});

test("counts and rates are short and exact", async () => {
    const { brief, bytes, count, plural, rate } = await load("base/words.ts");
    assert.equal(count(1234567), "1,234,567");
    assert.equal(brief(1234567), "1.2M");
    assert.deepEqual([0, 0.04, 0.4, 2, 12.4, 31_415].map(rate), ["0", "<0.1", "0.4", "2", "12", "31.4K"]);
    assert.equal(plural(1, "message"), "1 message");
    assert.equal(plural(0, "message"), "0 messages");
    assert.deepEqual([12, 2048, 3 * 1024 * 1024].map(bytes), ["12 B", "2.0 KiB", "3.0 MiB"]);
});

test("a search survives the way to text and back", async () => {
    const { command_options, operation_filter, parse_terms, query_params, terms_text, why_no_operation } = await load("search/filter.ts");
    const text = 'topic:order.placed state:dead,ready error:"no such \\"customer\\"" tenant_id:""';
    const terms = parse_terms(text);
    assert.deepEqual(Object.fromEntries(terms), { topic: "order.placed", state: "dead,ready", error: 'no such "customer"', tenant_id: "" });
    assert.deepEqual(parse_terms(terms_text(terms)), terms);
    assert.deepEqual(Object.fromEntries(parse_terms("01JCWX")), { message_id: "01JCWX" });
    assert.deepEqual(Object.fromEntries(parse_terms("urn:order:17")), { message_id: "urn:order:17" });
    const now = Date.parse("2026-01-31T12:00:00Z");
    assert.equal(query_params(parse_terms("since:2h"), now).created_from, "2026-01-31T10:00:00.000Z");
    assert.deepEqual(operation_filter(parse_terms("state:dead blocking:yes"), now), { state: ["dead"], blocking: true });
    const options = (verb, words) => command_options(verb, parse_terms(words));
    assert.deepEqual(options("redrive", "topic:a.b since:2h"), ["--topic", "a.b", "--since", "2h"]);
    assert.deepEqual(options("redrive", "state:dead"), ["--all"]);
    assert.deepEqual(options("discard", "state:ready topic:a"), ["--topic", "a", "--state", "ready"]);
    assert.deepEqual(options("retry-now", ""), ["--all"]);
    for (const [verb, words] of [["redrive", "owner_token:x"], ["redrive", "state:ready"], ["discard", "state:dead,ready"], ["retry-now", "state:dead"], ["retry-now", "fingerprint:00"]]) assert.equal(options(verb, words), undefined);
    assert.deepEqual(options("discard", "fingerprint:00 topic:a"), ["--fingerprint", "00", "--topic", "a"]);
    assert.match(why_no_operation("retry-now", parse_terms("fingerprint:00")), /^Only dead messages/);
    assert.match(why_no_operation("redrive", parse_terms("owner_token:x")), /owner_token/);
    assert.equal(why_no_operation("redrive", parse_terms("fingerprint:00 topic:a")), undefined);
});

test("a story tells each claim, how long an attempt took, and who holds the message since when", async () => {
    const { time_line } = await load("pages/time_line.ts");
    const message = { queue: "outbox", state: "in_progress", created_at: "2026-01-31T12:00:00Z", available_at: "2026-01-31T12:00:09Z", retry_count: 3, lease: { owner_token: "w-2", locked_until: "2026-01-31T12:00:40Z" } };
    const attempts = [
        { at: "2026-01-31T12:00:05Z", worker: "w-1", destination: "http://a", outcome: "abandon", error: "503", claimed_at: "2026-01-31T12:00:03.700Z", took_seconds: 1.2 },
        { at: "2026-01-31T12:00:02Z", worker: "w-1", destination: "http://a", outcome: "abandon", error: "no route", claimed_at: "2026-01-31T12:00:02Z", took_seconds: 0 },
        { at: "2026-01-31T12:00:01Z", worker: "w-0", destination: "http://a", outcome: "abandon", error: "of an older version" },
    ];
    const story = time_line({ message, attempts, headers: {}, now: "2026-01-31T12:00:12Z", holder: { host: "relay-2", pid: 7, leased_at: "2026-01-31T12:00:10Z" } });
    assert.deepEqual(
        story.map(({ title, note, after }) => [title, note, after]),
        [
            ["Enqueued", undefined, undefined],
            ["Attempt 1 failed", "to http://a by w-0", "+1 s"],
            ["Claimed again", "by w-1", "+1 s"],
            ["Attempt 2 failed", "to http://a", "+0 s"],
            ["Claimed again", "by w-1", "+1.7 s"],
            ["Attempt 3 failed after 1.2 s", "to http://a", "+1.3 s"],
            ["Claimed, or its lease renewed", undefined, "+5 s"],
            ["Being delivered", "by w-2 on relay-2 (process 7)", "+2 s"],
            ["Lease ends, unless it is renewed", undefined, "+28 s"],
        ],
    );
    assert.equal(time_line({ message, attempts: [], headers: {}, now: "2026-01-31T12:00:12Z" })[1].note, "by w-2", "a worker that does not report");
});

test("words for a shell are quoted as it reads them", async () => {
    const { command_line } = await load("ui/command.tsx");
    assert.equal(command_line("redrive", "--error", "it's; rm -rf", undefined), "postroom redrive --error 'it'\\''s; rm -rf'");
});

test("JSON is indented without being changed", async () => {
    const { indent_json } = await load("base/indent_json.ts");
    assert.equal(indent_json('{"n":12345678901234567890,"n":1.50,"e":[],"o":{},"s":"\\u0041{,"}'), '{\n  "n": 12345678901234567890,\n  "n": 1.50,\n  "e": [],\n  "o": {},\n  "s": "\\u0041{,"\n}');
    assert.equal(indent_json('{"a":'), undefined);
    const depth = 5000;
    const deep = indent_json("[".repeat(depth) + "]".repeat(depth));
    assert.equal(deep.replaceAll(/\s/g, "").length, 2 * depth);
});

test("the axis of a chart has round steps that hold every value", async () => {
    const { line_path, nearest, ticks } = await load("ui/chart_model.ts");
    for (const largest of [0.003, 0.7, 1, 9, 37, 1480, 99_999]) {
        const steps = ticks(largest);
        assert.ok(steps.at(-1) >= largest && steps.length <= 5, `${largest}: ${steps}`);
    }
    assert.deepEqual(ticks(0), [0, 1]);
    assert.equal(line_path([0, 1, 2, 3, 4], [1, 2, null, 3, 4], 4), "M0.0 75.00L250.0 50.00M750.0 25.00L1000.0 0.00");
    assert.equal(nearest([10, 20, 30], 0.6), 1);
});

test("from end to end counts from when a message was due", async () => {
    const { end_to_end } = await load("pages/end_to_end.ts");
    const at = (seconds) => new Date(seconds * 1000).toISOString();
    const delivered = Array.from({ length: 100 }, (_, i) => ({ created_at: at(0), processed_at: at(i + 1) }));
    assert.deepEqual(end_to_end(delivered), { p50: 50, p99: 99, count: 100 });
    assert.deepEqual(end_to_end([{ created_at: at(0), due_time: at(60), processed_at: at(61) }]), { p50: 1, p99: 1, count: 1 });
    assert.deepEqual(end_to_end([{ created_at: at(5), processed_at: at(4) }]), { p50: 0, p99: 0, count: 1 });
    assert.equal(end_to_end([{ created_at: at(0) }, { created_at: at(0), processed_at: at(1), discarded: true }]), undefined);
});

test("the picture draws the busiest, and what is broken or held as such", async () => {
    const { flow_of } = await load("pages/flow_model.ts");
    const rates = (delivered) => ({ delivered, failed: 0, dead: 0 });
    const totals = { delivered: 0, failed: 0, dead: 0 };
    const stores = Array.from({ length: 12 }, (_, i) => ({ store: `s${i}`, up: i !== 11, queues: [{ queue: "outbox", rates: rates(i), totals, failure_ratio: 0 }] }));
    const topic = (name, destination, delivered, paused = false) => ({ store: "s10", topic: name, paused, destination, rates: rates(delivered), totals });
    const flow = flow_of({
        stores,
        topics: [topic("a", "up", 5), topic("b", "down", 0), topic("c", "up", 0, true), topic("d", "up", 0)],
        destinations: [{ destination: "up", state: "closed", circuits: [] }, { destination: "down", state: "open", circuits: [] }],
    });
    assert.equal(flow.stores.length, 8);
    assert.equal(flow.more.stores, 4);
    assert.deepEqual(flow.stores.slice(0, 2).map(({ store }) => store), ["s11", "s10"], "those that do not answer come first, then those with topics");
    assert.deepEqual(flow.out_links.map((link) => link.state), ["flowing", "held", "quiet", "broken"]);
});
