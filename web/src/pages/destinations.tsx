// Destinations: is each of them there, since when not, and why.
import { get, why_not } from "../api/client";
import { overview } from "../api/live";
import type { Circuit, Destination } from "../api/schema";
import { plural, rate, span } from "../base/words";
import { Action } from "../ui/button";
import { Age, CircuitTag, Empty, Lasting, Panel, Problem } from "../ui/parts";
import { Table, type Column } from "../ui/table";
import { use_load } from "../ui/use_load";
import { probe } from "./overview";

const refresh_seconds = 2;

const circuit_columns: readonly Column<Circuit>[] = [
    { name: "Worker", kind: "fixed", cell: (circuit) => circuit.host ?? circuit.worker },
    { name: "Store", kind: "fixed", cell: (circuit) => circuit.store },
    { name: "Circuit", kind: "fixed", plain: true, cell: (circuit) => <CircuitTag state={circuit.state} /> },
    { name: "Since", kind: "fixed", cell: (circuit) => circuit.since && <Age at={circuit.since} /> },
    { name: "Next probe", kind: "fixed", cell: (circuit) => circuit.next_probe_at && <Age at={circuit.next_probe_at} /> },
    { name: "Last error", kind: "grow", plain: true, cell: (circuit) => circuit.last_error && <span class="error-line">{circuit.last_error}</span> },
];

// What goes there now, of all topics and stores, and how long a delivery takes.
function Flow({ destination: { destination, latency } }: { destination: Destination }) {
    const topics = overview.value?.topics.filter((topic) => topic.destination === destination) ?? [];
    const sum = (what: "delivered" | "failed"): string => rate(topics.reduce((all, topic) => all + topic.rates[what], 0));
    return (
        <>
            <span class="muted">
                {sum("delivered")}/s out, {sum("failed")}/s failed
            </span>
            {latency && (
                <span class="muted" title="Of the deliveries of this relay that went well in the last minute: half took no longer than p50, 99 of 100 no longer than p99.">
                    p50 {span(latency.p50_seconds)}, p99 {span(latency.p99_seconds)}
                </span>
            )}
        </>
    );
}

function Place({ destination, reload }: { destination: Destination; reload: () => void }) {
    const reason = destination.state === "closed" ? "It is being delivered to; there is nothing to probe." : why_not("operate");
    return (
        <section class="panel">
            <header>
                <CircuitTag state={destination.state} />
                <h2 class="wrap">{destination.sink ?? destination.destination}</h2>
                <Flow destination={destination} />
                {destination.next_probe_at && destination.state === "open" && (
                    <span class="muted">
                        Next probe <Age at={destination.next_probe_at} />
                    </span>
                )}
                <Action why_not={reason} onRun={() => void probe(destination.destination).then(reload)}>
                    Probe now
                </Action>
            </header>
            <div class="body">
                <p class="mono wrap">{destination.destination}</p>
                {destination.topics && destination.topics.length > 0 && <p class="muted wrap">Topics: {destination.topics.join(", ")}</p>}
                {destination.state !== "closed" && (
                    <p class="wrap">
                        {destination.since && (
                            <>
                                Down for <Lasting since={destination.since} />
                                {": "}
                            </>
                        )}
                        <span class="toned tone-dead">{destination.last_error}</span>
                    </p>
                )}
            </div>
            {destination.circuits.length > 0 && (
                <Table
                    label={`Circuits to ${destination.destination}`}
                    columns={circuit_columns}
                    rows={destination.circuits}
                    row_key={(circuit) => `${circuit.store ?? ""} ${circuit.worker ?? ""}`}
                />
            )}
        </section>
    );
}

export function Destinations() {
    const { value, error, reload } = use_load<{ destinations: readonly Destination[] }>("destinations", (stop) => get("destinations", {}, stop), refresh_seconds);
    const down = value?.destinations.filter((each) => each.state !== "closed").length ?? 0;
    return (
        <>
            {error && <Problem text={error} again={reload} />}
            {value && value.destinations.length > 0 && (
                <p class="muted">
                    {plural(value.destinations.length, "destination")}, {down === 0 ? "all delivering" : `${down} down`}. While one is down its messages wait and use up no attempt.
                </p>
            )}
            {value?.destinations.length === 0 && (
                <Panel title="Destinations">
                    <Empty title="No destinations" command="postroom config check">
                        Routes in postroom.toml say where topics go; without one, messages are printed by the relay.
                    </Empty>
                </Panel>
            )}
            {value?.destinations.map((each) => (
                <Place key={each.destination} destination={each} reload={reload} />
            ))}
        </>
    );
}
