// The first look: is something wrong, what flows, how fast, and how much waits.
import { get, post, reason_of, why_not } from "../api/client";
import { overview, series } from "../api/live";
import { store_param } from "../api/scope";
import type { Destination, MessagePage, Overview, Point, QueueOverview } from "../api/schema";
import { backlog_of } from "../api/series";
import { href } from "../base/route";
import { brief, count, plural, rate, span } from "../base/words";
import { Action } from "../ui/button";
import { Chart } from "../ui/chart";
import { FlowPicture } from "../ui/flow_picture";
import { Figure, Lasting, Note, Panel } from "../ui/parts";
import { tell } from "../ui/toast";
import { use_load } from "../ui/use_load";
import { end_to_end } from "./end_to_end";

const sample_size = 100;
const sample_seconds = 15;

export async function probe(destination: string): Promise<void> {
    try {
        const { circuits } = await post<{ circuits: number }>("destinations/probe", {}, { destination });
        tell(circuits === 0 ? "No circuit of this relay is open there." : `${plural(circuits, "circuit")} will be tried with the next message.`);
    } catch (error) {
        tell(reason_of(error), "dead");
    }
}

function Down({ destination }: { destination: Destination }) {
    return (
        <Note tone="dead">
            <span class="wrap">
                <strong>{destination.sink ?? destination.destination} {destination.since ? "has been" : "is"} down</strong>
                {destination.since && (
                    <>
                        {" for "}
                        <Lasting since={destination.since} />
                    </>
                )}
                {destination.last_error && `: ${destination.last_error}`}
                {". Its messages wait; no attempt is used up."}
            </span>
            <Action why_not={why_not("operate")} onRun={() => void probe(destination.destination)}>
                Probe now
            </Action>
        </Note>
    );
}

// What an operator should know first. Nothing when all is well.
function Attention({ known }: { known: Overview }) {
    const paused = known.topics.filter((topic) => topic.paused);
    return (
        <>
            {known.stores
                .filter((store) => !store.up)
                .slice(0, 5)
                .map((store) => (
                    <Note key={store.store} tone="dead">
                        <span>
                            <strong>Store {store.store} does not answer</strong>
                            {store.error && `: ${store.error}`}
                        </span>
                    </Note>
                ))}
            {known.destinations
                .filter((each) => each.state !== "closed")
                .map((each) => (
                    <Down key={each.destination} destination={each} />
                ))}
            {paused.length > 0 && (
                <Note tone="retrying">
                    <span>
                        <strong>{plural(paused.length, "topic")} paused:</strong> {paused.slice(0, 6).map((topic) => topic.topic).join(", ")}
                    </span>
                    <a href={href(["topics"])}>Topics</a>
                </Note>
            )}
        </>
    );
}

function queues_of(known: Overview): readonly QueueOverview[] {
    return known.stores.flatMap((store) => store.queues);
}

function total(known: Overview, of: (queue: QueueOverview) => number): number {
    return queues_of(known).reduce((all, queue) => all + of(queue), 0);
}

function arriving(known: Overview): number | undefined {
    const rates = queues_of(known).flatMap((queue) => queue.rates.arriving ?? []);
    return rates.length === 0 ? undefined : rates.reduce((all, each) => all + each, 0);
}

function oldest(known: Overview): number | undefined {
    const ages = queues_of(known).flatMap((queue) => queue.oldest_age_seconds ?? []);
    return ages.length === 0 ? undefined : Math.max(...ages);
}

// When everything that waits will be gone, at the pace of the moment.
function drained_in(known: Overview): { value: string; hint: string } {
    const waiting = backlog_of(known);
    if (waiting === undefined) return { value: "–", hint: "not counted yet" };
    if (waiting === 0) return { value: "–", hint: "nothing waits" };
    const times = queues_of(known).flatMap((queue) => queue.drained_in_seconds ?? []);
    return times.length === 0 ? { value: "–", hint: "does not shrink" } : { value: span(Math.max(...times)), hint: "at this pace" };
}

function busiest_store(known: Overview): string {
    const delivered = (store: Overview["stores"][number]): number => store.queues.reduce((all, queue) => all + queue.totals.delivered, 0);
    return known.stores.reduce((best, store) => (delivered(store) > delivered(best) ? store : best)).store;
}

// Of the newest delivered messages, in the store that delivered most.
function EndToEndFigure({ known }: { known: Overview }) {
    const store = busiest_store(known);
    const { value } = use_load<MessagePage>(
        store,
        (stop) => get("messages", { ...store_param(store), queue: "outbox", state: "done", limit: String(sample_size) }, stop),
        sample_seconds,
    );
    const taken = end_to_end(value?.messages ?? []);
    return <Figure name="End to end" value={taken ? span(taken.p50) : "–"} unit={taken ? "p50" : ""} hint={taken ? `p99 ${span(taken.p99)}` : "none delivered"} />;
}

function Figures({ known }: { known: Overview }) {
    const coming = arriving(known);
    const age = oldest(known);
    const drain = drained_in(known);
    const dead = total(known, (queue) => queue.backlog?.dead ?? 0);
    const retrying = total(known, (queue) => queue.backlog?.retrying ?? 0);
    const estimated = queues_of(known).some((queue) => queue.backlog?.estimated);
    const about = estimated ? "about " : "";
    return (
        <div class="figures">
            <Figure name="In" value={coming === undefined ? "–" : rate(coming)} unit="/s" hint="last minute" />
            <Figure name="Out" value={rate(total(known, (queue) => queue.rates.delivered))} unit="/s" hint={`${brief(total(known, (queue) => queue.totals.delivered))} since start`} />
            <Figure
                name="Waiting"
                value={backlog_of(known) === undefined ? "–" : `${about}${brief(total(known, (queue) => queue.backlog?.ready ?? 0))}`}
                hint={`${count(total(known, (queue) => queue.backlog?.in_progress ?? 0))} in progress`}
                to={href(["messages"], { q: "state:ready" })}
            />
            <Figure name="Retrying" value={brief(retrying)} tone={retrying > 0 ? "retrying" : undefined} hint="of those waiting" to={href(["messages"], { q: "put_off:yes" })} />
            <Figure name="Dead" value={brief(dead)} tone={dead > 0 ? "dead" : undefined} hint={dead > 0 ? "see why" : "none"} to={href(["dead"])} />
            <Figure name="Oldest waiting" value={age === undefined ? "–" : span(age)} hint={age === undefined ? "nothing waits" : "since its creation"} />
            <Figure name="Drained in" value={drain.value} hint={drain.hint} />
            {known.stores.length > 0 && <EndToEndFigure known={known} />}
            <Figure name="Duplicates" value={brief(total(known, (queue) => queue.totals.duplicates ?? 0))} hint="dropped" to={href(["inbox"])} />
        </div>
    );
}

// What came in during a point: what went out, and what the backlog grew by.
function arrivals(points: readonly Point[]): (number | null)[] {
    return points.map((point, i) => {
        const before = points[i - 1];
        if (before?.backlog === undefined || point.backlog === undefined) return null;
        const seconds = (Date.parse(point.at) - Date.parse(before.at)) / 1000;
        return seconds > 0 ? Math.max(0, (point.backlog - before.backlog) / seconds + point.delivered + point.dead) : null;
    });
}

function Charts() {
    const points = series.value;
    const times = points.map((point) => Date.parse(point.at) / 1000);
    return (
        <div class="columns">
            <Panel title="In and out per second">
                <Chart
                    label="Messages per second"
                    times={times}
                    format={rate}
                    lines={[
                        { name: "in", tone: "ready", values: arrivals(points) },
                        { name: "out", tone: "done", values: points.map((point) => point.delivered), filled: true },
                        { name: "failed", tone: "retrying", values: points.map((point) => point.failed) },
                        { name: "dead", tone: "dead", values: points.map((point) => point.dead) },
                    ]}
                />
            </Panel>
            <Panel title="Waiting and in progress">
                <Chart
                    label="Backlog"
                    times={times}
                    format={brief}
                    lines={[{ name: "backlog", tone: "ready", values: points.map((point) => point.backlog ?? null), filled: true }]}
                />
            </Panel>
            <Panel title="Delivery time">
                <Chart
                    label="Delivery time"
                    times={times}
                    format={span}
                    lines={[
                        { name: "p50", tone: "done", values: points.map((point) => point.p50_seconds ?? null) },
                        { name: "p99", tone: "in_progress", values: points.map((point) => point.p99_seconds ?? null) },
                    ]}
                />
            </Panel>
        </div>
    );
}

export function OverviewPage() {
    const known = overview.value;
    return (
        <>
            {known && <Attention known={known} />}
            {known && <Figures known={known} />}
            <Panel title="What flows">
                <FlowPicture />
            </Panel>
            <Charts />
        </>
    );
}
