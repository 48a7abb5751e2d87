// build.mjs <OpenAPI document> <folder>: checks the types and writes the page into <folder>: index.html,
// and under assets/ files whose names change with their contents, each also compressed.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { api_types } from "./api_types.mjs";

const here = dirname(fileURLToPath(import.meta.url));
// What a first visit may cost, compressed.
const size_limit = 60_000;

function asset(kind, contents) {
    const hash = createHash("sha256").update(contents).digest("hex");
    return { name: `assets/postroom-${hash.slice(0, 12)}.${kind}`, contents };
}

function check_types() {
    execFileSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "--project", here], { stdio: "inherit" });
}

async function bundle() {
    const { outputFiles } = await build({
        absWorkingDir: here,
        entryPoints: ["src/main.tsx"],
        bundle: true,
        minify: true,
        format: "esm",
        target: "es2022",
        jsx: "automatic",
        jsxImportSource: "preact",
        legalComments: "none",
        charset: "utf8",
        write: false,
        outdir: "out",
    });
    return Object.fromEntries(
        outputFiles.map(({ path, contents }) => {
            const kind = path.slice(path.lastIndexOf(".") + 1);
            return [kind, asset(kind, contents)];
        }),
    );
}

function check_size(files) {
    const size = files.reduce((all, { packed }) => all + packed.length, 0);
    console.log(`the first load is ${size} bytes, compressed; ${size_limit} are allowed`);
    if (size > size_limit) throw new Error("the page is too large");
}

export async function build_page(openapi, folder) {
    writeFileSync(join(here, "src/api/schema.ts"), api_types(openapi));
    check_types();
    const { js, css } = await bundle();
    const icon = asset("svg", readFileSync(join(here, "src/icon.svg")));
    const page = readFileSync(join(here, "src/index.html"), "utf8")
        .replace("SCRIPT", js.name)
        .replace("STYLE", css.name)
        .replace("ICON", icon.name);
    const files = [{ name: "index.html", contents: Buffer.from(page) }, js, css, icon].map((file) => ({
        ...file,
        packed: gzipSync(file.contents, { level: 9 }),
    }));
    check_size(files);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, "assets"), { recursive: true });
    for (const { name, contents, packed } of files) {
        writeFileSync(join(folder, name), contents);
        writeFileSync(join(folder, `${name}.gz`), packed);
    }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const [openapi = join(here, "../docs/reference/openapi.yaml"), folder = join(here, "dist")] = process.argv.slice(2);
    await build_page(openapi, folder);
}
