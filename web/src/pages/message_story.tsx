// One message from its birth to where it is now, and everything that can be done with it.
import { useEffect, useState } from "preact/hooks";
import { get, post, reason_of, why_not } from "../api/client";
import { store_name, store_option, store_param } from "../api/scope";
import type { Action as Verb, Message, MessageDetail, Queue } from "../api/schema";
import { href, route, set_params } from "../base/route";
import { bytes, plural, sentence_case, words_of } from "../base/words";
import { term_text } from "../search/filter";
import { verb_words } from "../ui/bulk_dialog";
import { Action } from "../ui/button";
import { Command, CopyButton, command_line } from "../ui/command";
import { Dialog } from "../ui/dialog";
import { Moment, Pairs, Panel, Problem, StateTag } from "../ui/parts";
import { PayloadPanel } from "../ui/payload_panel";
import { ResendDialog } from "../ui/resend_dialog";
import { tell } from "../ui/toast";
import { use_load } from "../ui/use_load";
import { time_line, type Happening } from "./time_line";

const refresh_seconds = 5;

export interface Where {
    readonly id: string;
    readonly params: { store?: string; queue: Queue };
}

function Step({ step }: { step: Happening }) {
    return (
        <li class={`tone-${step.tone}${step.is_ahead ? " future" : ""}`}>
            <span class="when">
                <Moment at={step.at} />
                {step.after && <div>{step.after}</div>}
            </span>
            <span class="dot" />
            <div class="what">
                <b>{step.title}</b> <span class="muted">{step.note}</span> <SearchLink field="message_id" value={step.in_place_of} />
                {step.error && (
                    <pre class="text-block" tabIndex={0}>
                        {step.error}
                    </pre>
                )}
            </div>
        </li>
    );
}

function SearchLink({ field, value }: { field: string; value: string | undefined }) {
    if (!value) return null;
    return (
        <a class="mono" href={href([route.value.params.get("queue") === "inbox" ? "inbox" : "messages"], { ...store_param(), q: term_text(field, value) })}>
            {value}
        </a>
    );
}

// The default type says nothing about a message.
function aggregate_of({ aggregate_type, aggregate_id }: Message): string {
    const type = aggregate_type === "__GLOBAL__" ? undefined : aggregate_type;
    return [type, aggregate_id].filter(Boolean).join(" ");
}

function Facts({ message, destination }: { message: Message; destination: string | undefined }) {
    const time = (at: string | undefined) => at && <Moment at={at} />;
    return (
        <Pairs
            rows={[
                ["Message id", <span class="mono">{message.message_id}</span>],
                ["Row", <span class="mono">{message.id}</span>],
                ["Sequence", <span class="mono">{message.seq}</span>],
                ["Topic", <SearchLink field="topic" value={message.topic} />],
                ["Destination", destination],
                ["Source", message.source && <SearchLink field="source" value={message.source} />],
                ["Tenant", message.tenant_id && <SearchLink field="tenant_id" value={message.tenant_id} />],
                ["Correlation id", message.correlation_id && <SearchLink field="correlation_id" value={message.correlation_id} />],
                ["Ordering key", message.ordering_key && <SearchLink field="ordering_key" value={message.ordering_key} />],
                ["Aggregate", aggregate_of(message)],
                ["Idempotency key", message.idempotency_key && message.idempotency_key !== message.message_id && <span class="mono">{message.idempotency_key}</span>],
                ["Priority", message.priority === 0 ? "" : String(message.priority)],
                ["Failed attempts", `${message.retry_count}${message.max_attempts ? ` of ${message.max_attempts}` : ""}`],
                ["Lost leases", message.lost_count > 0 ? String(message.lost_count) : ""],
                ["Fingerprint", message.fingerprint && <SearchLink field="fingerprint" value={message.fingerprint} />],
                ["Due", time(message.due_time)],
                ["Expires", time(message.expires_at)],
                ["Payload", `${bytes(message.payload_bytes)}${message.content_type ? `, ${message.content_type}` : ""}`],
            ]}
        />
    );
}

const refusals: Record<Verb, string> = {
    redrive: "Only dead messages can be redriven.",
    discard: "Only dead messages, and ready ones that nobody holds, can be discarded.",
    "retry-now": "Only a message that waits for its next attempt can be retried now.",
};

function Actions({ detail, where, onChanged }: { detail: MessageDetail; where: Where; onChanged: () => void }) {
    const { message, may } = detail;
    const [asked, ask] = useState<Verb | undefined>();
    const change = async (verb: Verb): Promise<void> => {
        ask(undefined);
        try {
            const { changed } = await post<{ changed: boolean }>(`messages/${encodeURIComponent(where.id)}/change`, where.params, { action: verb });
            tell(changed ? `The message was ${verb_words[verb].done}.` : "Nothing was changed: somebody else was quicker.", changed ? "done" : "retrying");
        } catch (error) {
            tell(reason_of(error), "dead");
        }
        onChanged();
    };
    const command = (verb: string): string =>
        command_line(verb, message.id, ...(message.queue === "inbox" ? ["--queue", "inbox"] : []), ...store_option());
    const edit_reason = message.queue === "inbox" ? "Only messages of the outbox can be sent again." : message.state !== "dead" ? "Only dead messages can be edited and sent again." : why_not("resend");
    return (
        <div class="row">
            {(["redrive", "retry-now", "discard"] as const).map((verb) => (
                <Action
                    key={verb}
                    kind={verb === "discard" ? "danger" : verb === "redrive" && may.includes(verb) ? "primary" : ""}
                    why_not={may.includes(verb) ? why_not("operate") : refusals[verb]}
                    onRun={() => (verb === "discard" ? ask(verb) : void change(verb))}
                >
                    {verb_words[verb].title}
                    {verb === "discard" && "…"}
                </Action>
            ))}
            <Action why_not={edit_reason} onRun={() => set_params({ edit: "1" })}>
                Edit and resend…
            </Action>
            <details class="commands">
                <summary>Copy as command</summary>
                <div class="stack">
                    {[...may, "show", "explain"].map((verb) => (
                        <Command key={verb} text={command(verb)} />
                    ))}
                </div>
            </details>
            {asked && (
                <Dialog title="Discard this message?" onClose={() => ask(undefined)}>
                    <p>It is removed for good, and nobody will get it. There is no way back.</p>
                    <Command text={command("discard")} />
                    <div class="actions">
                        <button type="button" onClick={() => ask(undefined)}>
                            Keep it
                        </button>
                        <button type="button" class="primary danger" onClick={() => void change("discard")}>
                            Discard
                        </button>
                    </div>
                </Dialog>
            )}
        </div>
    );
}

function Story({ detail, where, reload }: { detail: MessageDetail; where: Where; reload: () => void }) {
    const { message } = detail;
    const headers = Object.entries(detail.headers);
    return (
        <>
            <section class="panel story-head">
                <div class="row">
                    <StateTag message={message} />
                    <strong class="wrap">{message.topic}</strong>
                    <span class="mono muted wrap">{message.message_id}</span>
                    <CopyButton text={message.message_id ?? message.id} label="Copy id" />
                </div>
                <p class="sentence">{sentence_case(detail.explanation.sentence)}</p>
                <Actions detail={detail} where={where} onChanged={reload} />
            </section>
            <div class="columns">
                <Panel title="What happened">
                    <ol class="timeline">
                        {time_line(detail).map((step, i) => (
                            <Step key={i} step={step} />
                        ))}
                    </ol>
                    {detail.attempts.length < message.retry_count && detail.attempts.length > 0 && (
                        <p class="muted small">The last {plural(detail.attempts.length, "failed attempt")} of {message.retry_count} are kept.</p>
                    )}
                </Panel>
                <div class="stack">
                    <Panel title="Message">
                        <Facts message={message} destination={detail.destination} />
                    </Panel>
                    <Panel title={`Headers (${headers.length})`}>
                        {headers.length === 0 ? <p class="muted">It has none.</p> : <Pairs rows={headers.map(([name, value]) => [name, <span class="mono">{value}</span>])} />}
                    </Panel>
                    <PayloadPanel key={message.id} where={where} size={message.payload_bytes} />
                </div>
            </div>
            {route.value.params.has("edit") && message.state === "dead" && !why_not("resend") && (
                <ResendDialog where={where} message={message} onClose={() => set_params({ edit: undefined })} />
            )}
        </>
    );
}

export function MessageStory() {
    const { rest, params } = route.value;
    const id = rest[0] ?? "";
    const queue: Queue = params.get("queue") === "inbox" ? "inbox" : "outbox";
    const where: Where = { id, params: { ...store_param(), queue } };
    const { value, error, reload } = use_load<MessageDetail>(
        `${store_name.value}|${queue}|${id}`,
        (stop) => get(`messages/${encodeURIComponent(id)}`, where.params, stop),
        refresh_seconds,
    );
    useEffect(() => {
        if (value) document.title = `${value.message.topic} ${words_of(value.message.state)} · Postroom`;
    }, [value]);
    return (
        <>
            {error && <Problem text={error} again={reload} />}
            {value && <Story detail={value} where={where} reload={reload} />}
        </>
    );
}
