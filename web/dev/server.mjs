// Serves the built page as the program does, with a fake relay behind it.
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fake_relay } from "./fake_relay.mjs";

const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };
const policy = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

// The address it listens on, and a way to stop it. `prefix`: as behind a proxy, such as "/ops".
export function serve({ folder, port = 0, prefix = "", ...options }) {
    const { answer, seen } = fake_relay(options);
    const server = createServer((request, response) => {
        const url = new URL(request.url, "http://page");
        if (!url.pathname.startsWith(`${prefix}/`)) return response.writeHead(404).end();
        url.pathname = url.pathname.slice(prefix.length);
        if (url.pathname.startsWith("/api/")) return answer(request, response, url);
        const path = join(folder, normalize(url.pathname === "/" ? "/index.html" : url.pathname));
        if (!existsSync(path)) return response.writeHead(404).end();
        response.writeHead(200, { "Content-Type": types[extname(path)], "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff" });
        return createReadStream(path).pipe(response);
    });
    return new Promise((resolve) => {
        server.listen(port, "127.0.0.1", () =>
            resolve({
                url: `http://127.0.0.1:${server.address().port}${prefix}/`,
                seen,
                stop: () => (server.closeAllConnections(), server.close()),
            }),
        );
    });
}
