// The picture of what flows, as numbers: columns of nodes, and links between them.
import type { Destination, Overview, StoreOverview, Topic } from "../api/schema";

export const node_height = 58;
export const node_gap = 10;
export const shown_at_most = { stores: 8, topics: 14, destinations: 10 };

export interface FlowLink {
    readonly from: number;
    readonly to: number;
    // Delivered a second.
    readonly rate: number;
    readonly state: "flowing" | "quiet" | "held" | "broken";
}

export interface Flow {
    readonly stores: readonly StoreOverview[];
    readonly topics: readonly Topic[];
    readonly destinations: readonly Destination[];
    // How many more there are than the picture shows.
    readonly more: { readonly stores: number; readonly topics: number; readonly destinations: number };
    readonly in_links: readonly FlowLink[];
    readonly out_links: readonly FlowLink[];
    readonly height: number;
}

function traffic(store: StoreOverview): number {
    return store.queues.reduce((all, queue) => all + queue.rates.delivered + (queue.backlog?.ready ?? 0) / 1e6, 0);
}

// Those that do not answer, then those of the topics that are shown, then the busiest.
function store_weight(store: StoreOverview, topics: readonly Topic[]): number {
    const rank = store.up ? (topics.some((topic) => topic.store === store.store) ? 1 : 0) : 2;
    return rank * 1e12 + traffic(store);
}

function busiest<T>(all: readonly T[], weight: (each: T) => number, most: number): readonly T[] {
    return all.length <= most ? all : [...all].sort((a, b) => weight(b) - weight(a)).slice(0, most);
}

function link_state(topic: Topic, destination: Destination | undefined): FlowLink["state"] {
    if (topic.paused) return "held";
    if (destination && destination.state !== "closed") return "broken";
    return topic.rates.delivered > 0 ? "flowing" : "quiet";
}

export function flow_of(overview: Overview): Flow {
    const busy = busiest(overview.topics, (topic) => topic.rates.delivered + topic.rates.failed, shown_at_most.topics);
    const stores = busiest(overview.stores, (store) => store_weight(store, busy), shown_at_most.stores);
    const destinations = busiest(
        overview.destinations,
        (each) => (each.state === "closed" ? 0 : 1),
        shown_at_most.destinations,
    );
    // Beside their destinations, so that few lines cross.
    const place = (topic: Topic): number => destinations.findIndex((each) => each.destination === topic.destination);
    const topics = [...busy].sort((a, b) => place(a) - place(b));
    const in_links: FlowLink[] = [];
    const out_links: FlowLink[] = [];
    topics.forEach((topic, at) => {
        const from = stores.findIndex((store) => store.store === topic.store);
        const to = place(topic);
        const state = link_state(topic, destinations[to]);
        const rate = topic.rates.delivered;
        if (from >= 0) in_links.push({ from, to: at, rate, state: state === "broken" ? "quiet" : state });
        if (to >= 0) out_links.push({ from: at, to, rate, state });
    });
    const rows = Math.max(stores.length, topics.length, destinations.length, 1);
    return {
        stores,
        topics,
        destinations,
        more: {
            stores: overview.stores.length - stores.length,
            topics: overview.topics.length - topics.length,
            destinations: overview.destinations.length - destinations.length,
        },
        in_links,
        out_links,
        height: rows * (node_height + node_gap) - node_gap,
    };
}

// The middle of a node, when its column of `nodes` stands in the middle of the picture.
export function node_middle(index: number, nodes: number, height: number): number {
    const used = nodes * (node_height + node_gap) - node_gap;
    return (height - used) / 2 + index * (node_height + node_gap) + node_height / 2;
}

// Twice as wide for ten times as much.
export function link_width(rate: number): number {
    return rate <= 0 ? 1.25 : Math.min(1.5 + Math.log10(1 + rate) * 2.2, 9);
}
