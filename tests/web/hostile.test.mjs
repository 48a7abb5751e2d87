// Whatever a message carries is shown as text.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { expect_no_sideways_scrolling, launch, narrow, open_tab, routes, settled } from "./browser.mjs";
import { serve } from "./fake.mjs";
import { hostile_strings } from "./hostile_strings.mjs";

let browser;
before(async () => {
    browser = await launch();
});
after(() => browser.close());

// A tab that opened elsewhere has "asked" for its first page.
const is_serious = (fault) => !fault.startsWith("asked");

async function expect_untouched(page, faults) {
    const found = await page.evaluate(() => ({
        hits: window.hits,
        elements: document.querySelectorAll("#app :is(script, img, iframe, object, embed, video, audio, marquee, math, style, link, meta, base, template)").length,
    }));
    assert.deepEqual(found, { hits: 0, elements: 0 });
    assert.deepEqual(faults, []);
}

async function hostile_tab(url, options) {
    const tab = await open_tab(browser, "about:blank", options);
    await tab.page.addInitScript(() => {
        window.hits = 0;
        window.hit = () => (window.hits += 1);
    });
    await tab.page.goto(url);
    tab.faults.length = 0;
    return tab;
}

test("two hundred hostile texts in the lists", async () => {
    assert.ok(hostile_strings.length >= 200);
    const { url, stop } = await serve({ role: "admin", hostile: hostile_strings });
    const { page, faults, close } = await hostile_tab(url);
    for (const [title, route] of Object.entries(routes)) {
        await page.goto(url + route);
        await settled(page, title);
        await page.waitForTimeout(50);
        await expect_untouched(page, faults.filter(is_serious));
    }
    for (const cursor of [0, 100]) {
        await page.goto(`${url}#/messages?cursor=${cursor}`);
        await page.getByText(hostile_strings[cursor + 7]).first().waitFor();
        const rows = await page.locator("tbody tr").allInnerTexts();
        assert.equal(rows.length, 100);
        rows.forEach((row, i) => assert.ok(row.includes(hostile_strings[cursor + i]), `row ${cursor + i}: ${row}`));
        await expect_untouched(page, faults.filter(is_serious));
    }
    await close();
    stop();
});

// Some of the texts, each in every field of a message's story, revealed.
async function read_stories(url, texts) {
    const { page, faults, close } = await hostile_tab(url, { viewport: narrow });
    for (const [i, text] of texts) {
        await page.evaluate((id) => (location.hash = `#/message/${id}`), `01940000-0000-8000-8000-${i.toString(16).padStart(12, "0")}`);
        await page.getByText(`${text}eu-1`).waitFor();
        await page.getByRole("button", { name: /^Reveal/ }).click();
        const payload = await page.getByLabel("Payload", { exact: true }).innerText();
        assert.ok(payload.includes(JSON.stringify(text).slice(1, -1)), payload);
        if (i % 20 === 0) await expect_no_sideways_scrolling(page, text);
    }
    await expect_untouched(page, faults.filter(is_serious));
    await close();
}

test("two hundred hostile texts in every field of a message's story", async () => {
    const { url, stop } = await serve({ role: "admin", hostile: hostile_strings });
    const tabs = 4;
    const texts = [...hostile_strings.entries()];
    await Promise.all(Array.from({ length: tabs }, (_, tab) => read_stories(url, texts.filter(([i]) => i % tabs === tab))));
    stop();
});
