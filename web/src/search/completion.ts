// What the word under the cursor may become.
import type { Overview, Queue } from "../api/schema";
import { fields, states, term_text } from "./filter";

export interface Suggestion {
    // What takes the place of the word.
    readonly text: string;
    readonly help: string;
    // A field awaits its value; a whole term is followed by the next.
    readonly is_whole: boolean;
}

const shown_at_most = 12;

// Where the last word of `text` begins; blanks within quotes belong to it.
export function last_word_begin(text: string): number {
    let begin = 0;
    let in_quotes = false;
    for (let i = 0; i < text.length; ++i) {
        if (text[i] === '"') in_quotes = !in_quotes;
        else if (text[i] === " " && !in_quotes) begin = i + 1;
    }
    return begin;
}

function values_of(field: string, known: Overview | null): readonly string[] {
    if (field === "state") return states;
    if (field === "blocking" || field === "put_off") return ["yes"];
    if (field === "since" || field === "until") return ["15min", "1h", "1d", "7d"];
    if (field === "topic") return [...new Set(known?.topics.map((each) => each.topic) ?? [])].sort();
    return [];
}

export function suggestions(text: string, queue: Queue, known: Overview | null): readonly Suggestion[] {
    const last = text.slice(last_word_begin(text));
    const [, field, begun = ""] = /^([a-z_]+):"?(.*)$/s.exec(last) ?? [];
    if (field !== undefined)
        return values_of(field, known)
            .filter((value) => value.toLowerCase().includes(begun.toLowerCase()) && value !== begun)
            .slice(0, shown_at_most)
            .map((value) => ({ text: term_text(field, value), help: "", is_whole: true }));
    return fields
        .filter((each) => each.name.startsWith(last.toLowerCase()) && (queue === "inbox" || !each.inbox_only))
        .map((each) => ({ text: `${each.name}:`, help: each.help, is_whole: false }));
}
