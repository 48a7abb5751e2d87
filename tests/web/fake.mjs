// The page on a relay that only pretends, for situations that are hard to bring about with a real one.
import { pathToFileURL } from "node:url";

const web = process.env.POSTROOM_WEB_SOURCE;
const { serve: serve_page } = await import(pathToFileURL(`${web}/dev/server.mjs`));

export function serve(options = {}) {
    return serve_page({ folder: process.env.POSTROOM_WEB_PAGE, ...options });
}
