// What was received: how often it came twice, from where, and every message.
import { get } from "../api/client";
import { overview } from "../api/live";
import { has_several_stores, store_name, store_param } from "../api/scope";
import type { Source } from "../api/schema";
import { href } from "../base/route";
import { brief, count, plural, rate } from "../base/words";
import { term_text } from "../search/filter";
import { MessageList } from "../ui/message_list";
import { Figure, Panel, Problem } from "../ui/parts";
import { Table, type Column } from "../ui/table";
import { use_load } from "../ui/use_load";

const refresh_seconds = 3;

interface Repeats {
    readonly sources: readonly Source[];
    readonly processes: number;
}

const columns: readonly Column<Source>[] = [
    {
        name: "Source",
        kind: "grow",
        plain: true,
        cell: ({ source }) =>
            source ? (
                <a class="row-link" title={source} href={href(["inbox"], { ...store_param(), q: term_text("source", source) })}>
                    {source}
                </a>
            ) : (
                <span class="muted">all others</span>
            ),
    },
    { name: "Duplicates", kind: "number", cell: (source) => count(source.duplicates) },
    {
        name: "Hash mismatches",
        kind: "number",
        cell: ({ hash_mismatches }) => (hash_mismatches > 0 ? <span class="toned tone-dead">{count(hash_mismatches)}</span> : "0"),
    },
];

function BySource({ repeats }: { repeats: Repeats }) {
    if (repeats.sources.length === 0) return null;
    return (
        <Panel flush title="Received again, by source" aside={<span class="muted">counted by {plural(repeats.processes, "process", "processes")} since the start</span>}>
            <Table label="Sources" columns={columns} rows={repeats.sources} row_key={({ store, source }) => `${store} ${source}`} />
        </Panel>
    );
}

function Figures({ repeats }: { repeats: Repeats | undefined }) {
    const stores = overview.value?.stores.filter((each) => !has_several_stores.value || each.store === store_name.value) ?? [];
    const inbox = stores.flatMap((store) => store.queues).find((queue) => queue.queue === "inbox");
    if (!inbox) return null;
    const { backlog, rates, totals } = inbox;
    const sum = (what: "duplicates" | "hash_mismatches"): number => repeats?.sources.reduce((all, each) => all + each[what], 0) ?? 0;
    const mismatches = sum("hash_mismatches");
    return (
        <div class="figures">
            <Figure name="Handled" value={rate(rates.delivered)} unit="/s" hint={`${brief(totals.delivered)} since start`} />
            <Figure name="Duplicates" value={repeats ? brief(sum("duplicates")) : "–"} hint="recognized and dropped" />
            <Figure name="Hash mismatches" value={repeats ? brief(mismatches) : "–"} tone={mismatches > 0 ? "dead" : undefined} hint="same id, other content" />
            <Figure name="Processing" value={backlog ? brief(backlog.ready + backlog.in_progress) : "–"} hint={backlog ? `${brief(backlog.retrying)} retrying` : undefined} />
            <Figure name="Only seen" value={backlog ? brief(backlog.seen) : "–"} hint="not handed over yet" to={href(["inbox"], { q: "state:seen" })} />
            <Figure name="Dead" value={backlog ? brief(backlog.dead) : "–"} tone={backlog && backlog.dead > 0 ? "dead" : undefined} to={href(["inbox"], { q: "state:dead" })} />
        </div>
    );
}

export function Inbox() {
    const store = store_param();
    const { value, error, reload } = use_load<Repeats>(`sources ${store.store ?? ""}`, (stop) => get("inbox/sources", store, stop), refresh_seconds);
    return (
        <>
            {error && <Problem text={error} again={reload} />}
            <Figures repeats={value} />
            {value && <BySource repeats={value} />}
            <MessageList queue="inbox" />
        </>
    );
}
