// Messages of one queue: search, views, a page of any depth, and changes to those that are chosen.
import { useEffect, useState } from "preact/hooks";
import { get, why_not } from "../api/client";
import { server_now } from "../api/live";
import { store_name, store_option, store_param } from "../api/scope";
import type { Action as Verb, Message, MessagePage, Queue } from "../api/schema";
import { href, route, set_params } from "../base/route";
import { plural } from "../base/words";
import { command_options, operation_filter, parse_terms, query_params, why_no_operation, type Terms } from "../search/filter";
import { bulk, verb_words } from "./bulk_dialog";
import { Action } from "./button";
import { command_line } from "./command";
import { Age, Empty, Panel, Problem, StateTag } from "./parts";
import { SearchBox } from "./search_box";
import { Table, type Column } from "./table";
import { use_load } from "./use_load";
import { Views } from "./views";

const page_size = 100;
// The first page follows what happens; an older one stays as it is.
const refresh_seconds = 8;

function story_link(message: Message): string {
    return href(["message", message.id], { ...store_param(), ...(message.queue === "inbox" ? { queue: "inbox" } : {}) });
}

function columns_of(queue: Queue, chosen: ReadonlySet<string>, toggle: (id: string) => void): readonly Column<Message>[] {
    const about: Column<Message> =
        queue === "inbox"
            ? { name: "Source", kind: "fixed", cell: (message) => message.source }
            : { name: "Tenant", kind: "fixed", cell: (message) => message.tenant_id };
    return [
        {
            name: "Select",
            silent: true,
            cell: (message) => <input type="checkbox" aria-label={`Select ${message.message_id ?? message.id}`} checked={chosen.has(message.id)} onChange={() => toggle(message.id)} />,
        },
        { name: "State", kind: "fixed", plain: true, cell: (message) => <StateTag message={message} /> },
        {
            name: "Topic",
            plain: true,
            cell: (message) => (
                <a class="row-link wrap" href={story_link(message)}>
                    {message.topic}
                </a>
            ),
        },
        { name: "Message id", kind: "fixed", plain: true, cell: (message) => <span class="mono">{message.message_id}</span> },
        about,
        { name: "Failed", kind: "number", cell: (message) => (message.retry_count > 0 ? message.retry_count : "") },
        { name: "Created", kind: "fixed", cell: (message) => <Age at={message.created_at} /> },
        { name: "Last error", kind: "grow", plain: true, cell: (message) => message.last_error && <span class="error-line">{message.last_error}</span> },
    ];
}

const verbs: readonly Verb[] = ["redrive", "retry-now", "discard"];

interface ActionsProps {
    readonly queue: Queue;
    readonly terms: Terms;
    readonly chosen: ReadonlySet<string>;
}

// For the chosen rows, or for all that match the search.
function Actions({ queue, terms, chosen }: ActionsProps) {
    const ask = (verb: Verb): void => {
        const ids = [...chosen];
        const options = ids.length > 0 ? ids : command_options(verb, terms);
        const no_filter = ids.length === 0 && terms.size === 0;
        bulk.value = {
            verb,
            queue,
            store: store_param(),
            which: ids.length > 0 ? "of those you selected" : no_filter ? "in the whole queue" : "match the search",
            command: options && command_line(verb, ...(queue === "inbox" ? ["--queue", "inbox"] : []), ...options, ...store_option()),
            ...(ids.length > 0 ? { ids } : { filter: operation_filter(terms, server_now.value) }),
        };
    };
    const reason = (verb: Verb) => why_not("operate") ?? (chosen.size === 0 ? why_no_operation(verb, terms) : undefined);
    return (
        <span class="row">
            <span class="muted small">{chosen.size > 0 ? `${plural(chosen.size, "message")} selected` : "All that match"}</span>
            {verbs.map((verb) => (
                <Action key={verb} kind={verb === "discard" ? "danger" : ""} why_not={reason(verb)} onRun={() => ask(verb)}>
                    {verb_words[verb].title}…
                </Action>
            ))}
        </span>
    );
}

function Nothing({ searched, queue, cut_short }: { searched: boolean; queue: Queue; cut_short: boolean }) {
    if (cut_short) return <Empty title="Nothing found so far">There are many messages. “Older” goes on with the search.</Empty>;
    if (searched) return <Empty title="No message matches">Words are joined with “and”. Take one away, or clear the search.</Empty>;
    if (queue === "inbox") return <Empty title="Nothing was received yet">An application that handles webhooks or messages with the inbox fills it.</Empty>;
    return (
        <Empty title="No messages yet" command={"postroom enqueue order.placed --payload '{\"order_id\": 17}'"}>
            Enqueue one from your application, or by hand:
        </Empty>
    );
}

export function MessageList({ queue }: { queue: Queue }) {
    const { params, page } = route.value;
    const text = params.get("q") ?? "";
    const cursor = params.get("cursor") ?? undefined;
    const terms = parse_terms(text);
    const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
    const key = `${store_name.value}|${queue}|${text}|${cursor ?? ""}`;
    useEffect(() => choose(new Set()), [key]);

    const { value, error, reload } = use_load<MessagePage>(
        key,
        (stop) => get("messages", { ...query_params(terms, server_now.value), ...store_param(), queue, limit: String(page_size), cursor }, stop),
        cursor === undefined && chosen.size === 0 ? refresh_seconds : 0,
    );
    const toggle = (id: string): void => {
        const next = new Set(chosen);
        if (!next.delete(id)) next.add(id);
        choose(next);
    };
    const search = (next: string): void => set_params({ q: next || undefined, cursor: undefined });
    const older = value?.next_cursor;
    const here = { ...Object.fromEntries(params) };
    return (
        <>
            <div class="row">
                <SearchBox text={text} queue={queue} onSearch={search} />
                <Actions queue={queue} terms={terms} chosen={chosen} />
            </div>
            <Views queue={queue} text={text} />
            {error && <Problem text={error} again={reload} />}
            {value && (
                <Panel
                    flush
                    title={cursor === undefined ? "Newest first" : "Older messages"}
                    aside={
                        <span class="row">
                            {cursor !== undefined && <a class="button" href={href([page], { ...here, cursor: undefined })}>Newest</a>}
                            {older !== undefined && <a class="button" href={href([page], { ...here, cursor: older })}>Older</a>}
                        </span>
                    }
                >
                    {value.messages.length === 0 ? (
                        <Nothing searched={text !== "" || cursor !== undefined} queue={queue} cut_short={value.cut_short === true} />
                    ) : (
                        <Table label="Messages" columns={columns_of(queue, chosen, toggle)} rows={value.messages} row_key={(message) => message.id} />
                    )}
                </Panel>
            )}
            {value && older !== undefined && (
                <div class="row">
                    <a class="button" href={href([page], { ...here, cursor: older })}>
                        Older messages
                    </a>
                </div>
            )}
        </>
    );
}
