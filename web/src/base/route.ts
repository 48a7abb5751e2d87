// The address is the state: #/messages?topic=order.placed names a page and everything it shows.
//
// Behind the hash, because then the page works under any path prefix without being told of it.
import { computed, signal } from "@preact/signals";

export interface Route {
    readonly page: string;
    readonly rest: readonly string[];
    readonly params: URLSearchParams;
}

function read(): Route {
    const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
    const parts = path.split("/").filter((part) => part !== "").map(decode);
    return { page: parts[0] ?? "overview", rest: parts.slice(1), params: new URLSearchParams(query) };
}

function decode(part: string): string {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}

const current = signal<Route>(read());
addEventListener("hashchange", () => {
    current.value = read();
});

export const route = computed(() => current.value);

type Params = Record<string, string | undefined>;

export function href(parts: readonly string[], params: Params = {}): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(params)) if (value) query.set(name, value);
    const text = query.toString();
    return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export function go(to: string): void {
    location.hash = to;
}

// Changes parameters of this page. Without an entry in the history: for what is typed.
export function set_params(changes: Params): void {
    const { page, rest, params } = current.value;
    const next: Params = { ...Object.fromEntries(params), ...changes };
    history.replaceState(null, "", href([page, ...rest], next));
    current.value = read();
}
