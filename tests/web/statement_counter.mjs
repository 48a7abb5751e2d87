// Stands between a relay and its PostgreSQL, and counts the statements that pass. Transaction brackets and settings are left out:
// they cost a round trip at most, and never read a table.
import { once } from "node:events";
import { connect, createServer } from "node:net";

const bracket = /^\s*(begin|start|commit|rollback|set|reset|discard|deallocate|listen|unlisten)\b/i;

const zero_ended = (body, from) => body.toString("utf8", from, body.indexOf(0, from));

// The texts of the statements that run on one connection, read off the messages that the client sends.
class Reader {
    #rest = Buffer.alloc(0);
    #greeted = false;
    #prepared = new Map();
    #portals = new Map();

    constructor(ran) {
        this.ran = ran;
    }

    take(part) {
        this.#rest = Buffer.concat([this.#rest, part]);
        for (;;) {
            // The first message has no letter in front of its length.
            const letter = this.#greeted ? 1 : 0;
            if (this.#rest.length < letter + 4) return;
            const end = letter + this.#rest.readInt32BE(letter);
            if (this.#rest.length < end) return;
            if (this.#greeted) this.#message(String.fromCharCode(this.#rest[0]), this.#rest.subarray(5, end));
            this.#greeted = true;
            this.#rest = this.#rest.subarray(end);
        }
    }

    #message(kind, body) {
        const first = kind === "Q" || kind === "P" || kind === "B" || kind === "E" ? zero_ended(body, 0) : "";
        const second = () => zero_ended(body, body.indexOf(0) + 1);
        if (kind === "Q") this.ran(first);
        else if (kind === "P") this.#prepared.set(first, second());
        else if (kind === "B") this.#portals.set(first, this.#prepared.get(second()) ?? "");
        else if (kind === "E") this.ran(this.#portals.get(first) ?? "");
    }
}

export async function count_statements(host, port) {
    const counter = { statements: [], port: 0, close: () => server.close() };
    const ran = (text) => {
        if (!bracket.test(text)) counter.statements.push(text);
    };
    const server = createServer((client) => {
        const reader = new Reader(ran);
        const database = connect(port, host);
        for (const [from, to] of [[client, database], [database, client]]) {
            from.pipe(to);
            from.on("error", () => to.destroy());
        }
        client.on("data", (part) => reader.take(part));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    counter.port = server.address().port;
    return counter;
}
