// Lines over the last minutes. Drawn as SVG by ourselves: a hundred points need no chart library, whose
// size would be a third of the page, and the style sheet gives it the colours of the theme.
import { useState } from "preact/hooks";
import { area_path, box, line_path, nearest, ticks, x_of, y_of } from "./chart_model";

export interface Line {
    readonly name: string;
    // One of the tones of the style sheet.
    readonly tone: string;
    readonly values: readonly (number | null)[];
    readonly filled?: boolean;
}

interface ChartProps {
    readonly label: string;
    // Seconds since 1970.
    readonly times: readonly number[];
    readonly lines: readonly Line[];
    readonly format: (value: number) => string;
}

function clock(seconds: number | undefined): string {
    if (seconds === undefined) return "";
    return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

function Plot({ times, lines, top, steps, hovered }: { times: readonly number[]; lines: readonly Line[]; top: number; steps: readonly number[]; hovered: number | null }) {
    const at = hovered === null ? undefined : x_of(times[hovered] ?? 0, times[0] ?? 0, times.at(-1) ?? 0);
    return (
        <svg viewBox={`0 0 ${box.width} ${box.height}`} preserveAspectRatio="none" aria-hidden="true">
            {steps.map((step) => (
                <path key={step} class="grid" d={`M0 ${y_of(step, top)}H${box.width}`} />
            ))}
            {lines.map((line) => (
                <g key={line.name} class={`tone-${line.tone}`}>
                    {line.filled && <path class="area" d={area_path(times, line.values, top)} />}
                    <path class="line" d={line_path(times, line.values, top)} />
                </g>
            ))}
            {at !== undefined && <path class="cursor" d={`M${at} 0V${box.height}`} />}
        </svg>
    );
}

export function Chart({ label, times, lines, format }: ChartProps) {
    const [hovered, hover] = useState<number | null>(null);
    const steps = ticks(Math.max(0, ...lines.flatMap((line) => line.values.map((value) => value ?? 0))));
    const top = steps.at(-1) ?? 1;
    const value_of = (line: Line): string => {
        const value = hovered === null ? line.values.findLast((each) => each !== null) : line.values[hovered];
        return value === null || value === undefined ? "–" : format(value);
    };
    const legend = lines.map((line) => ({ ...line, value: value_of(line) }));
    const moved = (event: PointerEvent & { currentTarget: HTMLElement }): void => {
        const area = event.currentTarget.getBoundingClientRect();
        hover(times.length > 1 ? nearest(times, (event.clientX - area.left) / area.width) : null);
    };
    return (
        <div class="chart">
            <div class="plot" role="img" aria-label={`${label}: ${legend.map((each) => `${each.name} ${each.value}`).join(", ")}`}>
                <div class="y-axis" aria-hidden="true">
                    {[...steps].reverse().map((step) => (
                        <span key={step}>{format(step)}</span>
                    ))}
                </div>
                <div class="area-box" onPointerMove={moved} onPointerLeave={() => hover(null)}>
                    {times.length > 1 ? <Plot times={times} lines={lines} top={top} steps={steps} hovered={hovered} /> : <span class="muted small">The first points appear within ten seconds.</span>}
                </div>
            </div>
            <div class="legend" aria-hidden="true">
                {legend.map((each) => (
                    <span key={each.name} class={`tone-${each.tone}`}>
                        <i class="key" />
                        {each.name} <b>{each.value}</b>
                    </span>
                ))}
                <span class="clock">{hovered === null ? times.length > 1 && `${clock(times[0])} to ${clock(times.at(-1))}` : clock(times[hovered])}</span>
            </div>
        </div>
    );
}
