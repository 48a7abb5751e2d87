// The story of a message, event by event.
import type { Attempt, MessageDetail } from "../api/schema";
import { span } from "../base/words";
import type { Tone } from "../ui/parts";

export interface Happening {
    readonly at: string;
    readonly tone: Tone;
    readonly title: string;
    readonly note?: string;
    // The message id of the dead one that this one was sent in place of.
    readonly in_place_of?: string;
    readonly error?: string;
    readonly is_ahead?: boolean;
    // Time since the one before it: "+2.1 s".
    readonly after?: string;
}

const endings: Record<string, string> = {
    failed: "Dead: the handler refused it",
    max_attempts: "Dead: every attempt failed",
    crash_limit: "Dead: its workers crashed on it",
    expired: "Dead: it expired",
    cancelled: "Dead: it was cancelled",
    unreadable: "Dead: it could not be read",
    restored: "Dead: it was set aside when the database was restored",
};

function by(worker: string | undefined, destination: string | undefined): string {
    return [destination && `to ${destination}`, worker && `by ${worker}`].filter(Boolean).join(" ");
}

function beginnings({ message, headers }: MessageDetail): Happening[] {
    const found: Happening[] = [];
    if (message.occurred_at && message.occurred_at !== message.created_at) found.push({ at: message.occurred_at, tone: "idle", title: "Occurred" });
    const resent = headers["postroom-resend-of"];
    found.push({
        at: message.created_at,
        tone: "ready",
        title: message.queue === "inbox" ? "Received" : "Enqueued",
        ...(resent ? { note: "sent again, edited, in place of", in_place_of: resent } : message.source ? { note: `from ${message.source}` } : {}),
    });
    if (message.last_seen && message.last_seen !== message.created_at)
        found.push({ at: message.last_seen, tone: "idle", title: "Seen again", note: "the latest time the sender repeated it" });
    return found;
}

// An attempt of which no more is known than that it failed is one event; others begin with their claim.
function told(attempt: Attempt, number: number): Happening[] {
    const { claimed_at, took_seconds = 0 } = attempt;
    const failure: Happening = {
        at: attempt.at,
        tone: "retrying",
        title: `Attempt ${number} failed${attempt.outcome === "fail" ? " for good" : ""}${took_seconds > 0 ? ` after ${span(took_seconds)}` : ""}`,
        note: by(claimed_at ? undefined : attempt.worker, attempt.destination),
        ...(attempt.error ? { error: attempt.error } : {}),
    };
    if (!claimed_at) return [failure];
    return [{ at: claimed_at, tone: "in_progress", title: number > 1 ? "Claimed again" : "Claimed", note: by(attempt.worker, undefined) }, failure];
}

function attempts({ attempts: kept, message }: MessageDetail): Happening[] {
    const before = Math.max(0, message.retry_count - kept.length);
    return [...kept].reverse().flatMap((attempt, i) => told(attempt, before + i + 1));
}

function ending({ message }: MessageDetail): Happening[] {
    if (message.state === "dead" && message.died_at)
        return [{ at: message.died_at, tone: "dead", title: endings[message.dead_reason ?? ""] ?? "Dead" }];
    if (!message.processed_at) return [];
    const note = message.processed_by ? `by ${message.processed_by}` : "";
    if (message.discarded) return [{ at: message.processed_at, tone: "idle", title: "Discarded", note }];
    return [{ at: message.processed_at, tone: "done", title: message.queue === "inbox" ? "Handled" : "Delivered", note }];
}

function ahead({ message, holder, now }: MessageDetail): Happening[] {
    if (message.lease)
        return [
            ...(holder?.leased_at ? [{ at: holder.leased_at, tone: "in_progress", title: "Claimed, or its lease renewed" } as const] : []),
            { at: now, tone: "in_progress", title: "Being delivered", note: [by(message.lease.owner_token, undefined), holder && `on ${holder.host} (process ${holder.pid})`].filter(Boolean).join(" ") },
            { at: message.lease.locked_until, tone: "in_progress", title: "Lease ends, unless it is renewed", is_ahead: true },
        ];
    if (message.state !== "ready" || Date.parse(message.available_at) <= Date.parse(now)) return [];
    return [{ at: message.available_at, tone: "ready", title: message.retry_count > 0 ? "Next attempt" : "Due", is_ahead: true }];
}

// In the order of their times; the differences between clocks are shown as they are.
export function time_line(detail: MessageDetail): readonly Happening[] {
    const all = [...beginnings(detail), ...attempts(detail), ...ending(detail), ...ahead(detail)];
    return all.map((each, i) => {
        const before = all[i - 1];
        if (!before) return each;
        const seconds = (Date.parse(each.at) - Date.parse(before.at)) / 1000;
        return { ...each, after: `${seconds < 0 ? "" : "+"}${span(seconds)}` };
    });
}
