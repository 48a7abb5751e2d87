// The dashboard on a real relay: an outage, dead letters, pauses, hostile texts, 100,000 messages, a crash.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { expect_accessible, expect_no_sideways_scrolling, launch, narrow, open_tab, routes, settled } from "./browser.mjs";
import { hostile_strings } from "./hostile_strings.mjs";
import { engines, open_world, until } from "./relay.mjs";

const first_load_limit = 60_000;

let browser;
before(async () => {
    browser = await launch();
});
after(() => browser.close());

for (const engine of engines)
    describe(engine, () => {
        let world;
        before(async () => {
            world = await open_world(engine);
        });
        after(() => world.close());

        // `run` on a tab at `path`; nothing may go wrong in it.
        async function on_page(path, run, options) {
            const tab = await open_tab(browser, world.url + path, options);
            try {
                await run(tab.page);
                assert.deepEqual(tab.faults, []);
            } finally {
                await tab.close();
            }
        }

        test("an outage is seen everywhere, probed, and over", () =>
            on_page("", async (page) => {
                await world.enqueue([{ topic: "invoice.created", payload: { n: 1 } }, { topic: "order.placed", payload: { n: 1 } }]);
                await until(() => world.billing.taken.length === 1 && world.orders.taken.length === 1, "both were delivered");
                const picture = page.locator(".flow");
                await picture.getByText("invoice.created").waitFor();
                await picture.getByText("billing", { exact: true }).waitFor();
                await world.billing.go_down();
                await world.enqueue([{ topic: "invoice.created", payload: { n: 2 } }]);
                await page.getByText("billing has been down").waitFor();
                await picture.getByText("1 waiting").waitFor();
                // A straight line has no height, and counts as hidden.
                await page.locator(".flow-links .broken").waitFor({ state: "attached" });

                await page.getByRole("link", { name: /^Workers/ }).click();
                const trouble = page.getByRole("row", { name: /this one/ });
                await trouble.getByText("down", { exact: true }).waitFor();
                await trouble.getByText(world.billing.origin).waitFor();

                await page.getByRole("link", { name: /Destinations 1 down/ }).click();
                await settled(page, "Destinations");
                await world.enqueue([{ topic: "order.placed", payload: { n: 2 } }]);
                await page.locator(".panel", { hasText: world.orders.origin }).getByText(/^p50 .*, p99 .*s$/).waitFor();
                const billing = page.locator(".panel", { hasText: world.billing.origin });
                await billing.getByText(/Connection refused/).first().waitFor();
                // A probe of its own accord may be under way just now; then there is no open circuit to try.
                await until(async () => {
                    await billing.getByRole("button", { name: "Probe now" }).click();
                    await page.waitForTimeout(500);
                    return (await page.getByText(/^1 circuit will be tried/).count()) > 0;
                }, "the circuit is probed");
                await world.billing.go_up();
                await until(() => world.billing.taken.length === 2, "the message that waited was delivered");
                // A circuit closes when it has borne a few messages.
                await until(async () => {
                    await world.enqueue([{ topic: "invoice.created", payload: { n: 3 } }]);
                    return (await page.getByText("2 destinations, all delivering").count()) === 1;
                }, "the circuit is closed");
                assert.match(await page.getByRole("button", { name: /^Probe now/ }).first().getAttribute("title"), /nothing to probe/);
            }));

        test("dead letters are grouped by cause, and a group is redriven or discarded", () =>
            on_page("#/dead", async (page) => {
                world.orders.refuses = (topic) => ({ "order.unknown": { status: 422, text: "no such customer" }, "order.broken": { status: 500, text: "out of stock" } })[topic];
                const many = (topic, count) => Array.from({ length: count }, (_, n) => ({ topic, payload: { n } }));
                await world.enqueue([...many("order.unknown", 20), ...many("order.broken", 10)]);
                await until(async () => (await world.status()).dead === 30, "all are dead");
                const unknown = page.locator(".group", { hasText: "no such customer" });
                const broken = page.locator(".group", { hasText: "out of stock" });
                await unknown.getByText("20", { exact: true }).first().waitFor();
                await broken.getByText("10", { exact: true }).first().waitFor();

                await broken.getByText("Copy as command").click();
                const command = await broken.locator("code", { hasText: "postroom discard --fingerprint" }).innerText();
                const [, ...words] = command.split(" ");
                assert.match(await world.run([...words, "--dry-run"]), /^would discard 10 messages/, command);
                await broken.getByRole("link", { name: "List them" }).click();
                await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 10);
                assert.equal(await page.locator("tbody tr", { hasText: "out of stock" }).count(), 10);
                assert.match(await page.getByRole("button", { name: /^Retry now/ }).getAttribute("title"), /Only dead messages have a fingerprint/);
                await page.goBack();

                world.orders.refuses = () => undefined;
                const taken = world.orders.taken.length;
                await unknown.getByRole("button", { name: "Redrive…" }).click();
                await page.getByRole("dialog").getByText("20 messages").waitFor();
                await page.getByRole("dialog").getByText(/^postroom redrive --fingerprint [0-9a-f]{16}$/).waitFor();
                await page.getByRole("dialog").getByRole("button", { name: "Redrive 20" }).click();
                await page.getByRole("dialog").getByText("20 messages redriven.").waitFor();
                await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
                await until(() => world.orders.taken.length === taken + 20, "what was redriven is delivered");

                await broken.getByRole("button", { name: "Discard…" }).click();
                await page.getByRole("dialog").getByRole("button", { name: "Discard 10" }).click();
                await page.getByRole("dialog").getByText("10 messages discarded.").waitFor();
                await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
                await page.getByText("No dead letters").waitFor();
                assert.equal((await world.status()).dead, 0);
            }));

        test("the story of a message: attempts, payload, edit and resend, redrive, discard", () =>
            on_page("#/dead", async (page) => {
                world.orders.refuses = (topic) => (topic === "order.poison" ? { status: 500, text: "cannot digest this" } : undefined);
                await world.run(["enqueue", "order.poison", "--payload", '{"order_id":12345678901234567890,"total":19.90}', "--header", "x-shop=eu-1", "--tenant-id", "acme"]);
                await until(async () => (await world.status()).dead === 1, "it is dead");
                await page.getByRole("link", { name: "Look at one" }).click();
                await settled(page, "Message");
                await page.getByText(/^Dead .*answered 500: cannot digest this/).waitFor();
                await page.locator(".timeline").getByText("Enqueued").waitFor();
                const titles = (await page.locator(".timeline b").allInnerTexts()).map((title) => title.replace(/ after (<?\d+ ms|[\d.]+ s)$/, " after a while"));
                const attempts = [1, 2, 3].flatMap((n) => [n > 1 ? "Claimed again" : "Claimed", `Attempt ${n} failed after a while`]);
                assert.deepEqual(titles, ["Enqueued", ...attempts, "Dead: every attempt failed"]);
                assert.equal(await page.locator(".timeline pre", { hasText: "cannot digest this" }).count(), 3);
                assert.equal(await page.locator(".timeline").getByText(`to ${world.orders.origin}`).count(), 3);
                await page.getByText("eu-1", { exact: true }).waitFor();
                await page.getByText("Copy as command").click();
                await page.getByText(/^postroom redrive [0-9a-f-]{36}$/).waitFor();

                assert.equal(await page.getByText("12345678901234567890").count(), 0, "the payload is hidden");
                await page.getByRole("button", { name: /^Reveal/ }).click();
                await page.getByText(/"order_id": 12345678901234567890/).waitFor();
                await page.getByText(/"total": 19\.90/).waitFor();

                const dead = page.url();
                await page.getByRole("button", { name: "Edit and resend…" }).click();
                const dialog = page.getByRole("dialog");
                await dialog.getByLabel("Topic").fill("order.placed");
                await dialog.getByLabel("Payload").fill('{"order_id":17}');
                await dialog.getByRole("button", { name: "Send as a new message" }).dblclick();
                await page.getByText(/sent again, edited, in place of/).waitFor();
                assert.notEqual(page.url(), dead);
                await until(() => world.orders.taken.some(({ body }) => body === '{"order_id":17}'), "the edited one is delivered");
                await page.locator(".timeline").getByText("Delivered").waitFor();
                assert.equal(world.orders.taken.filter(({ body }) => body === '{"order_id":17}').length, 1, "two clicks send one");
                await page.locator(".timeline").getByRole("link").click();
                await settled(page, "Messages");
                await page.getByRole("link", { name: "order.poison", exact: true }).click();
                await page.getByText(/^Dead .*answered 500/).waitFor();
                assert.equal(page.url(), dead);

                await page.getByRole("button", { name: "Redrive", exact: true }).click();
                await page.getByText("The message was redriven.").waitFor();
                await until(async () => (await world.status()).dead === 1, "it died again");
                await page.getByRole("button", { name: "Discard…" }).click();
                await dialog.getByRole("button", { name: "Discard" }).click();
                await page.getByText("The message was discarded.").waitFor();
                assert.equal((await world.status()).dead, 0);
            }));

        test("a message that waits for its next attempt is retried now, alone and with others", () =>
            on_page("#/messages?q=topic%3Aslow.export", async (page) => {
                const taken = () => world.orders.taken.filter(({ topic }) => topic === "slow.export").length;
                world.orders.refuses = (topic) => (topic === "slow.export" ? { status: 500, text: "not now" } : undefined);
                await world.enqueue(Array.from({ length: 3 }, (_, n) => ({ topic: "slow.export", payload: n })));
                await page.waitForFunction(() => [...document.querySelectorAll("tbody tr")].filter((row) => row.textContent.includes("retrying")).length === 3);
                world.orders.refuses = () => undefined;
                await page.locator("tbody .row-link").first().click();
                await page.locator(".timeline").getByText("Next attempt").waitFor();
                await page.getByText("Copy as command").click();
                await page.getByText(/^postroom retry-now [0-9a-f-]{36}$/).waitFor();
                let let_go;
                world.orders.holds = (topic) => (topic === "slow.export" ? new Promise((resolve) => (let_go = resolve)) : undefined);
                await page.getByRole("button", { name: "Retry now" }).click();
                await page.locator(".timeline").getByText("Being delivered").waitFor();
                await until(() => let_go !== undefined, "it has arrived");
                world.orders.holds = () => undefined;
                let_go();
                await page.locator(".timeline").getByText("Delivered").waitFor();
                assert.equal(taken(), 1);

                await page.goto(`${world.url}#/messages?q=topic%3Aslow.export+state%3Aready`);
                await page.getByRole("button", { name: "Retry now…" }).click();
                const dialog = page.getByRole("dialog");
                const command = "postroom retry-now --topic slow.export";
                await dialog.getByText(command).waitFor();
                assert.match(await world.run([...command.split(" ").slice(1), "--dry-run"]), /would retry-now 2 messages/);
                await dialog.getByRole("button", { name: "Retry now 2" }).click();
                await dialog.getByText("2 messages made due.").waitFor();
                await until(() => taken() === 3, "all are delivered");
            }));

        test("a topic is paused and resumed for every relay", () =>
            on_page("#/topics", async (page) => {
                await world.enqueue([{ topic: "stock.low", payload: 0 }]);
                await page.getByRole("button", { name: "Pause stock.low" }).click();
                await page.getByRole("dialog").getByText("postroom pause stock.low").waitFor();
                await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
                await page.getByRole("button", { name: "Resume stock.low" }).waitFor();
                assert.deepEqual((await world.status()).paused.map(({ topic }) => topic), ["stock.low"]);
                await page.getByRole("button", { name: "Resume stock.low" }).click();
                await page.getByRole("button", { name: "Pause stock.low" }).waitFor();
                assert.deepEqual((await world.status()).paused, []);
            }));

        test("a hundred thousand messages: pages of any depth, and an operation without a cap that can be cancelled", () =>
            on_page("", async (page) => {
                const due_time = "2099-01-01T00:00:00Z";
                await world.enqueue(Array.from({ length: 100_000 }, (_, n) => ({ topic: "bulk.import", payload: n, due_time })));
                await page.goto(`${world.url}#/messages?q=topic%3Abulk.import+state%3Aready`);
                await page.locator("tbody tr").first().waitFor();
                assert.equal(await page.locator("tbody tr").count(), 100);
                for (let depth = 0; depth < 3; ++depth) {
                    const before = await page.locator("tbody tr .mono").first().innerText();
                    await page.getByRole("link", { name: "Older messages" }).click();
                    await page.waitForFunction((id) => document.querySelector("tbody tr .mono")?.textContent !== id && document.querySelectorAll("tbody tr").length === 100, before);
                }
                await page.reload();
                await page.getByRole("link", { name: "Newest" }).first().waitFor();

                await page.getByRole("button", { name: "Discard…" }).click();
                await page.getByRole("dialog").getByText("100,000 messages").waitFor();
                await page.getByRole("dialog").getByRole("button", { name: "Discard 100,000" }).click();
                await page.getByRole("dialog").getByText(/Discarding [\d,]+ of 100,000/).waitFor();
                await page.getByRole("dialog").getByRole("button", { name: "Cancel the rest" }).click();
                await page.getByRole("dialog").getByText(/^Cancelled\./).waitFor();
                await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
                // Counted one by one: the status estimates a number this large.
                const counted = await world.run(["discard", "--topic", "bulk.import", "--state", "ready", "--dry-run"]);
                const left = Number(/would discard (\d+) messages/.exec(counted)?.[1]);
                assert.ok(left > 0 && left < 100_000, `${counted}`);
            }));

        test("hostile texts in every field are shown as text", () =>
            on_page("#/messages?q=tenant_id%3Ahostile", async (page) => {
                await page.evaluate(() => {
                    window.hits = 0;
                    window.hit = () => (window.hits += 1);
                });
                world.orders.refuses = (topic) => (topic.includes("hit()") ? { status: 422, text: hostile_strings[0] } : undefined);
                await world.enqueue(
                    hostile_strings.map((text) => ({
                        topic: text,
                        tenant_id: "hostile",
                        correlation_id: text,
                        ordering_key: text,
                        aggregate_type: text,
                        aggregate_id: text,
                        content_type: "text/plain",
                        headers: { "x-hostile": text },
                        payload: text,
                    })),
                );
                await page.getByText(hostile_strings.at(-1)).first().waitFor();
                for (const row of [0, 3, 9]) {
                    await page.goto(`${world.url}#/messages?q=tenant_id%3Ahostile`);
                    await page.locator("tbody .row-link").nth(row).click();
                    await settled(page, "Message");
                    await page.getByRole("button", { name: /^Reveal/ }).click();
                    await page.getByLabel("Payload", { exact: true }).waitFor();
                }
                const found = await page.evaluate(() => ({ hits: window.hits, elements: document.querySelectorAll("#app :is(script, img, iframe, object, embed, video, audio, style, link, meta, base)").length }));
                assert.deepEqual(found, { hits: 0, elements: 0 });
            }));

        // Of another language's making; on SQLite only a program that links the library receives.
        if (engine === "postgres")
            test("the inbox shows what was received, from whom, and its story", () =>
                on_page("#/inbox", async (page) => {
                    const receive = (source, id) => `SELECT infra.inbox_enqueue(topic => 'payment.settled', source => '${source}', message_id => '${id}', payload => '{}'::text)`;
                    await world.database.run([receive("stripe", "evt_1"), receive("adyen", "evt_1"), receive("stripe", "evt_1")].join("; "));
                    await page.getByText("adyen", { exact: true }).waitFor();
                    assert.equal(await page.locator("tbody tr").count(), 2, "what comes twice is there once");
                    await page.goto(`${world.url}#/inbox?q=source%3Astripe`);
                    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
                    await page.locator("tbody .row-link").click();
                    await page.locator(".timeline").getByText("Received").waitFor();
                    await page.getByText("from stripe").waitFor();
                }));

        test("the inbox tells what came again, from which source, and what came with other content", () =>
            on_page("#/inbox", async (page) => {
                const receiver = world.start_receiver();
                receiver.take("bank 1 a", "bank 1 a", "bank 1 b", "shop 1 a", "shop 1 a", "third 1 a");
                const row = (source) => page.getByRole("table", { name: "Sources" }).getByRole("row", { name: new RegExp(source) });
                await row("bank 2 1").waitFor();
                await row("shop 1 0").waitFor();
                assert.equal(await row("third").count(), 0, "from there nothing came again");
                await page.getByText("counted by 2 processes since the start").waitFor();
                await expect_accessible(page, "Inbox, with sources");
                await row("bank").getByRole("link").click();
                await page.waitForFunction(() => document.querySelectorAll("[aria-label=Messages] tbody tr").length === 1);
                await receiver.stop();
            }));

        const shown = {
            Topics: ["order.placed", "invoice.created"],
            Workers: ["this one"],
            Stores: ["Store main", "claim plan"],
            "Audit log": ["probe", "redrive", "discard", "reveal", "resend", "pause", "resume"],
        };

        test("every page shows what there is, accessibly, on a narrow screen too", async () => {
            for (const options of [{ theme: "dark" }, { viewport: narrow }])
                await on_page(
                    "",
                    async (page) => {
                        for (const [title, route] of Object.entries(routes)) {
                            await page.goto(world.url + route);
                            await settled(page, title);
                            for (const text of shown[title] ?? []) await page.locator("main").getByText(text, { exact: true }).first().waitFor();
                            await expect_accessible(page, title);
                            await expect_no_sideways_scrolling(page, title);
                        }
                    },
                    options,
                );
        });

        test("a relay that is killed and started again is followed without a reload", () =>
            on_page("", async (page) => {
                await settled(page, "Overview");
                await world.kill();
                await page.getByText(/^Stale for/).waitFor();
                await world.start();
                await page.getByText("Live", { exact: true }).waitFor();
                const taken = world.orders.taken.length;
                await world.enqueue([{ topic: "order.placed", payload: "again" }]);
                await until(() => world.orders.taken.length > taken, "it is delivered");
                await page.locator(".flow").getByText("order.placed").waitFor();
            }));

        test("the files are small, compressed, and named by their contents", async () => {
            let size = 0;
            const page = await raw(world.url);
            assert.equal(page.headers["content-encoding"], "gzip");
            assert.match(page.headers["content-security-policy"], /default-src 'self'/);
            assert.doesNotMatch(page.headers["content-security-policy"], /unsafe/);
            size += page.body.length;
            for (const [, path] of gunzipSync(page.body).toString().matchAll(/(?:src|href)="([^"]+)"/g)) {
                const file = await raw(world.url + path);
                size += file.body.length;
                assert.match(file.headers["cache-control"], /immutable/);
                const again = await raw(world.url + path, { "If-None-Match": file.headers.etag });
                assert.equal(again.status, 304);
                assert.equal(again.body.length, 0);
            }
            console.log(`first load: ${size} bytes`);
            assert.ok(size <= first_load_limit, `${size} bytes`);
        });
    });

// As it comes over the wire: fetch() would unpack it.
async function raw(url, headers = {}) {
    const { get } = await import("node:http");
    return new Promise((resolve, reject) => {
        get(url, { headers: { "Accept-Encoding": "gzip", ...headers } }, (response) => {
            const parts = [];
            response.on("data", (part) => parts.push(part));
            response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }));
        }).on("error", reject);
    });
}
