// What was changed or revealed, by whom; and the operations that are running.
import { get, post, reason_of, why_not } from "../api/client";
import { operations } from "../api/live";
import { store_name, store_param } from "../api/scope";
import type { AuditEntry, Operation } from "../api/schema";
import { href, route } from "../base/route";
import { count } from "../base/words";
import { verb_words } from "../ui/bulk_dialog";
import { Action } from "../ui/button";
import { Age, Empty, Moment, Panel, Problem, Tag, type Tone } from "../ui/parts";
import { Table, type Column } from "../ui/table";
import { tell } from "../ui/toast";
import { use_load } from "../ui/use_load";

const page_size = 100;
const operations_shown = 8;

const status_tone: Record<Operation["status"], Tone> = { running: "in_progress", finished: "done", cancelled: "idle", failed: "dead" };

async function cancel(operation: Operation): Promise<void> {
    try {
        await post(`operations/${encodeURIComponent(operation.id)}/cancel`, {}, {});
        tell("It will stop after the batch that is under way.");
    } catch (error) {
        tell(reason_of(error), "dead");
    }
}

const operation_columns: readonly Column<Operation>[] = [
    { name: "Status", kind: "fixed", plain: true, cell: (operation) => <Tag tone={status_tone[operation.status]}>{operation.status}</Tag> },
    { name: "Action", kind: "fixed", plain: true, cell: (operation) => verb_words[operation.action].title },
    { name: "What", kind: "grow", plain: true, cell: (operation) => <span class="wrap">{operation.error ?? operation.what}</span> },
    { name: "By", kind: "fixed", cell: (operation) => operation.by },
    { name: "Started", kind: "fixed", cell: (operation) => <Age at={operation.started_at} /> },
    {
        name: "Progress",
        kind: "fixed",
        plain: true,
        cell: (operation) => (
            <>
                {count(operation.changed)} of {count(operation.matched)}
                <progress aria-label="Progress" max={Math.max(operation.matched, 1)} value={operation.changed} />
            </>
        ),
    },
    {
        name: "Cancel",
        silent: true,
        cell: (operation) =>
            operation.status === "running" && (
                <Action why_not={why_not("operate")} onRun={() => void cancel(operation)}>
                    Cancel
                </Action>
            ),
    },
];

function Operations() {
    const newest = [...operations.value.values()].sort((a, b) => b.started_at.localeCompare(a.started_at)).slice(0, operations_shown);
    if (newest.length === 0) return null;
    return (
        <Panel flush title="Operations on many messages">
            <Table label="Operations" columns={operation_columns} rows={newest} row_key={(operation) => operation.id} />
        </Panel>
    );
}

const entry_columns: readonly Column<AuditEntry>[] = [
    { name: "When", kind: "fixed", plain: true, cell: (entry) => <Moment at={entry.at} /> },
    { name: "Who", kind: "fixed", cell: (entry) => entry.who },
    { name: "What", kind: "fixed", plain: true, cell: (entry) => <Tag tone={entry.what === "discard" ? "dead" : entry.what === "reveal" ? "retrying" : "ready"}>{entry.what}</Tag> },
    { name: "Target", kind: "grow", plain: true, cell: (entry) => <span class="wrap">{entry.target}</span> },
    { name: "Messages", kind: "number", cell: (entry) => entry.count !== undefined && count(entry.count) },
    { name: "Outcome", kind: "fixed", plain: true, cell: (entry) => entry.outcome },
];

interface Entries {
    readonly entries: readonly AuditEntry[];
    readonly next_cursor?: string;
}

export function Audit() {
    const cursor = route.value.params.get("cursor") ?? undefined;
    const reason = why_not("operate");
    const { value, error, reload } = use_load<Entries>(`${store_name.value}|${cursor ?? ""}|${reason ?? ""}`, (stop) =>
        reason ? Promise.resolve({ entries: [] }) : get("audit", { ...store_param(), cursor, limit: String(page_size) }, stop),
    );
    const here = Object.fromEntries(route.value.params);
    return (
        <>
            <Operations />
            {error && <Problem text={error} again={reload} />}
            {value && (
                <Panel
                    flush
                    title="Changes and reveals, newest first"
                    aside={
                        <span class="row">
                            {cursor !== undefined && <a class="button" href={href(["audit"], { ...here, cursor: undefined })}>Newest</a>}
                            {value.next_cursor !== undefined && <a class="button" href={href(["audit"], { ...here, cursor: value.next_cursor })}>Older</a>}
                        </span>
                    }
                >
                    {value.entries.length === 0 ? (
                        <Empty title={reason ? "Not for your role" : "Nothing was changed yet"}>{reason ?? "Redrives, discards, pauses and reveals are written down here."}</Empty>
                    ) : (
                        <Table label="Audit log" columns={entry_columns} rows={value.entries} row_key={(entry) => `${entry.id ?? ""} ${entry.at} ${entry.what}`} />
                    )}
                </Panel>
            )}
        </>
    );
}
