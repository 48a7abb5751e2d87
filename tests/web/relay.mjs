// A real relay on a real database, with receivers that fail on command.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { count_statements } from "./statement_counter.mjs";

const program = process.env.POSTROOM_PROGRAM;
const run_file = promisify(execFile);

export const engines = (process.env.POSTROOM_WEB_ENGINES ?? "sqlite,postgres").split(",");

// A place that messages are delivered to. What `refuses` returns for a topic is answered instead of taken, once `holds` lets go of it.
class Receiver {
    taken = [];
    refuses = () => undefined;
    holds = () => undefined;
    #server;
    #port = 0;

    // As the relay shows it, without a path that may be a secret.
    get origin() {
        return `http://127.0.0.1:${this.#port}`;
    }
    get url() {
        return `${this.origin}/hook`;
    }
    async go_up() {
        this.#server = createServer((request, response) => {
            const parts = [];
            request.on("data", (part) => parts.push(part));
            request.on("end", async () => {
                const topic = request.headers["ce-type"];
                await this.holds(topic);
                const answer = this.refuses(topic);
                if (answer === undefined) this.taken.push({ topic, headers: request.headers, body: Buffer.concat(parts).toString() });
                response.writeHead(answer?.status ?? 204, { "Content-Type": "text/plain" });
                response.end(answer?.text ?? "");
            });
        });
        await until(() => this.#listens(), `${this.origin} is free again`);
        this.#port = this.#server.address().port;
    }
    // While it was down somebody else may have been given its port.
    async #listens() {
        this.#server.listen(this.#port, "127.0.0.1");
        try {
            await once(this.#server, "listening");
            return true;
        } catch (error) {
            if (error.code !== "EADDRINUSE") throw error;
            return false;
        }
    }
    async go_down() {
        const closed = once(this.#server, "close");
        this.#server.closeAllConnections();
        this.#server.close();
        await closed;
    }
}

function postgres_settings() {
    const text = readFileSync(join(process.env.POSTROOM_TEST_SERVERS, "postgres/postgres.env"), "utf8");
    const value = (name) => new RegExp(`^${name}=(.*)$`, "m").exec(text)?.[1];
    return { host: value("host"), port: value("port"), user: value("user") };
}

// A fresh database: its address, what ran on it, SQL of the test's own, and how to remove it.
async function make_database(engine, folder) {
    if (engine === "sqlite") return { url: `sqlite:${join(folder, "shop.db")}`, drop: () => undefined };
    const { host, port, user } = postgres_settings();
    const name = `web_${process.pid}_${Date.now()}`;
    const server = ["-h", host, "-p", port, "-U", user];
    await run_file("createdb", [...server, name]);
    const counter = await count_statements(host, Number(port));
    return {
        url: `postgresql://${user}@127.0.0.1:${counter.port}/${name}?sslmode=disable`,
        statements: counter.statements,
        run: (sql) => run_file("psql", [...server, "-d", name, "-v", "ON_ERROR_STOP=1", "-qc", sql]),
        drop: async () => {
            counter.close();
            await run_file("dropdb", [...server, "--force", name]);
        },
    };
}

class World {
    orders = new Receiver();
    billing = new Receiver();
    #folder = mkdtempSync(join(tmpdir(), "postroom-web-"));
    #relay;
    #port = 0;
    #receivers = [];
    #poll_interval_max;
    #access = 'anonymous = "admin"\n';
    tokens = {};

    // `people`: their roles. With them the relay asks for tokens, without everybody is an admin.
    async open(engine, { poll_interval_max = "200ms", people } = {}) {
        this.#poll_interval_max = poll_interval_max;
        if (people) this.#access = await this.#tokens_of(people);
        await this.orders.go_up();
        await this.billing.go_up();
        this.database = await make_database(engine, this.#folder);
        this.#write_config();
        await this.run(["migrate", "up"]);
        await this.start();
    }

    async #tokens_of(people) {
        let access = "";
        for (const [name, role] of Object.entries(people)) {
            const { token, sha256 } = JSON.parse(await this.run(["token", "new", name, "--role", role, "--json"]));
            this.tokens[name] = token;
            access += `\n[tokens.${name}]\nrole = "${role}"\nsha256 = "${sha256}"\n`;
        }
        return access;
    }

    #write_config() {
        writeFileSync(
            join(this.#folder, "postroom.toml"),
            `[stores.main]
url = "${this.database.url}"

[sinks.orders]
type = "http"
url = "${this.orders.url}"
allow_networks = "127.0.0.1"

[sinks.billing]
type = "http"
url = "${this.billing.url}"
allow_networks = "127.0.0.1"

[[routes]]
topic = "invoice.*"
sink = "billing"

[[routes]]
topic = "slow.*"
sink = "orders"
retry_base = "1h"
retry_cap = "1h"

[[routes]]
topic = "*"
sink = "orders"

[relay]
retry = "fast"
max_attempts = 3
poll_interval_max = "${this.#poll_interval_max}"

[admin]
listen = "127.0.0.1:${this.#port}"
${this.#access}
[log]
format = "json"
per_message = false
`,
        );
    }

    get url() {
        return `http://127.0.0.1:${this.#port}/`;
    }

    // Starts the relay; after a stop or a kill on the port that it had, which may be somebody else's for the moment.
    async start() {
        const log = [];
        await until(async () => {
            log.length = 0;
            if (await this.#starts(log)) return true;
            if (!log.some((line) => /in use/i.test(line))) throw new Error(`the relay did not start:\n${log.join("\n")}`);
            return false;
        }, "the relay has its port");
    }

    // Whether it listens; else it has ended, or goes on without its pages and is ended here.
    async #starts(log) {
        this.#relay = spawn(program, ["relay"], { cwd: this.#folder, stdio: ["ignore", "ignore", "pipe"] });
        for await (const line of createInterface({ input: this.#relay.stderr })) {
            log.push(line);
            if (line.includes("ADMIN_OFF")) {
                await this.kill();
                return false;
            }
            const port = /ADMIN_READY.*http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
            if (!port) continue;
            this.#port = Number(port);
            this.#write_config();
            this.#relay.stderr.resume();
            return true;
        }
        return false;
    }

    async kill() {
        const gone = once(this.#relay, "exit");
        this.#relay.kill("SIGKILL");
        await gone;
    }

    // Runs a command and returns what it printed.
    async run(words, input = "") {
        const running = run_file(program, words, { cwd: this.#folder, maxBuffer: 1 << 28 });
        // A command that reads nothing may have ended by now and closed this pipe: its exit code decides, not that.
        running.child.stdin.on("error", () => {});
        running.child.stdin.end(input);
        return (await running).stdout;
    }

    // An application that receives, and handles what it has received. It takes lines: SOURCE MESSAGE_ID CONTENT.
    start_receiver() {
        const receiver = spawn(process.env.POSTROOM_RECEIVER, [this.database.url], { cwd: this.#folder, stdio: ["pipe", "ignore", "inherit"] });
        this.#receivers.push(receiver);
        return {
            take: (...lines) => receiver.stdin.write(lines.map((line) => `${line}\n`).join("")),
            stop: async () => {
                const gone = once(receiver, "exit");
                receiver.stdin.end();
                await gone;
            },
        };
    }

    async enqueue(messages) {
        await this.run(["enqueue", "--jsonl"], messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
    }

    async status() {
        const text = await this.run(["status", "--json"]);
        const found = JSON.parse(text);
        return (Array.isArray(found) ? found : [found]).find((each) => each.queue === "outbox");
    }

    async close() {
        for (const receiver of this.#receivers) receiver.kill("SIGKILL");
        if (this.#relay.exitCode === null && this.#relay.signalCode === null) {
            const gone = once(this.#relay, "exit");
            this.#relay.kill("SIGTERM");
            await gone;
        }
        await this.orders.go_down();
        await this.billing.go_down();
        await this.database.drop();
        rmSync(this.#folder, { recursive: true });
    }
}

export async function open_world(engine, options) {
    const world = new World();
    await world.open(engine, options);
    return world;
}

// Whether `condition` comes true, looked at ten times a second for a minute.
export async function until(condition, what) {
    for (let i = 0; i < 600; ++i) {
        if (await condition()) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`waited in vain: ${what}`);
}
