// A browser for the tests, and what must be true of every page it shows.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe_source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// No other host is asked for anything, neither by the page nor by the browser itself.
const flags = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

export const wide = { width: 1360, height: 860 };
export const narrow = { width: 360, height: 740 };

export function launch() {
    return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
}

// A tab at `url` that keeps account of what goes wrong in it; `before` prepares it.
export async function open_tab(browser, url, { viewport = wide, theme = "light", before = () => undefined, ...options } = {}) {
    const context = await browser.newContext({ viewport, colorScheme: theme, reducedMotion: "reduce", ...options });
    // For machines under load.
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const faults = [];
    const origin = new URL(url).origin;
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => {
        // A refused request is shown on the page; whether it should be refused is for the test to say.
        if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) faults.push(message.text());
    });
    page.on("dialog", (dialog) => {
        faults.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
    });
    page.on("request", (request) => {
        if (new URL(request.url()).origin !== origin) faults.push(`asked ${request.url()}`);
    });
    await before(page);
    await page.goto(url);
    return { page, faults, close: () => context.close() };
}

export async function expect_accessible(page, about) {
    // Evaluated by the debugger, to which the page's policy does not apply.
    await page.evaluate(axe_source);
    const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html).join(" ")}`);
    assert.deepEqual(found, [], about);
}

export async function expect_no_sideways_scrolling(page, about) {
    const found = await page.evaluate(() => {
        if (document.documentElement.scrollWidth <= innerWidth) return [];
        const beyond = [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > innerWidth);
        return [document.documentElement.scrollWidth, ...beyond.slice(-3).map((each) => each.outerHTML.slice(0, 300))];
    });
    assert.deepEqual(found, [], `${about} is wider than the screen`);
}

// The hash routes of all pages but the story of a message.
export const routes = {
    Overview: "#/",
    Messages: "#/messages",
    "Dead letters": "#/dead",
    Inbox: "#/inbox",
    Topics: "#/topics",
    Destinations: "#/destinations",
    Workers: "#/workers",
    Stores: "#/stores",
    "Audit log": "#/audit",
};

// Shown, with its data.
export async function settled(page, title) {
    await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.locator("main .panel, main .note, main .empty, main .figures").first().waitFor();
}
