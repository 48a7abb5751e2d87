// Who may do what, on a real relay that asks for tokens.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open_tab, settled } from "./browser.mjs";
import { open_world, until } from "./relay.mjs";

let browser;
let world;
before(async () => {
    browser = await launch();
    world = await open_world("sqlite", { people: { vera: "viewer", otto: "operator", paula: "payload-viewer", ada: "admin" } });
    world.orders.refuses = (topic) => (topic === "order.poison" ? { status: 422, text: "no" } : undefined);
    await world.enqueue([{ topic: "order.poison", payload: { card: "4111" } }]);
    await until(async () => (await world.status()).dead === 1, "it is dead");
});
after(async () => {
    await world.close();
    await browser.close();
});

// Signs in as somebody, looks at the story of the dead message, and runs `act` there.
async function as(who, act) {
    const { page, faults, close } = await open_tab(browser, `${world.url}#/dead`);
    const dialog = page.getByRole("dialog", { name: "Sign in" });
    await dialog.getByLabel("Token").fill(world.tokens[who]);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "Look at one" }).click();
    await settled(page, "Message");
    await act(page);
    assert.deepEqual(faults, []);
    await close();
}

// The names of the buttons that somebody may not press.
async function refused(page) {
    await page.getByRole("button", { name: /^Reveal|^Edit/ }).first().waitFor();
    const names = await page.locator("main [aria-disabled]").allInnerTexts();
    return names.map((name) => /^[A-Za-z]+/.exec(name)[0]).filter((name) => name !== "Retry");
}

test("a viewer sees the story, and nothing of the payload", () =>
    as("vera", async (page) => {
        assert.deepEqual(await refused(page), ["Redrive", "Discard", "Edit", "Reveal"]);
        const story = /message\/([0-9a-f-]+)/.exec(page.url())[1];
        const answer = await fetch(`${world.url}api/messages/${story}/payload`, { headers: { Authorization: `Bearer ${world.tokens.vera}` } });
        assert.equal(answer.status, 403);
    }));

test("an operator acts without the payload, and reads the audit log", () =>
    as("otto", async (page) => {
        assert.deepEqual(await refused(page), ["Edit", "Reveal"]);
        await page.getByRole("button", { name: "Redrive", exact: true }).click();
        await page.getByText("The message was redriven.").waitFor();
        await until(async () => (await world.status()).dead === 1, "it died again");
        await page.goto(`${world.url}#/audit`);
        await page.getByRole("row", { name: /otto.*redrive/ }).waitFor();
    }));

test("a payload-viewer reveals the payload and changes nothing", () =>
    as("paula", async (page) => {
        assert.deepEqual(await refused(page), ["Redrive", "Discard", "Edit"]);
        assert.equal(await page.getByText("4111").count(), 0);
        await page.getByRole("button", { name: /^Reveal/ }).click();
        await page.getByLabel("Payload", { exact: true }).getByText("4111").waitFor();
    }));

test("an admin may do everything, and finds who revealed what in the audit log", () =>
    as("ada", async (page) => {
        assert.deepEqual(await refused(page), []);
        await page.goto(`${world.url}#/audit`);
        await page.getByRole("row", { name: /paula.*reveal/ }).waitFor();
        assert.equal(await page.getByRole("row", { name: /vera/ }).count(), 0, "what was refused is no reveal");
    }));
