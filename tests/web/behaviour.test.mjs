// What the page does with what a relay may be: roles, tokens, silence, path prefixes, thousands of stores.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { expect_no_sideways_scrolling, launch, narrow, open_tab, settled } from "./browser.mjs";
import { serve } from "./fake.mjs";

let browser;
before(async () => {
    browser = await launch();
});
after(() => browser.close());

const dead_story = "#/message/01940000-0000-8000-8000-000000000006";

async function with_page(options, path, run) {
    const relay = await serve(options);
    const tab = await open_tab(browser, relay.url + path);
    try {
        await run(tab.page, relay);
        assert.deepEqual(tab.faults, []);
    } finally {
        await tab.close();
        relay.stop();
    }
}

test("a viewer reads why an action is not for them", () =>
    with_page({ role: "viewer" }, dead_story, async (page) => {
        for (const name of [/^Redrive/, /^Discard/, /^Reveal/, /^Edit and resend/]) {
            const button = page.getByRole("button", { name });
            await button.waitFor();
            assert.equal(await button.getAttribute("aria-disabled"), "true");
            assert.match(await button.getAttribute("title"), /needs the role (operator|payload-viewer|admin); you are signed in as viewer/);
        }
        await page.getByRole("button", { name: /^Discard/ }).click({ force: true });
        assert.equal(await page.getByRole("dialog").count(), 0);
    }));

test("a server with tokens asks for one, and keeps it for the tab", () =>
    with_page({ token: "s3cret" }, "", async (page) => {
        const dialog = page.getByRole("dialog", { name: "Sign in" });
        await dialog.getByLabel("Token").fill("wrong");
        await dialog.getByRole("button", { name: "Sign in" }).click();
        await dialog.getByText("This token is not known to the server.").waitFor();
        await dialog.getByLabel("Token").fill("s3cret");
        await dialog.getByRole("button", { name: "Sign in" }).click();
        await settled(page, "Overview");
        await page.reload();
        await settled(page, "Overview");
        assert.equal(await page.evaluate(() => Object.values(localStorage).join()).then((text) => text.includes("s3cret")), false);
    }));

async function set_hidden(page, hidden) {
    await page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
        document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
}

async function until(condition, what) {
    for (let i = 0; i < 600; ++i) {
        if (condition()) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.fail(`waited in vain: ${what}`);
}

test("a hidden tab asks for nothing, and comes back to where it was", () =>
    with_page({}, "#/topics", async (page, { seen }) => {
        await settled(page, "Topics");
        assert.equal(seen.followers.size, 1);
        await set_hidden(page, true);
        await until(() => seen.followers.size === 0, "the stream is closed");
        // What was asked for before may still be under way.
        await page.waitForTimeout(1000);
        const asked = seen.asked.get("/api/topics");
        await page.waitForTimeout(4000);
        assert.equal(seen.asked.get("/api/topics"), asked);
        await set_hidden(page, false);
        await until(() => seen.followers.size === 1, "the stream is back");
        assert.match(seen.last_event_ids.at(-1), /^\d+$/);
        await page.getByText("Live", { exact: true }).waitFor();
    }));

test("silence is shown as stale figures, on a narrow screen too", () =>
    with_page({}, "#/dead", async (page, relay) => {
        await settled(page, "Dead letters");
        await page.setViewportSize(narrow);
        await page.goto(page.url().replace(/#.*/, "#/"));
        await settled(page, "Overview");
        relay.stop();
        await page.getByText(/^Stale for \d+/).waitFor();
        assert.equal(await page.locator(".stale .figures").count(), 1);
        await page.goto(page.url().replace(/#.*/, "#/destinations"));
        await page.getByText(/^Stale for \d\d s/).waitFor();
        await expect_no_sideways_scrolling(page, "the page with the longest name");
    }));

test("the page works under a path prefix", () =>
    with_page({ prefix: "/ops/postroom" }, "#/messages", async (page, { seen }) => {
        await settled(page, "Messages");
        await page.locator("tbody .row-link").first().click();
        await settled(page, "Message");
        assert.ok(seen.asked.has("/api/messages"));
    }));

test("thousands of stores are a grid that can be searched", () =>
    with_page({ stores: 2500 }, "#/stores", async (page) => {
        await page.getByText("2,500 stores, those in trouble first").waitFor();
        assert.equal(await page.locator(".tile").count(), 200);
        assert.match(await page.locator(".tile").first().innerText(), /tenant-0004[^]*connection refused/);
        await page.getByLabel("Filter stores").fill("tenant-1234");
        await page.getByText("1 store", { exact: true }).waitFor();
        await page.locator(".tile").click();
        await page.getByRole("heading", { name: "Store tenant-1234" }).waitFor();
        assert.match(page.url(), /open=tenant-1234/);
        await page.goto(page.url().replace(/#.*/, "#/"));
        await page.getByText("and 2,492 more").waitFor();
    }));

test("integers beyond 2^53 keep their digits", () =>
    with_page({ role: "admin" }, dead_story, async (page) => {
        await page.getByText("9007199254740999", { exact: true }).waitFor();
        await page.getByRole("button", { name: /^Reveal/ }).click();
        assert.match(await page.getByLabel("Payload", { exact: true }).innerText(), /"order_id": 12345678901234567890,[^]*"total": 19\.90/);
    }));

test("the keyboard alone leads to the story of a message and back", () =>
    with_page({}, "", async (page) => {
        await settled(page, "Overview");
        await page.keyboard.press("g");
        await page.keyboard.press("m");
        await settled(page, "Messages");
        await page.locator("tbody .row-link").first().waitFor();
        await page.keyboard.press("/");
        await page.keyboard.type("st");
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("Enter");
        await page.keyboard.type("de");
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => location.hash.includes("state%3Adead"));
        // There are none while they are read.
        await page.waitForFunction(() => {
            const rows = [...document.querySelectorAll("tbody tr")];
            return rows.length > 0 && rows.every((row) => row.textContent.includes("dead"));
        });
        await page.locator("h1").evaluate(() => document.activeElement.blur());
        await page.keyboard.press("j");
        await page.keyboard.press("j");
        await page.keyboard.press("x");
        await page.getByText("1 message selected").waitFor();
        await page.keyboard.press("Enter");
        await settled(page, "Message");
        await page.goBack();
        await settled(page, "Messages");
        assert.match(page.url(), /state%3Adead/);
        await page.keyboard.press("t");
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
    }));

test("a search can be saved under a name and forgotten", () =>
    with_page({}, "#/messages?q=topic%3Aorder.placed+state%3Adead", async (page) => {
        await page.getByRole("button", { name: "Save this search" }).click();
        await page.getByLabel("Name").fill("Dead orders");
        await page.getByRole("button", { name: "Save", exact: true }).click();
        await page.reload();
        await page.getByRole("link", { name: "Dead", exact: true }).click();
        await page.getByRole("link", { name: "Dead orders" }).click();
        await page.waitForFunction(() => location.hash.includes("topic%3Aorder.placed"));
        await page.getByRole("button", { name: "Forget the view Dead orders" }).click();
        assert.equal(await page.getByRole("link", { name: "Dead orders" }).count(), 0);
    }));

// It takes long enough for a browser on a busy machine to come before its end.
test("an operation is counted, confirmed, followed and cancelled", () =>
    with_page({ changed_at_once: 10 }, "#/messages?q=state%3Adead", async (page) => {
        await page.getByRole("button", { name: "Redrive…" }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByText("4,200 messages").waitFor();
        await dialog.getByText("postroom redrive --all").waitFor();
        await dialog.getByRole("button", { name: "Redrive 4,200" }).click();
        await dialog.getByText(/Redriving [\d,]+ of 4,200 messages/).waitFor();
        await dialog.getByRole("button", { name: "Cancel the rest" }).click();
        await dialog.getByText(/^Cancelled\. [\d,]+ of 4,200 messages redriven/).waitFor();
    }));
