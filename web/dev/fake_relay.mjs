// A relay that only pretends: the answers of the admin API with made-up figures, to work on the page
// without a database, and to show it situations that are hard to bring about.

const topics = ["order.placed", "order.shipped", "invoice.created", "customer.updated", "stock.low"];
const errors = [
    "HTTP 422: {\"error\":\"no such customer\"}",
    "HTTP 500: upstream timed out after 30 s",
    "the payload is not JSON: unexpected end at byte 118",
];
const tokens = ["3f0c2f4e-1111-4a6b-9c51-000000000001", "3f0c2f4e-1111-4a6b-9c51-000000000002"];

const second = 1000;
const iso = (ms) => new Date(ms).toISOString();
const uuid = (n) => `01940000-0000-8000-8000-${n.toString(16).padStart(12, "0")}`;

export function fake_relay({ stores = 1, role = "operator", hostile = [], token = "", quiet = false, changed_at_once = 400 } = {}) {
    const started = Date.now() - 600 * second;
    // The n-th hostile text in front of what would be there.
    const text = (plain, n = 0) => (hostile.length > 0 ? `${hostile[n % hostile.length]}${plain}` : plain);
    const store_names = Array.from({ length: stores }, (_, i) => (stores === 1 ? "main" : `tenant-${String(i + 1).padStart(4, "0")}`));
    const paused = new Map([["main invoice.created", iso(Date.now() - 240 * second)]]);
    const audit = quiet
        ? []
        : ["redrive", "discard", "pause", "reveal", "probe", "resend"].map((what, i) => ({ id: String(6 - i), store: store_names[0], at: iso(Date.now() - (i + 1) * 3700 * second), who: text(i % 2 ? "alice" : "anonymous@127.0.0.1", i), what, target: text(["state dead, topic order.shipped", uuid(13), "invoice.created", uuid(6), "https://crm.example.com/events", uuid(20)][i], i), ...(i === 0 ? { count: 31 } : {}), outcome: what === "resend" ? `sent as ${uuid(1)}` : "done" }));
    const operations = new Map();
    const down_since = Date.now() - 184 * second;
    let is_down = true;
    let last_event = 0;
    const followers = new Set();

    const may = {
        view: role !== "none",
        operate: ["operator", "admin"].includes(role),
        reveal: ["payload-viewer", "admin"].includes(role),
        resend: role === "admin",
    };

    const wave = (period, height, base) => Math.max(0, base + height * Math.sin((Date.now() / second / period) * 2 * Math.PI));
    const delivered = () => Math.floor(((Date.now() - started) / second) * 120);

    function topic_view(name, i, store = store_names[0]) {
        const since = paused.get(`${store} ${name}`);
        const blocked = is_down && i === 3;
        return {
            store,
            topic: text(name),
            paused: since !== undefined,
            ...(since ? { paused_since: since } : {}),
            destination: text(["https://orders.internal/hook", "https://orders.internal/hook", "amqp://broker/invoices", "https://crm.example.com/events", "kafka://events"][i]),
            rates: { delivered: since || blocked ? 0 : [82, 24, 6, 12, 0.4][i], failed: i === 1 ? 1.2 : 0, dead: 0 },
            totals: { delivered: Math.floor(delivered() / (i + 1)), failed: i * 7, dead: i === 1 ? 31 : 0 },
        };
    }

    function destinations() {
        const open = { state: "open", since: iso(down_since), next_probe_at: iso(Date.now() + 18 * second), last_error: text("connect to crm.example.com port 443: connection refused") };
        return [
            { destination: text("https://orders.internal/hook"), sink: "orders", topics: ["order.*"], latency: { p50_seconds: 0.0042, p99_seconds: 0.187 }, state: "closed", circuits: [] },
            { destination: text("https://crm.example.com/events"), sink: "crm", topics: ["customer.*"], ...(is_down ? open : { state: "closed" }), circuits: is_down ? [{ store: store_names[0], worker: tokens[0], host: "relay-1", ...open }] : [] },
            { destination: text("amqp://broker/invoices"), sink: "invoices", topics: ["invoice.*"], state: "closed", circuits: [] },
            { destination: text("kafka://events"), sink: "events", topics: ["#"], state: "closed", circuits: [] },
        ];
    }

    const backlog = () => ({ ready: Math.round(wave(90, 900, 1480)), in_progress: 42, dead: 37, seen: 0, retrying: 12, old_failures: 0, estimated: false });

    function queue_view(queue, scale) {
        const outbox = queue === "outbox";
        return {
            queue,
            backlog: outbox ? backlog() : { ready: 3, in_progress: 1, dead: 0, seen: 2, retrying: 0, old_failures: 0, estimated: false },
            counted_at: iso(Date.now()),
            ...(outbox ? { oldest_age_seconds: 184.2, drained_in_seconds: 312 } : {}),
            rates: outbox ? { delivered: 124 * scale, failed: 1.2, dead: 0, arriving: 131 } : { delivered: 8, failed: 0, dead: 0, arriving: 8 },
            totals: outbox ? { delivered: delivered(), failed: 341, dead: 37, duplicates: 0, lost: 2 } : { delivered: 4810, failed: 3, dead: 0, duplicates: 118, lost: 0 },
            failure_ratio: 0.009,
            latency: { p50_seconds: 0.0042, p99_seconds: 0.187 },
        };
    }

    function overview(with_series) {
        const at = Date.now();
        const series = Array.from({ length: 120 }, (_, i) => {
            const t = at - (120 - i) * 5 * second;
            const outage = i > 60 && i < 80;
            return { at: iso(t), delivered: outage ? 14 : 118 + 22 * Math.sin(i / 6), failed: outage ? 9 : 1, dead: i === 70 ? 2 : 0, backlog: Math.round(outage ? 200 + (i - 60) * 140 : i >= 80 ? Math.max(1480, 3000 - (i - 80) * 60) : 180 + 40 * Math.sin(i / 4)), p50_seconds: 0.004 + 0.002 * Math.sin(i / 9), p99_seconds: outage ? 0.9 : 0.16 + 0.05 * Math.sin(i / 5) };
        });
        return {
            at: iso(at),
            version: "0.1.0",
            started_at: iso(started),
            stores: store_names.map((store, i) => ({ store, up: i !== 3, ...(i === 3 ? { error: "connection refused" } : {}), queues: quiet ? [] : [queue_view("outbox", 1), queue_view("inbox", 1)] })),
            topics: quiet ? [] : topics.map((name, i) => topic_view(name, i, store_names[i % Math.min(stores, 5)])),
            destinations: quiet ? [] : destinations(),
            ...(with_series ? { series: quiet ? [] : series } : {}),
        };
    }

    const fingerprint = (group) => `${group}`.padStart(16, "0");
    const states = ["ready", "ready", "in_progress", "done", "done", "done", "dead"];
    function message(n, queue = "outbox") {
        const state = states[n % states.length];
        const created = Date.now() - n * 1700;
        const dead = state === "dead";
        const failed = dead ? 10 : n % 14 === 0 ? 2 : 0;
        return {
            id: uuid(n),
            seq: String(9007199254740993n + BigInt(n)),
            queue,
            state,
            message_id: text(`01JCW${String(n).padStart(21, "0")}`, n),
            topic: text(topics[n % topics.length], n),
            ...(queue === "inbox" ? { source: text("stripe", n) } : { tenant_id: text(n % 3 ? "acme" : "globex", n) }),
            ...(n % 4 === 0 ? { ordering_key: text(`customer-${n % 40}`, n), correlation_id: text(`req-${n}`, n) } : {}),
            priority: 0,
            created_at: iso(created),
            available_at: iso(failed && !dead ? Date.now() + 14 * second : created),
            retry_count: failed,
            lost_count: n % 35 === 0 ? 1 : 0,
            max_attempts: 10,
            ...(failed ? { last_error: text(errors[n % errors.length], n) } : {}),
            ...(dead ? { dead_reason: "max_attempts", fingerprint: fingerprint(n % errors.length) } : {}),
            ...(dead ? { died_at: iso(created + 95_000) } : state === "done" ? { processed_at: iso(created + 240), processed_by: "relay-1:4711" } : {}),
            ...(state === "in_progress" ? { lease: { owner_token: tokens[0], locked_until: iso(Date.now() + 21 * second) } } : {}),
            content_type: text("application/json", n),
            payload_bytes: 186,
        };
    }

    function page(query) {
        if (quiet) return { store: store_names[0], queue: "outbox", now: iso(Date.now()), messages: [] };
        const wanted = (query.get("state") ?? "").split(",").filter(Boolean);
        const limit = Number(query.get("limit") ?? 50);
        const found = [];
        let n = Number(query.get("cursor") ?? 0);
        for (; found.length < limit && n < 100_000; ++n) {
            const each = message(n, query.get("queue") ?? "outbox");
            if (wanted.length && !wanted.includes(each.state)) continue;
            if (query.has("topic") && each.topic !== query.get("topic")) continue;
            if (query.has("fingerprint") && each.fingerprint !== query.get("fingerprint")) continue;
            if (query.has("error") && !each.last_error?.includes(query.get("error"))) continue;
            if (query.has("message_id") && each.message_id !== query.get("message_id")) continue;
            found.push(each);
        }
        return { store: query.get("store") ?? store_names[0], queue: query.get("queue") ?? "outbox", now: iso(Date.now()), messages: found, ...(n < 100_000 ? { next_cursor: String(n) } : {}) };
    }

    function detail(id, queue) {
        const n = parseInt(id.slice(-12), 16) || 0;
        const found = message(n, queue);
        const attempts = Array.from({ length: Math.min(found.retry_count, 20) }, (_, i) => ({ at: iso(Date.parse(found.created_at) + (found.retry_count - i) * 9000 - 60), claimed_at: iso(Date.parse(found.created_at) + (found.retry_count - i) * 9000 - 1300), took_seconds: 1.2, worker: tokens[0], destination: text("https://orders.internal/hook", n), outcome: "abandon", error: text(errors[i % errors.length], n) }));
        const sentence = { dead: "It failed 10 of 10 times and is dead; nobody tries it again until you redrive it.", done: "It was delivered.", in_progress: "It is being delivered.", ready: found.retry_count ? "It failed twice and waits 14 s for its next attempt." : "Nothing keeps it from being delivered.", seen: "It was seen." }[found.state];
        return { store: store_names[0], now: iso(Date.now()), message: found, headers: { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", authorization: "***", [text("x-shop", n)]: text("eu-1", n) }, attempts, explanation: { reason: found.state, sentence: text(sentence, n) }, destination: text("https://orders.internal/hook", n), ...(found.lease ? { holder: { host: text("relay-1", n), pid: 4711, leased_at: iso(Math.max(Date.parse(found.created_at) + 40, Date.now() - 9 * second)) } } : {}), may: { dead: ["redrive", "discard"], ready: found.retry_count ? ["discard", "retry-now"] : ["discard"] }[found.state] ?? [] };
    }

    function note(action, what, count) {
        const entry = { id: String(audit.length + 1), store: store_names[0], at: iso(Date.now()), who: "anonymous@127.0.0.1", what: action, target: text(what), ...(count === undefined ? {} : { count }), outcome: "done" };
        audit.unshift(entry);
        send("change", entry);
    }

    function send(name, data) {
        const block = `id: ${++last_event}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
        for (const follower of followers) follower.write(block);
    }

    function start_operation(body) {
        const matched = body.ids?.length ?? 4200;
        if (body.dry_run) return [200, { action: body.action, dry_run: true, matched }];
        const operation = { id: `op-${operations.size + 1}`, action: body.action, store: store_names[0], queue: body.queue ?? "outbox", status: "running", matched, changed: 0, what: text("state dead"), by: "anonymous", started_at: iso(Date.now()) };
        operations.set(operation.id, operation);
        const timer = setInterval(() => {
            operation.changed = Math.min(matched, operation.changed + changed_at_once);
            if (operation.changed === matched) operation.status = "finished";
            if (operation.status !== "running") {
                operation.finished_at = iso(Date.now());
                clearInterval(timer);
                note(body.action, operation.what, operation.changed);
            }
            send("operation", operation);
        }, 200);
        timer.unref();
        return [202, operation];
    }

    const groups = () =>
        quiet ? [] : errors.map((error, i) => ({ fingerprint: fingerprint(i), error: text(error.replace(/\d+/g, "#")), sample_error: text(error), sample_id: uuid(6 + 7 * i), dead_reason: "max_attempts", count: [24, 11, 2][i], topics: topics.slice(0, 3 - i).map((topic, k) => ({ topic: text(topic), count: 9 - k })), first_created_at: iso(Date.now() - 7200 * second), last_created_at: iso(Date.now() - 90 * second), deaths_by_hour: Array.from({ length: 24 }, (_, hour) => [hour > 20 ? 3 * (hour - 20) : hour % 4 ? 0 : 1, hour === 22 ? 11 : 0, hour === 3 ? 2 : 0][i]) }));

    const worker = (i) => ({ store: store_names[0], owner_token: tokens[i], host: text(`relay-${i + 1}`), pid: 4711 + i, version: "0.1.0", queue: "outbox", started_at: iso(started), last_seen: iso(Date.now() - (i === 1 ? 41 : 2) * second), this_process: i === 0, in_hand: 42, delivered_per_second: 62.3, failed_per_second: 0.4, circuits: is_down && i === 0 ? [{ destination: text("https://crm.example.com/events"), state: "open", since: iso(down_since), last_error: text("connection refused") }] : [] });

    const store_view = (store, i) => ({ store, up: i !== 3, ...(i === 3 ? { error: text("connection refused") } : {}), schema_version: i === 2 ? 17 : 18, schema_up_to_date: i !== 2, clock_offset_seconds: -0.0123, outbox: { backlog: { ...backlog(), ready: (i * 7919) % 1500, dead: i % 9 === 0 ? 37 : 0 }, oldest_age_seconds: 12.5 }, inbox: { backlog: { ready: 0, in_progress: 0, dead: 0, seen: 0, retrying: 0, old_failures: 0, estimated: false } } });

    function read(path, query) {
        const [, first = "", second_part = "", third] = path.split("/").slice(1);
        if (path === "/api/session") return { role, name: token ? "on-call" : "anonymous", anonymous: !token, version: "0.1.0", may };
        if (path === "/api/overview") return overview(true);
        if (path === "/api/messages") return page(query);
        if (first === "messages" && third === "payload") {
            note("reveal", second_part);
            return { id: second_part, content_type: "application/json", bytes: 186, text: `{"order_id":12345678901234567890,"customer":${JSON.stringify(text("Ada", parseInt(second_part.slice(-12), 16) || 0))},"total":19.90,"lines":[{"sku":"A-1","n":2}]}`, headers: { authorization: "Bearer secret" } };
        }
        if (first === "messages") return detail(decodeURIComponent(second_part), query.get("queue") ?? "outbox");
        if (path === "/api/dead-letters") return { store: store_names[0], queue: query.get("queue") ?? "outbox", examined: quiet ? 0 : 37, complete: true, groups: query.get("queue") === "inbox" ? [] : groups() };
        if (path === "/api/operations") return { operations: [...operations.values()].reverse() };
        if (path === "/api/topics") return { topics: quiet ? [] : topics.map((name, i) => topic_view(name, i)) };
        if (path === "/api/destinations") return { destinations: quiet ? [] : destinations() };
        if (path === "/api/inbox/sources")
            return { processes: 3, sources: quiet ? [] : ["stripe", "adyen", ""].map((source, i) => ({ store: query.get("store") ?? store_names[0], source: source && text(source, i), duplicates: [104, 12, 2][i], hash_mismatches: [0, 1, 0][i] })) };
        if (path === "/api/workers") return { workers: quiet ? [] : [worker(0), worker(1)] };
        if (path === "/api/stores") return { stores: store_names.map(store_view) };
        if (path === "/api/stores/findings") return { store: store_names[0], findings: [{ check: "schema", health: "ok", what: "version 18, up to date" }, { check: "lag", health: "warning", what: text("the oldest message waits for 3 min") }, { check: "claim plan", health: "ok", what: "the claim reads outbox_live by its key" }] };
        if (path === "/api/audit") return { entries: audit };
        return undefined;
    }

    function change(path, body) {
        const [, first, id, verb] = path.split("/").slice(1);
        if (path === "/api/operations") return start_operation(body);
        if (first === "operations" && verb === "cancel") {
            const operation = operations.get(id);
            if (operation?.status === "running") operation.status = "cancelled";
            return [202, operation];
        }
        if (first === "messages" && verb === "change") {
            note(body.action, id);
            return [200, { id, action: body.action, changed: true }];
        }
        if (first === "messages" && verb === "resend") return [201, { id: uuid(1), message_id: "01JCWNEW", resend_of: id }];
        if (path === "/api/topics/pause" || path === "/api/topics/resume") {
            const pausing = path.endsWith("pause");
            if (pausing) paused.set(`${store_names[0]} ${body.topic}`, iso(Date.now()));
            else paused.delete(`${store_names[0]} ${body.topic}`);
            note(pausing ? "pause" : "resume", body.topic);
            return [200, { store: store_names[0], topic: body.topic, paused: pausing, changed: true }];
        }
        if (path === "/api/destinations/probe") {
            is_down = false;
            note("probe", body.destination);
            return [202, { destination: body.destination, circuits: 1 }];
        }
        return undefined;
    }

    function follow(request, response) {
        seen.last_event_ids.push(request.headers["last-event-id"] ?? "");
        response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
        followers.add(response);
        const tick = () => response.write(`id: ${++last_event}\nevent: overview\ndata: ${JSON.stringify(overview(false))}\n\n`);
        tick();
        const timer = setInterval(tick, 2 * second);
        response.on("close", () => {
            followers.delete(response);
            clearInterval(timer);
        });
    }

    const json = (response, status, body, type = "application/json") => {
        response.writeHead(status, { "Content-Type": type });
        response.end(JSON.stringify(body));
    };

    // What the page asked for: each path as often as it was asked.
    const seen = { followers, last_event_ids: [], asked: new Map() };
    const answer = async function (request, response, url) {
        seen.asked.set(url.pathname, (seen.asked.get(url.pathname) ?? 0) + 1);
        if (token && request.headers.authorization !== `Bearer ${token}`)
            return json(response, 401, { type: "urn:postroom:problem:unauthorized", title: "Unauthorized", status: 401, detail: "a token is needed" }, "application/problem+json");
        if (url.pathname === "/api/live") return follow(request, response);
        if (request.method === "GET") {
            const body = read(url.pathname, url.searchParams);
            return body ? json(response, 200, body) : json(response, 404, { type: "about:blank", title: "Not found", status: 404 }, "application/problem+json");
        }
        const parts = [];
        for await (const part of request) parts.push(part);
        const [status, body] = change(url.pathname, JSON.parse(Buffer.concat(parts).toString() || "{}")) ?? [404, { type: "about:blank", title: "Not found", status: 404 }];
        return json(response, status, body);
    };
    return { answer, seen };
}
