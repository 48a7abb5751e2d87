// Who is at work: every relay and dispatcher, also those of other processes and machines.
import { get } from "../api/client";
import { has_several_stores, store_param } from "../api/scope";
import { server_now } from "../api/live";
import type { Worker } from "../api/schema";
import { href } from "../base/route";
import { count, plural, rate, span } from "../base/words";
import { Age, CircuitTag, Empty, Panel, Problem, Tag } from "../ui/parts";
import { Table, type Column } from "../ui/table";
import { use_load } from "../ui/use_load";

const refresh_seconds = 3;
// A worker writes every five seconds.
const silent_after_seconds = 15;

function is_silent(worker: Worker): boolean {
    return server_now.value - Date.parse(worker.last_seen) > silent_after_seconds * 1000;
}

function Circuits({ worker }: { worker: Worker }) {
    const open = worker.circuits?.filter((circuit) => circuit.state !== "closed") ?? [];
    return (
        <>
            {open.map((circuit) => (
                <div key={circuit.destination} class="wrap">
                    <CircuitTag state={circuit.state} /> {circuit.destination} <span class="muted">{circuit.last_error}</span>
                </div>
            ))}
        </>
    );
}

const columns: readonly Column<Worker>[] = [
    {
        name: "Worker",
        plain: true,
        kind: "fixed",
        cell: (worker) => (
            <>
                <a
                    class="row-link"
                    title={worker.owner_token}
                    href={href([worker.queue === "inbox" ? "inbox" : "messages"], { ...store_param(worker.store), q: `owner_token:${worker.owner_token}` })}
                >
                    {worker.host}, process {worker.pid}
                </a>
                {worker.this_process && <span class="muted"> this one</span>}
            </>
        ),
    },
    { name: "Store", kind: "fixed", cell: (worker) => worker.store },
    { name: "Queue", kind: "fixed", cell: (worker) => worker.queue },
    { name: "Version", kind: "fixed", cell: (worker) => worker.version },
    { name: "Up for", kind: "fixed", cell: (worker) => span(Math.max(0, Math.floor((server_now.value - Date.parse(worker.started_at)) / 1000))) },
    {
        name: "Last seen",
        kind: "fixed",
        cell: (worker) => (is_silent(worker) ? <Tag tone="dead"><Age at={worker.last_seen} /></Tag> : <Age at={worker.last_seen} />),
    },
    { name: "In hand", kind: "number", cell: (worker) => count(worker.in_hand ?? 0) },
    { name: "Out /s", kind: "number", cell: (worker) => rate(worker.delivered_per_second ?? 0) },
    { name: "Failed /s", kind: "number", cell: (worker) => rate(worker.failed_per_second ?? 0) },
    { name: "Trouble", kind: "grow", plain: true, cell: (worker) => <Circuits worker={worker} /> },
];

export function Workers() {
    const { value, error, reload } = use_load<{ workers: readonly Worker[] }>("workers", (stop) => get("workers", {}, stop), refresh_seconds);
    return (
        <>
            {error && <Problem text={error} again={reload} />}
            {value && (
                <Panel flush title={plural(value.workers.length, "worker")}>
                    {value.workers.length === 0 ? (
                        <Empty title="Nobody is at work" command="postroom relay">
                            Messages wait until a relay or a dispatcher starts:
                        </Empty>
                    ) : (
                        <Table
                            label="Workers"
                            columns={columns.filter((column) => column.name !== "Store" || has_several_stores.value)}
                            rows={value.workers}
                            row_key={(worker) => `${worker.store} ${worker.owner_token} ${worker.queue}`}
                        />
                    )}
                </Panel>
            )}
        </>
    );
}
