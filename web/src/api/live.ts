// What the relay is doing, kept up to date: one stream for the whole page, closed while the tab is
// hidden, and resumed where it was.
import { batch, computed, signal } from "@preact/signals";
import { failure_of, get, load_session, reason_of, request, session, sign_in_reason } from "./client";
import { read_events, type ServerEvent } from "./events";
import type { Operation, Overview, Point } from "./schema";
import { append_point } from "./series";

export const overview = signal<Overview | null>(null);
export const series = signal<readonly Point[]>([]);
export const operations = signal<ReadonlyMap<string, Operation>>(new Map());
// Counts what somebody changed; whoever shows lists reads them again when it moves.
export const changes = signal(0);

export type Link = "connecting" | "live" | "paused" | "broken";
export const link = signal<Link>("connecting");
export const link_error = signal("");

// This machine's clock. Shown ages follow the server's: server_now().
export const now = signal(Date.now());
const heard_at = signal(0);
const server_ahead = signal(0);

export const server_now = computed(() => now.value + server_ahead.value);
// For how long nothing was heard, in seconds; 0 when the figures are fresh.
export const stale_for = computed(() => {
    const silent = (now.value - heard_at.value) / 1000;
    return overview.value && silent > stale_after_seconds ? silent : 0;
});

const stale_after_seconds = 7;
const retry_ms = [500, 1000, 2000, 5000];

let last_id = "";
let attempt = 0;
let stop: AbortController | undefined;

function take_overview(next: Overview): void {
    batch(() => {
        heard_at.value = now.value = Date.now();
        server_ahead.value = Date.parse(next.at) - heard_at.value;
        series.value = next.series ?? append_point(series.value, overview.value, next);
        overview.value = next;
    });
}

function take_operation(operation: Operation): void {
    operations.value = new Map(operations.value).set(operation.id, operation);
}

// The whole, with the last ten minutes.
async function read_whole(): Promise<void> {
    take_overview(await get<Overview>("overview"));
    const list = await get<{ operations: readonly Operation[] }>("operations");
    operations.value = new Map(list.operations.map((operation) => [operation.id, operation]));
}

function take(event: ServerEvent): void {
    if (event.id) last_id = event.id;
    if (event.name === "overview") take_overview(JSON.parse(event.data) as Overview);
    else if (event.name === "operation") take_operation(JSON.parse(event.data) as Operation);
    else if (event.name === "change") changes.value += 1;
    else if (event.name === "reset") {
        changes.value += 1;
        void read_whole().catch(() => undefined);
    }
}

async function follow(aborted: AbortSignal): Promise<void> {
    if (!session.value?.may.view) await load_session();
    if (sign_in_reason.value !== null) throw new Error(sign_in_reason.value);
    if (!overview.value) await read_whole();
    const headers: HeadersInit = last_id ? { "Last-Event-ID": last_id } : {};
    const response = await request("api/live", { headers, signal: aborted });
    if (!response.ok || !response.body) throw await failure_of(response);
    link.value = "live";
    attempt = 0;
    await read_events(response.body, take);
    throw new Error("The relay ended the stream.");
}

// Begins to listen, and comes back after a failure, until pause().
export function listen(): void {
    stop?.abort();
    const mine = new AbortController();
    stop = mine;
    if (link.value !== "broken") link.value = "connecting";
    follow(mine.signal).catch((error: unknown) => {
        if (mine.signal.aborted) return;
        link.value = "broken";
        link_error.value = reason_of(error);
        if (sign_in_reason.value !== null) return;
        const delay = retry_ms[Math.min(attempt, retry_ms.length - 1)];
        attempt += 1;
        setTimeout(() => {
            if (stop === mine) listen();
        }, delay);
    });
}

function pause(): void {
    stop?.abort();
    stop = undefined;
    link.value = "paused";
}

export function start_live(): void {
    setInterval(() => {
        if (!document.hidden) now.value = Date.now();
    }, 1000);
    document.addEventListener("visibilitychange", () => {
        if (document.hidden) pause();
        else listen();
    });
    if (document.hidden) pause();
    else listen();
}
