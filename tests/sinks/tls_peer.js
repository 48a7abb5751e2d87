// A TLS server on 127.0.0.1 with the certificate cert.pem and the key key.pem of the folder that is
// its argument. Says its port in the first line, then one line for each connection: "secure", with
// the name in the client's certificate if it has one, or "refused" when the client did not go on.
// With a second argument, the certificate of an authority, clients need one that it has signed.
// Requests of HTTP are answered with 204.
"use strict";

const fs = require("node:fs");
const https = require("node:https");
const path = require("node:path");

const [folder, authority] = process.argv.slice(2);
const options = {
    cert: fs.readFileSync(path.join(folder, "cert.pem")),
    key: fs.readFileSync(path.join(folder, "key.pem")),
};
if (authority) Object.assign(options, { requestCert: true, ca: fs.readFileSync(authority) });
const server = https.createServer(options, (request, response) => {
    request.resume();
    response.writeHead(204).end();
});
server.on("secureConnection", (socket) => {
    const { subject } = socket.getPeerCertificate();
    process.stdout.write(subject ? `secure ${subject.CN}\n` : "secure\n");
});
server.on("tlsClientError", () => process.stdout.write("refused\n"));
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
