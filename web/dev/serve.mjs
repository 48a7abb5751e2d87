// npm run dev [-- stores=1000 role=viewer]: builds the page, and again when a source changes.
import { watch } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build_page } from "../build.mjs";
import { serve } from "./server.mjs";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = join(web, "dist");
const openapi = join(web, "../docs/reference/openapi.yaml");
const words = Object.fromEntries(process.argv.slice(2).map((word) => word.split("=")));
const build = () => build_page(openapi, folder).catch((error) => console.error(error.message));

await build();
const { url } = await serve({ folder, port: 8026, ...words, stores: Number(words.stores ?? 1) });
console.log(url);
let pending;
watch(join(web, "src"), { recursive: true }, (_event, file) => {
    if (file === "api/schema.ts") return;
    clearTimeout(pending);
    pending = setTimeout(build, 100);
});
