// How long messages took from when they were due until they were delivered, by the database's clock.
import type { Message } from "../api/schema";

export interface EndToEnd {
    readonly p50: number;
    readonly p99: number;
    readonly count: number;
}

function seconds_of(message: Message): number | undefined {
    if (!message.processed_at || message.discarded) return undefined;
    const due = Math.max(Date.parse(message.created_at), Date.parse(message.due_time ?? message.created_at));
    return Math.max(0, Date.parse(message.processed_at) - due) / 1000;
}

// Of delivered messages; undefined when there are none.
export function end_to_end(messages: readonly Message[]): EndToEnd | undefined {
    const times = messages.flatMap((message) => seconds_of(message) ?? []).sort((a, b) => a - b);
    const at = (share: number): number => times[Math.max(0, Math.ceil(share * times.length) - 1)] ?? 0;
    return times.length === 0 ? undefined : { p50: at(0.5), p99: at(0.99), count: times.length };
}
