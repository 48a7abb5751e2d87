// A collector that is not ours: OpenTelemetry's own definition of OTLP (of @opentelemetry/otlp-transformer) behind a server
// on 127.0.0.1. Says its port in the first line, then one line for each request: what is in it, or {"refused": why}. With
// --hang it says {"hangs": true} and never answers.
import assert from "node:assert/strict";
import http from "node:http";
import root from "@opentelemetry/otlp-transformer/build/src/generated/root.js";

const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
const hang = process.argv.includes("--hang");

function say(value) {
    process.stdout.write(JSON.stringify(value) + "\n");
}

// Ids are hexadecimal in OTLP's JSON, where Protocol Buffers has base64 for bytes.
function with_ids(value, change) {
    if (Array.isArray(value)) return value.map((one) => with_ids(one, change));
    if (value === null || typeof value !== "object" || Buffer.isBuffer(value)) return value;
    return Object.fromEntries(
        Object.entries(value).map(([key, one]) => [
            key,
            ["traceId", "spanId", "parentSpanId"].includes(key) ? change(one, key) : with_ids(one, change),
        ]),
    );
}

function bytes_of(text, key) {
    assert.match(text, key === "traceId" ? /^[0-9a-f]{32}$/ : /^[0-9a-f]{16}$/);
    return Buffer.from(text, "hex");
}

// What the definition makes of it, on the wire and back: a name or a type that it does not know is missing then.
function checked(given) {
    const message = Request.fromObject(with_ids(given, bytes_of));
    assert.equal(Request.verify(message), null);
    const back = Request.toObject(Request.decode(Request.encode(message).finish()), { longs: String });
    assert.deepEqual(with_ids(back, (bytes) => Buffer.from(bytes).toString("hex")), given);
    return given;
}

function attributes(list) {
    return Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
}

function described(request, body) {
    assert.equal(request.method, "POST");
    assert.equal(request.headers["content-type"], "application/json");
    const [{ resource, scopeSpans }] = checked(JSON.parse(body)).resourceSpans;
    const spans = scopeSpans[0].spans.map((span) => {
        assert(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano));
        assert(Math.abs(Number(BigInt(span.endTimeUnixNano) / 1000000n) - Date.now()) < 3600000);
        return {
            name: span.name,
            kind: root.opentelemetry.proto.trace.v1.Span.SpanKind[span.kind],
            context: `${span.traceId}-${span.spanId}`,
            parent: span.parentSpanId ?? "",
            links: (span.links ?? []).map((link) => `${link.traceId}-${link.spanId}`),
            status: span.status ?? {},
            attributes: attributes(span.attributes),
        };
    });
    return { path: request.url, authorization: request.headers.authorization, resource: attributes(resource.attributes), spans };
}

const server = http.createServer((request, response) => {
    if (hang) return say({ hangs: true });
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
        try {
            say(described(request, Buffer.concat(parts).toString()));
            response.writeHead(200, { "content-type": "application/json" }).end("{}");
        } catch (error) {
            say({ refused: String(error) });
            response.writeHead(400).end();
        }
    });
});
server.listen(0, "127.0.0.1", () => say(server.address().port));
