// Every page, in both themes, on a desk and on a telephone: it shows, it is accessible, it fits.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { expect_accessible, expect_no_sideways_scrolling, launch, narrow, open_tab, routes, settled, wide } from "./browser.mjs";
import { serve } from "./fake.mjs";

let browser;
before(async () => {
    browser = await launch();
});
after(() => browser.close());

const dead_story = "#/message/01940000-0000-8000-8000-000000000006";

const sizes = { wide, narrow };

async function look_at_every_page(size, theme) {
    const { url, stop } = await serve({ role: "admin" });
    const { page, faults, close } = await open_tab(browser, url, { viewport: sizes[size], theme });
    for (const [title, route] of Object.entries({ ...routes, Message: dead_story })) {
        await page.goto(url + route);
        await settled(page, title);
        await expect_no_sideways_scrolling(page, title);
        await expect_accessible(page, `${title}, ${size}, ${theme}`);
    }
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await expect_accessible(page, `the help sheet, ${size}, ${theme}`);
    assert.deepEqual(faults, []);
    await close();
    stop();
}

describe("every page", { concurrency: true }, () => {
    for (const size of Object.keys(sizes))
        for (const theme of ["light", "dark"]) test(`on a ${size} screen in the ${theme} theme`, () => look_at_every_page(size, theme));
});

test("pages without data say what to do next", async () => {
    const { url, stop } = await serve({ quiet: true });
    const { page, faults, close } = await open_tab(browser, url);
    const expected = {
        Overview: "postroom enqueue order.placed --payload",
        Messages: "postroom enqueue order.placed --payload",
        "Dead letters": "postroom list --state dead",
        Topics: "A topic appears with its first delivery",
        Destinations: "postroom config check",
        Workers: "postroom relay",
        "Audit log": "Redrives, discards, pauses and reveals",
    };
    for (const [title, text] of Object.entries(expected)) {
        await page.goto(url + routes[title]);
        await settled(page, title);
        await page.getByText(text).first().waitFor();
    }
    await page.goto(`${url}#/messages?q=topic%3Anothing`);
    await page.getByText("No message matches").waitFor();
    assert.deepEqual(faults, []);
    await close();
    stop();
});
