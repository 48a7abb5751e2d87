// A receiver of CloudEvents that is not ours: the npm package cloudevents behind a server on
// 127.0.0.1. Says its port in the first line, then one line for each request: the event as the
// package understands it, or {"refused": why}.
"use strict";

const http = require("node:http");
const { HTTP } = require("cloudevents");

function say(value) {
    process.stdout.write(JSON.stringify(value) + "\n");
}

// With all its attributes and its data, whatever that is.
function described(event) {
    const data = Buffer.isBuffer(event.data) ? event.data.toString("base64") : event.data;
    return { ...event.toJSON(), data };
}

const server = http.createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
        const body = Buffer.concat(parts).toString();
        try {
            say(described(HTTP.toEvent({ headers: request.headers, body })));
            response.writeHead(204).end();
        } catch (error) {
            say({ refused: String(error) });
            response.writeHead(400).end(String(error));
        }
    });
});
server.listen(0, "127.0.0.1", () => say(server.address().port));
