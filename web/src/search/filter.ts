// What a search asks for: words of the form field:value, as a person types them and as the address
// keeps them.
import type { Action, Filter, State } from "../api/schema";

export const states: readonly State[] = ["ready", "in_progress", "done", "dead", "seen"];

interface Field {
    readonly name: string;
    readonly help: string;
    // The option of `postroom redrive` and `discard` that means the same.
    readonly option?: string;
    // Only dead messages have it.
    readonly dead_only?: boolean;
    readonly inbox_only?: boolean;
    // Lists can be limited by it, changes cannot.
    readonly list_only?: boolean;
}

export const fields: readonly Field[] = [
    { name: "state", help: "ready, in_progress, done, dead or seen; several with commas" },
    { name: "topic", help: "exactly this topic", option: "--topic" },
    { name: "message_id", help: "what the receiver sees" },
    { name: "error", help: "the last error has this in it", option: "--error" },
    { name: "fingerprint", help: "died of this error: a group of dead letters", option: "--fingerprint", dead_only: true },
    { name: "tenant_id", help: "of this tenant", option: "--tenant-id" },
    { name: "correlation_id", help: "with this correlation id", option: "--correlation-id" },
    { name: "ordering_key", help: "of this ordering key", option: "--ordering-key" },
    { name: "aggregate_type", help: "about things of this type", option: "--aggregate-type" },
    { name: "source", help: "inbox: received from there", option: "--source", inbox_only: true },
    { name: "owner_token", help: "leased by this worker", list_only: true },
    { name: "since", help: "created since: 2h, 3d, or a time", option: "--since" },
    { name: "until", help: "created before: 2h, 3d, or a time", option: "--until" },
    { name: "blocking", help: "yes: holds back others of its ordering key" },
    { name: "put_off", help: "yes: waits for its next attempt", list_only: true },
];

export type Terms = ReadonlyMap<string, string>;

const word = /(?:([a-z_]+):)?("(?:[^"\\]|\\.)*"?|\S+)/g;

// A word without a field is a message id.
export function parse_terms(text: string): Terms {
    const terms = new Map<string, string>();
    for (const [, field, value = ""] of text.matchAll(word)) {
        const known = fields.some((each) => each.name === field);
        if (field !== undefined && known) terms.set(field, unquoted(value));
        else terms.set("message_id", unquoted(field === undefined ? value : `${field}:${value}`));
    }
    return terms;
}

function unquoted(value: string): string {
    if (!value.startsWith('"')) return value;
    return value.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1");
}

export function term_text(field: string, value: string): string {
    const needs_quotes = value === "" || /[\s"]/.test(value);
    return `${field}:${needs_quotes ? `"${value.replace(/[\\"]/g, "\\$&")}"` : value}`;
}

export function terms_text(terms: Terms): string {
    return [...terms].map(([field, value]) => term_text(field, value)).join(" ");
}

const span_seconds: Record<string, number> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400, w: 604_800 };

// "2h" is two hours before `now`; anything else is a time, which the server judges.
export function instant_of(text: string, now: number): string {
    const [, amount, unit = ""] = /^(\d+) ?(s|m|min|h|d|w)$/.exec(text) ?? [];
    if (amount === undefined) {
        const at = Date.parse(text);
        return Number.isNaN(at) ? text : new Date(at).toISOString();
    }
    return new Date(now - Number(amount) * (span_seconds[unit] ?? 0) * 1000).toISOString();
}

function renamed(field: string): string {
    return field === "since" ? "created_from" : field === "until" ? "created_before" : field;
}

function value_of(field: string, value: string, now: number): string {
    if (field === "since" || field === "until") return instant_of(value, now);
    if (field === "blocking" || field === "put_off") return String(/^(yes|true|1)$/.test(value));
    return value;
}

// As parameters of GET /api/messages.
export function query_params(terms: Terms, now: number): Record<string, string> {
    return Object.fromEntries([...terms].map(([field, value]) => [renamed(field), value_of(field, value, now)]));
}

// As the filter of an operation.
export function operation_filter(terms: Terms, now: number): Filter {
    const { state, blocking, ...rest } = query_params(terms, now);
    return {
        ...rest,
        ...(state === undefined ? {} : { state: state.split(",") as State[] }),
        ...(blocking === undefined ? {} : { blocking: blocking === "true" }),
    };
}

// Why no operation can have these terms as its filter.
export function why_no_operation(verb: Action, terms: Terms): string | undefined {
    const field = fields.find((each) => each.list_only && terms.has(each.name));
    if (field) return `A change cannot be limited by ${field.name}; select rows instead.`;
    const of_dead = fields.find((each) => each.dead_only && terms.has(each.name));
    return of_dead && usual_state[verb] !== "dead" ? `Only dead messages have a ${of_dead.name}, and they are not waiting for an attempt.` : undefined;
}

// What a command is about when it is not told.
const usual_state: Record<Action, State> = { redrive: "dead", discard: "dead", "retry-now": "ready" };

// The state as options of `verb`; undefined when it cannot be told.
function state_options(verb: Action, state: string): readonly string[] | undefined {
    if (state === usual_state[verb]) return [];
    return verb === "discard" && state === "ready" ? ["--state", state] : undefined;
}

// The options of the command `verb` with the same meaning; undefined when one of the terms has none.
export function command_options(verb: Action, terms: Terms): readonly string[] | undefined {
    const state = state_options(verb, terms.get("state") ?? usual_state[verb]);
    if (state === undefined) return undefined;
    const words: string[] = [];
    for (const [field, value] of terms) {
        if (field === "state") continue;
        const { option, dead_only } = fields.find((each) => each.name === field) ?? {};
        if (option === undefined || (dead_only && usual_state[verb] !== "dead")) return undefined;
        words.push(option, value);
    }
    return [...(words.length === 0 ? ["--all"] : words), ...state];
}
