// The other side of the webhook tests: the npm package standardwebhooks behind a line protocol.
//
// A request is one line of fields separated by tabs, texts in base64; so is the answer.
//   now <seconds>                                      -> ok
//   sign <secret> <id> <seconds> <body>                -> ok <signature>
//   verify <secret> <id> <seconds> <signature> <body>  -> ok | refused <why>
//   stripe <secret> <seconds> <body>                   -> ok <header>
// Anything unexpected is answered with "error <why>".
"use strict";

const crypto = require("node:crypto");
const readline = require("node:readline");
const { Webhook, WebhookVerificationError } = require("standardwebhooks");

const requests = {
    // The package asks Date.now() what time it is.
    now(seconds) {
        Date.now = () => Number(seconds) * 1000;
        return ["ok"];
    },
    sign(secret, id, seconds, body) {
        const time = new Date(Number(seconds) * 1000);
        return ["ok", new Webhook(secret).sign(id, time, body)];
    },
    verify(secret, id, seconds, signature, body) {
        const headers = {
            "webhook-id": id,
            "webhook-timestamp": seconds,
            "webhook-signature": signature,
        };
        try {
            new Webhook(secret).verify(body, headers);
            return ["ok"];
        } catch (error) {
            if (error instanceof WebhookVerificationError) return ["refused", error.message];
            throw error;
        }
    },
    // No package of theirs: what their documentation says, in node's own cryptography.
    stripe(secret, seconds, body) {
        const digest = crypto.createHmac("sha256", secret).update(`${seconds}.${body}`);
        return ["ok", `t=${seconds},v1=${digest.digest("hex")}`];
    },
};

function answer(line) {
    const fields = line.split("\t").map((field) => Buffer.from(field, "base64").toString());
    try {
        return requests[fields[0]](...fields.slice(1));
    } catch (error) {
        return ["error", String(error)];
    }
}

const lines = readline.createInterface({ input: process.stdin });
lines.on("line", (line) => {
    const fields = answer(line).map((field) => Buffer.from(field).toString("base64"));
    process.stdout.write(fields.join("\t") + "\n");
});
