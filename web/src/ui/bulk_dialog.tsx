// One change to many messages: how many first, then a question, then progress that can be stopped.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { post, reason_of, why_not } from "../api/client";
import { operations } from "../api/live";
import type { Action as Verb, Filter, Operation, Queue } from "../api/schema";
import { count, plural } from "../base/words";
import { Action } from "./button";
import { Command } from "./command";
import { Dialog } from "./dialog";
import { Problem } from "./parts";
import { tell } from "./toast";

export interface Bulk {
    readonly verb: Verb;
    // "with the error connection refused"
    readonly which: string;
    readonly store: { store?: string };
    readonly queue: Queue;
    readonly filter?: Filter;
    readonly ids?: readonly string[];
    readonly command?: string | undefined;
}

// What is being asked for; null when nothing is.
export const bulk = signal<Bulk | null>(null);

export const verb_words: Record<Verb, { doing: string; done: string; title: string; means: string }> = {
    redrive: { title: "Redrive", doing: "Redriving", done: "redriven", means: "They become ready again, as new, and are delivered." },
    discard: { title: "Discard", doing: "Discarding", done: "discarded", means: "They are removed for good. There is no way back." },
    "retry-now": { title: "Retry now", doing: "Retrying", done: "made due", means: "They are due at once instead of at their next attempt." },
};

function body_of({ verb, store, queue, filter, ids }: Bulk): object {
    return { action: verb, queue, ...store, ...(ids ? { ids } : { filter: filter ?? {} }) };
}

function Running({ operation }: { operation: Operation }) {
    const words = verb_words[operation.action];
    const [asked, ask] = useState(false);
    const running = operation.status === "running";
    const cancel = async (): Promise<void> => {
        ask(true);
        try {
            await post(`operations/${encodeURIComponent(operation.id)}/cancel`, {}, {});
        } catch (error) {
            tell(reason_of(error), "dead");
        }
    };
    return (
        <>
            <p role="status">
                {running && `${words.doing} ${count(operation.changed)} of ${plural(operation.matched, "message")}…`}
                {operation.status === "finished" && `${plural(operation.changed, "message")} ${words.done}.`}
                {operation.status === "cancelled" &&
                    `Cancelled. ${count(operation.changed)} of ${plural(operation.matched, "message")} ${words.done}; the rest is as it was.`}
                {operation.status === "failed" && `Failed after ${plural(operation.changed, "message")}: ${operation.error ?? ""}`}
            </p>
            <progress aria-label="Progress" max={Math.max(operation.matched, 1)} value={running ? operation.changed : Math.max(operation.matched, 1)} />
            <div class="actions">
                {running ? (
                    <button type="button" onClick={cancel} disabled={asked}>
                        {asked ? "Stopping…" : "Cancel the rest"}
                    </button>
                ) : (
                    <button type="button" class="primary" onClick={() => (bulk.value = null)}>
                        Close
                    </button>
                )}
            </div>
        </>
    );
}

function Ask({ asked, onBegun }: { asked: Bulk; onBegun: (operation: Operation) => void }) {
    const words = verb_words[asked.verb];
    const [matched, set_matched] = useState<number | undefined>();
    const [error, set_error] = useState("");
    const [sent, set_sent] = useState(false);
    useEffect(() => {
        post<{ matched: number }>("operations", {}, { ...body_of(asked), dry_run: true }).then(
            (answer) => set_matched(answer.matched),
            (failure: unknown) => set_error(reason_of(failure)),
        );
    }, []);
    const begin = async (): Promise<void> => {
        set_sent(true);
        try {
            onBegun(await post<Operation>("operations", {}, body_of(asked)));
        } catch (failure) {
            set_error(reason_of(failure));
            set_sent(false);
        }
    };
    const reason = why_not("operate") ?? (matched === undefined ? "Counting." : matched === 0 ? "Nothing matches." : sent ? "Sent." : undefined);
    return (
        <>
            {error && <Problem text={error} />}
            <p>
                {matched === undefined ? "Counting…" : <strong>{plural(matched, "message")}</strong>} {asked.which}.{" "}
                {matched !== 0 && words.means}
            </p>
            {asked.command && <Command text={asked.command} />}
            <div class="actions">
                <button type="button" onClick={() => (bulk.value = null)}>
                    Keep as they are
                </button>
                <Action kind={asked.verb === "discard" ? "primary danger" : "primary"} why_not={reason} onRun={begin}>
                    {words.title} {matched !== undefined && count(matched)}
                </Action>
            </div>
        </>
    );
}

function Asked({ asked }: { asked: Bulk }) {
    const [begun, set_begun] = useState<Operation | undefined>();
    const operation = begun && (operations.value.get(begun.id) ?? begun);
    return (
        <Dialog title={`${verb_words[asked.verb].title} messages`} onClose={() => (bulk.value = null)}>
            {operation ? <Running operation={operation} /> : <Ask asked={asked} onBegun={set_begun} />}
        </Dialog>
    );
}

export function BulkDialog() {
    return bulk.value && <Asked asked={bulk.value} />;
}
