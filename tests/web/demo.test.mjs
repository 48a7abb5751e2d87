// The first minute as a newcomer has it: `postroom demo --open`, the outage, the poison message, its story and its redrive; with the
// mouse alone, and with the keyboard alone.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { launch, open_tab, settled } from "./browser.mjs";

let browser;
before(async () => {
    browser = await launch();
});
after(() => browser.close());

// Starts the demo; `line(pattern)` waits for a line and returns what it matched.
function start_demo() {
    const demo = spawn(process.env.POSTROOM_PROGRAM, ["demo", "--open"], { stdio: ["ignore", "pipe", "inherit"] });
    after(() => demo.kill("SIGKILL"));
    const lines = createInterface({ input: demo.stdout })[Symbol.asyncIterator]();
    const line = async (pattern) => {
        for (let next = await lines.next(); !next.done; next = await lines.next()) {
            const found = pattern.exec(next.value);
            if (found) return found;
        }
        throw new Error(`the demo ended without a line like ${pattern}`);
    };
    return { demo, line };
}

// Watches the demo to its end, lets `act` lead from the Overview to the redrive, and ends it.
async function watch_demo(act) {
    const { demo, line } = start_demo();
    const [, url] = await line(/Watch it on the dashboard: (\S+)/);
    const { page, faults, close } = await open_tab(browser, `${url}/`);
    await settled(page, "Overview");
    await page.getByText("shipping has been down").waitFor({ timeout: 120_000 });
    await page.getByText("shipping has been down").waitFor({ state: "detached", timeout: 120_000 });
    await line(/Ctrl-C ends the demo/);
    await act(page);
    assert.deepEqual(faults, []);
    await close();
    demo.kill("SIGINT");
    assert.deepEqual(await once(demo, "exit"), [0, null]);
}

async function expect_poison(page) {
    await settled(page, "Message");
    await page.getByText(/^Dead .*answered 500/).waitFor();
    assert.equal(await page.locator(".timeline b", { hasText: /^Attempt \d+ failed/ }).count(), 4);
}

// Tabs on until the element with that name has the focus, as somebody does who has no mouse.
async function tab_to(page, name) {
    for (let i = 0; i < 60; ++i) {
        await page.keyboard.press("Tab");
        if (await page.evaluate((wanted) => document.activeElement?.textContent?.trim() === wanted, name)) return;
    }
    assert.fail(`no way with the Tab key to ${name}`);
}

describe("from the demo's start to the redrive of its poison message", { concurrency: true }, () => {
    test("with the mouse alone", () =>
        watch_demo(async (page) => {
            await page.getByRole("link", { name: /^Dead letters/ }).click();
            await page.getByRole("link", { name: "Look at one" }).click();
            await expect_poison(page);
            await page.getByRole("button", { name: /^Reveal/ }).click();
            await page.getByLabel("Payload", { exact: true }).getByText("poison").waitFor();
            await page.getByRole("button", { name: "Redrive", exact: true }).click();
            await page.getByText("The message was redriven.").waitFor();
            await page.locator(".timeline b", { hasText: "Delivered" }).waitFor();
            await page.getByRole("link", { name: /^Dead letters/ }).click();
            await page.getByText("No dead letters").waitFor();
        }));

    test("with the keyboard alone", () =>
        watch_demo(async (page) => {
            await page.keyboard.press("g");
            await page.keyboard.press("d");
            await settled(page, "Dead letters");
            await page.getByRole("link", { name: "Look at one" }).waitFor();
            await page.keyboard.press("j");
            await page.keyboard.press("Enter");
            await expect_poison(page);
            await tab_to(page, "Redrive");
            await page.keyboard.press("Enter");
            await page.getByText("The message was redriven.").waitFor();
            await page.locator(".timeline b", { hasText: "Delivered" }).waitFor();
            await page.keyboard.press("g");
            await page.keyboard.press("d");
            await page.getByText("No dead letters").waitFor();
        }));
});
