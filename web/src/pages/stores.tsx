// The databases: does each answer, is its schema right, how much waits in it.
import { useState } from "preact/hooks";
import { get } from "../api/client";
import { store_option, store_param } from "../api/scope";
import type { Finding, Store } from "../api/schema";
import { href, route, set_params } from "../base/route";
import { brief, plural, span } from "../base/words";
import { Command, command_line } from "../ui/command";
import { FilterBox } from "../ui/filter_box";
import { Empty, Pairs, Panel, Problem, Tag, type Tone } from "../ui/parts";
import { Table, type Column } from "../ui/table";
import { use_load } from "../ui/use_load";

const refresh_seconds = 5;
const tiles_at_once = 200;

function waiting(store: Store): number {
    const { backlog } = store.outbox;
    return backlog ? backlog.ready + backlog.in_progress : 0;
}

// Those that do not answer or deliver, then those with an old schema, then those with dead messages.
function trouble(store: Store): number {
    if (!store.up || store.hold) return 3;
    if (store.schema_up_to_date === false) return 2;
    return (store.outbox.backlog?.dead ?? 0) > 0 ? 1 : 0;
}

function Tile({ store, open, onOpen }: { store: Store; open: boolean; onOpen: () => void }) {
    const dead = (store.outbox.backlog?.dead ?? 0) + (store.inbox.backlog?.dead ?? 0);
    return (
        <button type="button" class="tile row-link" aria-expanded={open} onClick={onOpen}>
            <span class="row">
                <span class={`light tone-${store.up ? "done" : "dead"}`} />
                <span class="clip">{store.store}</span>
            </span>
            {store.up ? (
                <span>
                    {brief(waiting(store))} waiting
                    {dead > 0 && <span class="toned tone-dead"> · {brief(dead)} dead</span>}
                </span>
            ) : (
                <span class="toned tone-dead wrap">{store.error ?? "does not answer"}</span>
            )}
            <span class="muted small">
                {store.outbox.oldest_age_seconds === undefined ? "nothing waits" : `oldest ${span(store.outbox.oldest_age_seconds)}`}
                {store.hold && <span class="toned tone-dead"> · delivery is held</span>}
                {store.schema_up_to_date === false && <span class="toned tone-retrying"> · schema is old</span>}
            </span>
        </button>
    );
}

const health_tone: Record<Finding["health"], Tone> = { ok: "done", warning: "retrying", bad: "dead" };

const finding_columns: readonly Column<Finding>[] = [
    { name: "Health", kind: "fixed", plain: true, cell: (finding) => <Tag tone={health_tone[finding.health]}>{finding.health}</Tag> },
    { name: "Check", kind: "fixed", plain: true, cell: (finding) => finding.check },
    { name: "Finding", kind: "grow", plain: true, cell: (finding) => <span class="wrap">{finding.what}</span> },
];

function offset_text(seconds: number): string {
    if (Math.abs(seconds) < 0.001) return "the same as here";
    return `${span(Math.abs(seconds))} ${seconds < 0 ? "behind" : "ahead of"} this machine`;
}

function Details({ store }: { store: Store }) {
    const { value, error, reload } = use_load<{ findings: readonly Finding[] }>(`findings ${store.store}`, (stop) => get("stores/findings", store_param(store.store), stop));
    const line = (of: Store["outbox"]): string =>
        of.backlog ? `${brief(of.backlog.ready)} ready, ${brief(of.backlog.in_progress)} in progress, ${brief(of.backlog.retrying)} retrying, ${brief(of.backlog.dead)} dead` : "";
    return (
        <Panel title={`Store ${store.store}`} aside={<a href={href(["messages"], { store: store.store })}>Its messages</a>}>
            <div class="stack">
                <Pairs
                    rows={[
                        ["Outbox", line(store.outbox)],
                        ["Inbox", line(store.inbox)],
                        ["Delivery", store.hold ? `held: ${store.hold.why}; decide with postroom restore` : ""],
                        ["Schema", store.schema_version === undefined ? "" : `version ${store.schema_version}${store.schema_up_to_date === false ? ", not up to date: postroom migrate up" : ""}`],
                        ["Clock", store.clock_offset_seconds === undefined ? "" : offset_text(store.clock_offset_seconds)],
                    ]}
                />
                {error && <Problem text={error} again={reload} />}
                {value && <Table label={`Findings about ${store.store}`} columns={finding_columns} rows={value.findings} row_key={(finding) => `${finding.check} ${finding.what}`} />}
                <div>
                    <Command text={command_line("doctor", ...store_option(store.store))} />
                </div>
            </div>
        </Panel>
    );
}

export function Stores() {
    const params = route.value.params;
    const wanted = params.get("q") ?? "";
    const [limit, set_limit] = useState(tiles_at_once);
    const { value, error, reload } = use_load<{ stores: readonly Store[] }>("stores", (stop) => get("stores", {}, stop), refresh_seconds);
    const all = value?.stores ?? [];
    const only = all.length === 1 ? all[0]?.store : undefined;
    const open = params.get("open") ?? only;
    const shown = all.filter((store) => store.store.toLowerCase().includes(wanted.toLowerCase()));
    const sorted = [...shown].sort((a, b) => trouble(b) - trouble(a) || waiting(b) - waiting(a));
    const chosen = all.find((store) => store.store === open);
    return (
        <>
            {all.length > 1 && <FilterBox label="Filter stores" text={wanted} onFilter={(text) => set_params({ q: text || undefined })} />}
            {error && <Problem text={error} again={reload} />}
            {chosen && <Details key={chosen.store} store={chosen} />}
            {all.length > 1 && (
                <Panel title={`${plural(shown.length, "store")}${shown.length > 1 ? ", those in trouble first" : ""}`}>
                    {shown.length === 0 ? (
                        <Empty title="No store matches">Clear the filter to see them all.</Empty>
                    ) : (
                        <div class="tiles">
                            {sorted.slice(0, limit).map((store) => (
                                <Tile
                                    key={store.store}
                                    store={store}
                                    open={store.store === open}
                                    onOpen={() => set_params({ open: store.store === open ? undefined : store.store })}
                                />
                            ))}
                        </div>
                    )}
                    {shown.length > limit && (
                        <p class="row">
                            <button type="button" onClick={() => set_limit(limit + tiles_at_once)}>
                                Show {plural(Math.min(tiles_at_once, shown.length - limit), "more", "more")}
                            </button>
                        </p>
                    )}
                </Panel>
            )}
        </>
    );
}
