// What flows: stores on the left, topics in the middle, destinations on the right, and the wider the
// line the more is delivered. On narrow screens: one line of text for each topic.
import type { ComponentChildren } from "preact";
import { overview } from "../api/live";
import type { Destination, StoreOverview, Topic } from "../api/schema";
import { href } from "../base/route";
import { brief, plural, rate } from "../base/words";
import { flow_of, link_width, node_middle, type Flow, type FlowLink } from "../pages/flow_model";
import { Age, Empty, Lasting } from "./parts";

const circuit_tone = { closed: "done", open: "dead", probing: "retrying" } as const;

function Links({ links, left, right, height }: { links: readonly FlowLink[]; left: number; right: number; height: number }) {
    return (
        <svg class="flow-links" viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" height={height} aria-hidden="true">
            {links.map((each) => {
                const from = node_middle(each.from, left, height);
                const to = node_middle(each.to, right, height);
                return (
                    <path
                        key={`${each.from}-${each.to}`}
                        class={each.state}
                        d={`M0 ${from}C50 ${from} 50 ${to} 100 ${to}`}
                        stroke-width={link_width(each.rate)}
                    />
                );
            })}
        </svg>
    );
}

function StoreNode({ store }: { store: StoreOverview }) {
    const outbox = store.queues.find((queue) => queue.queue === "outbox") ?? store.queues[0];
    const waiting = outbox?.backlog ? outbox.backlog.ready + outbox.backlog.in_progress : undefined;
    return (
        <a class="node" href={href(["messages"], { store: store.store })}>
            <span class="node-name">
                <span class={`light tone-${store.up ? "done" : "dead"}`} />
                <span class="clip">{store.store}</span>
                <b>{outbox ? `${rate(outbox.rates.delivered)}/s` : ""}</b>
            </span>
            <span class="node-note clip">
                {!store.up ? <span class="toned tone-dead">{store.error ?? "does not answer"}</span> : waiting === undefined ? "not counted yet" : `${brief(waiting)} waiting`}
                {outbox?.backlog && outbox.backlog.dead > 0 && <span class="toned tone-dead"> · {brief(outbox.backlog.dead)} dead</span>}
            </span>
        </a>
    );
}

interface TopicNodeProps {
    readonly topic: Topic;
    readonly several: boolean;
    // Its name, for screens without lines.
    readonly destination: string | undefined;
}

function TopicNode({ topic, several, destination }: TopicNodeProps) {
    return (
        <a class="node" href={href(["messages"], { ...(several ? { store: topic.store } : {}), q: `topic:${topic.topic}` })}>
            <span class="node-name">
                <span class="clip" title={topic.topic}>
                    {topic.topic}
                </span>
                <span class="without-lines muted clip">{destination && `→ ${destination}`}</span>
                <b>{rate(topic.rates.delivered)}/s</b>
            </span>
            <span class="node-note clip">
                {topic.paused ? (
                    <span class="toned tone-retrying">paused{topic.paused_since && <> for <Lasting since={topic.paused_since} /></>}</span>
                ) : (
                    `${brief(topic.totals.delivered)} delivered`
                )}
                {topic.rates.failed > 0 && <span class="toned tone-retrying"> · {rate(topic.rates.failed)}/s failing</span>}
                {topic.totals.dead > 0 && <span class="toned tone-dead"> · {brief(topic.totals.dead)} dead</span>}
            </span>
        </a>
    );
}

function DestinationNode({ destination }: { destination: Destination }) {
    const name = destination.destination.replace(/^https?:\/\//, "");
    const tone = circuit_tone[destination.state];
    return (
        <a class="node" href={href(["destinations"])}>
            <span class="node-name">
                <span class={`light tone-${tone}`} />
                <span class="clip" title={destination.destination}>
                    {destination.sink ?? name}
                </span>
            </span>
            <span class="node-note clip">
                {destination.state === "closed" ? (
                    name
                ) : (
                    <span class={`toned tone-${tone}`}>
                        {destination.state === "open" ? "down" : "being tried"}
                        {destination.next_probe_at && destination.state === "open" && (
                            <>
                                {" · next probe "}
                                <Age at={destination.next_probe_at} />
                            </>
                        )}
                    </span>
                )}
            </span>
        </a>
    );
}

function Column({ title, more, page, children }: { title: string; more: number; page: string; children: ComponentChildren }) {
    return (
        <div class="flow-column">
            <h3>
                {title}
                {more > 0 && <a href={href([page])}> and {plural(more, "more", "more")}</a>}
            </h3>
            <div class="flow-nodes">{children}</div>
        </div>
    );
}

function Picture({ flow }: { flow: Flow }) {
    const { stores, topics, destinations, more, height } = flow;
    const several = stores.length + more.stores > 1;
    return (
        <div class="flow">
            <Column title="Stores" more={more.stores} page="stores">
                {stores.map((store) => (
                    <StoreNode key={store.store} store={store} />
                ))}
            </Column>
            <Links links={flow.in_links} left={stores.length} right={topics.length} height={height} />
            <Column title="Topics" more={more.topics} page="topics">
                {topics.map((topic) => (
                    <TopicNode
                        key={`${topic.store} ${topic.topic}`}
                        topic={topic}
                        several={several}
                        destination={destinations.find((each) => each.destination === topic.destination)?.sink ?? topic.destination}
                    />
                ))}
            </Column>
            <Links links={flow.out_links} left={topics.length} right={destinations.length} height={height} />
            <Column title="Destinations" more={more.destinations} page="destinations">
                {destinations.map((destination) => (
                    <DestinationNode key={destination.destination} destination={destination} />
                ))}
            </Column>
        </div>
    );
}

export function FlowPicture() {
    const known = overview.value;
    if (!known) return <Empty title="Waiting for the first figures" />;
    if (known.topics.length === 0)
        return (
            <Empty title="Nothing has been delivered yet" command={"postroom enqueue order.placed --payload '{\"order_id\": 17}'"}>
                Enqueue a message from your application, or by hand:
            </Empty>
        );
    return <Picture flow={flow_of(known)} />;
}
