// What an open tab costs the database: the requests that it makes, times the statements that each of them takes, counted between
// the relay and its PostgreSQL.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open_tab, routes, settled } from "./browser.mjs";
import { open_world, until } from "./relay.mjs";

const statements_per_second_max = 1;

let browser;
let world;
before(async () => {
    browser = await launch();
    // Woken by notifications, the relay asks for little of its own accord.
    world = await open_world("postgres", { poll_interval_max: "1h" });
    world.orders.refuses = (topic) => (topic === "order.poison" ? { status: 422, text: "no" } : undefined);
    await world.enqueue([...Array.from({ length: 300 }, (_, n) => ({ topic: "order.placed", payload: n })), { topic: "order.poison", payload: 0 }]);
    await until(async () => world.orders.taken.length === 300 && (await world.status()).dead === 1, "all are delivered or dead");
});
after(async () => {
    await world.close();
    await browser.close();
});

// At a time that is still to come, also when this machine stands still for a second on the way there.
async function pause_clock(page) {
    for (let tries = 1; ; ++tries) {
        try {
            await page.clock.pauseAt(Date.now() + 1000);
            return;
        } catch (error) {
            if (tries === 5 || !/past/.test(String(error))) throw error;
        }
    }
}

// What the tab asks for in a minute of its own clock, which the test moves: a busy machine makes no difference.
async function asked_in_a_minute(page) {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await pause_clock(page);
    for (let second = 0; second < 60; ++second) {
        await page.clock.runFor(1000);
        // Effects of a render wait for a frame.
        await page.clock.runFor(50);
    }
    return asked;
}

// The least of several counts: what the relay does by itself at the same time only ever adds.
async function statements_of(url) {
    const counts = [];
    for (let i = 0; i < 8; ++i) {
        const from = world.database.statements.length;
        const answer = await fetch(url);
        assert.equal(answer.status, 200, url);
        await answer.arrayBuffer();
        counts.push(world.database.statements.length - from);
    }
    return Math.min(...counts);
}

async function cost_of(page, title) {
    const asked = await asked_in_a_minute(page);
    let statements = 0;
    for (const url of new Set(asked)) statements += (await statements_of(url)) * asked.filter((each) => each === url).length;
    console.log(`${title}: ${asked.length} requests and ${statements} statements a minute`);
    return { requests: asked.length, per_second: statements / 60 };
}

async function expect_cheap(page, title) {
    const { requests, per_second } = await cost_of(page, title);
    // The audit log is read again when somebody changes something.
    assert.equal(requests > 0, title !== "Audit log", `${title}: ${requests} requests`);
    assert.ok(per_second <= statements_per_second_max, `${title}: ${per_second} statements a second`);
}

async function with_tab(title, run) {
    const { page, close } = await open_tab(browser, world.url + routes[title], { before: (fresh) => fresh.clock.install() });
    await settled(page, title);
    await run(page);
    await close();
}

for (const title of Object.keys(routes)) test(`${title}: at most one statement a second`, () => with_tab(title, (page) => expect_cheap(page, title)));

test("the story of a message: at most one statement a second", () =>
    with_tab("Dead letters", async (page) => {
        await page.getByRole("link", { name: "Look at one" }).click();
        await settled(page, "Message");
        await expect_cheap(page, "Message");
    }));

test("the live stream costs nothing", async () => {
    const per_second = async () => {
        const from = world.database.statements.length;
        const began = performance.now();
        await new Promise((resolve) => setTimeout(resolve, 6000));
        return (world.database.statements.length - from) / ((performance.now() - began) / 1000);
    };
    const alone = await per_second();
    const stop = new AbortController();
    const streams = await Promise.all(Array.from({ length: 20 }, () => fetch(`${world.url}api/live`, { signal: stop.signal })));
    for (const stream of streams) stream.body.pipeTo(new WritableStream()).catch(() => {});
    // One statement for each event, of which a stream has one in two seconds, would be ten a second, all the time. What the relay does
    // by itself now and then is not.
    const is_cheap = (followed) => followed - alone < 5;
    let followed = await per_second();
    for (let again = 0; again < 3 && !is_cheap(followed); ++again) followed = Math.min(followed, await per_second());
    stop.abort();
    assert.ok(is_cheap(followed), `${alone} statements a second alone, ${followed} with twenty streams`);
});
