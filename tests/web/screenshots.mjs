// screenshots.mjs <folder>: pictures of the dashboard for the documentation, of a real relay with an outage in it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, narrow, open_tab, settled } from "./browser.mjs";
import { open_world, until } from "./relay.mjs";

const folder = process.argv[2];
const viewport = { width: 1200, height: 760 };
// As long as the charts show something to look at.
const calm_seconds = 45;
const outage_seconds = 20;

const names = ["order.placed", "order.placed", "order.placed", "order.shipped", "customer.updated", "stock.low", "invoice.created", "invoice.paid"];

// A shop's traffic until it is told to stop.
function traffic(world) {
    let going = true;
    const finished = (async () => {
        for (let n = 0; going; ++n) {
            const count = 6 + Math.round(4 * Math.sin(n / 9));
            await world.enqueue(Array.from({ length: count }, (_, i) => ({ topic: names[(n + i) % names.length], tenant_id: n % 3 ? "acme" : "globex", payload: { order_id: n * 10 + i } })));
            await new Promise((resolve) => setTimeout(resolve, 150));
        }
    })();
    return () => {
        going = false;
        return finished;
    };
}

const seconds = (count) => new Promise((resolve) => setTimeout(resolve, count * 1000));

async function shoot(browser, world, name, path, title, options = {}) {
    const { page, close } = await open_tab(browser, world.url + path, { viewport, ...options });
    await settled(page, title);
    await seconds(1);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await close();
}

const browser = await launch();
const world = await open_world("sqlite");
try {
    mkdirSync(folder, { recursive: true });
    world.orders.refuses = (topic) => ({ "order.refused": { status: 422, text: "no such customer" }, "order.heavy": { status: 500, text: "out of stock" } })[topic];
    const dead = (topic, count) => Array.from({ length: count }, (_, n) => ({ topic, tenant_id: "acme", payload: { order_id: 9000 + n } }));
    await world.enqueue([...dead("order.refused", 14), ...dead("order.heavy", 5)]);
    const stop = traffic(world);
    await seconds(calm_seconds);
    await world.billing.go_down();
    await seconds(outage_seconds);
    await until(async () => (await world.status()).dead === 19, "the refused ones are dead");

    await shoot(browser, world, "dashboard-overview", "", "Overview");
    await shoot(browser, world, "dashboard-overview-dark", "", "Overview", { theme: "dark" });
    await shoot(browser, world, "dashboard-dead-letters", "#/dead", "Dead letters");
    await shoot(browser, world, "dashboard-destinations", "#/destinations", "Destinations");
    await shoot(browser, world, "dashboard-narrow", "", "Overview", { viewport: narrow });

    const { page, close } = await open_tab(browser, `${world.url}#/dead`, { viewport });
    await page.getByRole("link", { name: "Look at one" }).last().click();
    await settled(page, "Message");
    await seconds(1);
    await page.screenshot({ path: join(folder, "dashboard-story.png") });
    await close();
    await stop();
    await world.billing.go_up();
} finally {
    await world.close();
    await browser.close();
}
