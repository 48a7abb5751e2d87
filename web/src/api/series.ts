// The figures over time, continued on this side: the stream carries totals, a point is their growth.
import type { Overview, Point, Totals } from "./schema";

const point_seconds = 5;
const points_kept = 120;

interface Sample {
    readonly at: number;
    readonly delivered: number;
    readonly failed: number;
    readonly dead: number;
}

// Where the last point ended.
let begun: Sample | undefined;

function sum(overview: Overview, what: (totals: Totals) => number): number {
    return overview.stores.flatMap((store) => store.queues).reduce((all, queue) => all + what(queue.totals), 0);
}

function sample_of(overview: Overview): Sample {
    return {
        at: Date.parse(overview.at),
        delivered: sum(overview, (totals) => totals.delivered),
        failed: sum(overview, (totals) => totals.failed),
        dead: sum(overview, (totals) => totals.dead),
    };
}

// Messages that wait or are being delivered; undefined until the server has counted.
export function backlog_of(overview: Overview): number | undefined {
    const counted = overview.stores.flatMap((store) => store.queues.flatMap((queue) => queue.backlog ?? []));
    if (counted.length === 0) return undefined;
    return counted.reduce((all, backlog) => all + backlog.ready + backlog.in_progress, 0);
}

// The slowest queue speaks for all.
function latency_of(overview: Overview): { p50: number; p99: number } | undefined {
    const known = overview.stores.flatMap((store) => store.queues.flatMap((queue) => queue.latency ?? []));
    if (known.length === 0) return undefined;
    return {
        p50: Math.max(...known.map((latency) => latency.p50_seconds)),
        p99: Math.max(...known.map((latency) => latency.p99_seconds)),
    };
}

export function append_point(points: readonly Point[], previous: Overview | null, next: Overview): readonly Point[] {
    const sample = sample_of(next);
    if (!begun || previous?.started_at !== next.started_at || sample.delivered < begun.delivered) begun = sample;
    const seconds = (sample.at - begun.at) / 1000;
    if (seconds < point_seconds) return points;
    const backlog = backlog_of(next);
    const latency = latency_of(next);
    const point: Point = {
        at: next.at,
        delivered: (sample.delivered - begun.delivered) / seconds,
        failed: (sample.failed - begun.failed) / seconds,
        dead: (sample.dead - begun.dead) / seconds,
        ...(backlog === undefined ? {} : { backlog }),
        ...(latency ? { p50_seconds: latency.p50, p99_seconds: latency.p99 } : {}),
    };
    begun = sample;
    return [...points, point].slice(-points_kept);
}
