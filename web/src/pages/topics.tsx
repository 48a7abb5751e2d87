// Topics: how much flows through each, and the switch that holds one back.
import { useState } from "preact/hooks";
import { get, post, reason_of, why_not } from "../api/client";
import { has_several_stores, store_option, store_param } from "../api/scope";
import type { Topic } from "../api/schema";
import { href, route, set_params } from "../base/route";
import { brief, plural, rate } from "../base/words";
import { term_text } from "../search/filter";
import { Action } from "../ui/button";
import { Command, command_line } from "../ui/command";
import { Dialog } from "../ui/dialog";
import { FilterBox } from "../ui/filter_box";
import { Empty, Lasting, Panel, Problem, Tag } from "../ui/parts";
import { Table, type Column } from "../ui/table";
import { tell } from "../ui/toast";
import { use_load } from "../ui/use_load";

const refresh_seconds = 3;

async function set_paused(topic: string, store: string, paused: boolean): Promise<void> {
    try {
        const { changed } = await post<{ changed: boolean }>(`topics/${paused ? "pause" : "resume"}`, store_param(store), { topic });
        const now = paused ? "paused" : "delivered";
        tell(changed ? `${topic} is ${now}${paused ? " in every relay" : " again"}.` : `${topic} was ${now} before.`);
    } catch (error) {
        tell(reason_of(error), "dead");
    }
}

// What is to be resumed: the topic itself, or the pattern that holds it back.
const pause_of = (topic: Topic): string => topic.paused_by ?? topic.topic;

interface AskProps {
    readonly topic: Topic;
    readonly onDone: () => void;
    readonly onClose: () => void;
}

function PauseDialog({ topic, onDone, onClose }: AskProps) {
    return (
        <Dialog title={`Pause ${topic.topic}?`} onClose={onClose}>
            <p>Every relay holds back its messages within two seconds. They are still taken in, wait, and lose no attempt, until you resume the topic.</p>
            <Command text={command_line("pause", topic.topic, ...store_option(topic.store))} />
            <div class="actions">
                <button type="button" onClick={onClose}>
                    Keep it going
                </button>
                <Action kind="primary" why_not={why_not("operate")} onRun={() => void set_paused(topic.topic, topic.store, true).then(onDone)}>
                    Pause
                </Action>
            </div>
        </Dialog>
    );
}

function columns_of(ask: (topic: Topic) => void, resume: (topic: Topic) => void): readonly Column<Topic>[] {
    const messages = (topic: Topic, extra = ""): string => href(["messages"], { ...store_param(topic.store), q: `${term_text("topic", topic.topic)}${extra}` });
    const columns: Column<Topic>[] = [
        {
            name: "Topic",
            plain: true,
            cell: (topic) => (
                <a class="row-link wrap" href={messages(topic)}>
                    {topic.topic}
                </a>
            ),
        },
        { name: "Store", kind: "fixed", cell: (topic) => topic.store },
        { name: "Destination", kind: "grow", cell: (topic) => <span class="wrap">{topic.destination ?? "no route here"}</span> },
        { name: "Out /s", kind: "number", cell: (topic) => rate(topic.rates.delivered) },
        { name: "Failed /s", kind: "number", cell: (topic) => rate(topic.rates.failed) },
        { name: "Delivered", kind: "number", cell: (topic) => brief(topic.totals.delivered) },
        {
            name: "Dead",
            kind: "number",
            cell: (topic) =>
                topic.totals.dead === 0 ? (
                    "0"
                ) : (
                    <a class="toned tone-dead" href={messages(topic, " state:dead")}>
                        {brief(topic.totals.dead)}
                    </a>
                ),
        },
        {
            name: "State",
            kind: "fixed",
            plain: true,
            cell: (topic) =>
                topic.paused ? (
                    <>
                        <Tag tone="retrying">paused</Tag>{" "}
                        <span class="muted small">
                            {topic.paused_since && <>for <Lasting since={topic.paused_since} /></>}
                            {pause_of(topic) !== topic.topic && <> by {pause_of(topic)}</>}
                        </span>
                    </>
                ) : (
                    <Tag tone="done">delivering</Tag>
                ),
        },
        {
            name: "Action",
            silent: true,
            kind: "fixed",
            cell: (topic) => (
                <Action why_not={why_not("operate")} label={topic.paused ? `Resume ${pause_of(topic)}` : `Pause ${topic.topic}`} onRun={() => (topic.paused ? resume(topic) : ask(topic))}>
                    {topic.paused ? "Resume" : "Pause…"}
                </Action>
            ),
        },
    ];
    return columns.filter((column) => column.name !== "Store" || has_several_stores.value);
}

export function Topics() {
    const [asked, ask] = useState<Topic | undefined>();
    const wanted = route.value.params.get("q") ?? "";
    const { value, error, reload } = use_load<{ topics: readonly Topic[] }>("topics", (stop) => get("topics", {}, stop), refresh_seconds);
    const shown = value?.topics.filter((topic) => `${topic.topic} ${topic.store}`.toLowerCase().includes(wanted.toLowerCase())) ?? [];
    return (
        <>
            <FilterBox label="Filter topics" text={wanted} onFilter={(text) => set_params({ q: text || undefined })} />
            {error && <Problem text={error} again={reload} />}
            {value && (
                <Panel flush title={plural(shown.length, "topic")}>
                    {shown.length === 0 ? (
                        <Empty title={wanted ? "No topic matches" : "No topics yet"}>
                            {wanted ? "Clear the filter to see them all." : "A topic appears with its first delivery, or when it is paused."}
                        </Empty>
                    ) : (
                        <Table
                            label="Topics"
                            columns={columns_of(ask, (topic) => void set_paused(pause_of(topic), topic.store, false).then(reload))}
                            rows={shown}
                            row_key={(topic) => `${topic.store} ${topic.topic}`}
                        />
                    )}
                </Panel>
            )}
            {asked && (
                <PauseDialog
                    topic={asked}
                    onClose={() => ask(undefined)}
                    onDone={() => {
                        ask(undefined);
                        reload();
                    }}
                />
            )}
        </>
    );
}
