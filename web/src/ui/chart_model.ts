// From numbers to the shapes of a line chart, in a box of 1000 by 100.

export const box = { width: 1000, height: 100 };

type Values = readonly (number | null)[];

// Round steps from zero to a little above the largest value, four at most.
export function ticks(largest: number): readonly number[] {
    if (!(largest > 0)) return [0, 1];
    const rough = largest / 3;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
    const found = [0];
    while ((found.at(-1) ?? 0) < largest) found.push(found.length * step);
    return found;
}

export function x_of(time: number, first: number, last: number): number {
    return last > first ? ((time - first) / (last - first)) * box.width : box.width;
}

export function y_of(value: number, top: number): number {
    return box.height - (Math.max(0, value) / top) * box.height;
}

// Pieces of a line without its gaps, as lists of "x y".
function pieces(times: readonly number[], values: Values, top: number): readonly string[][] {
    const first = times[0] ?? 0;
    const last = times.at(-1) ?? 0;
    const found: string[][] = [[]];
    values.forEach((value, i) => {
        if (value === null) found.push([]);
        else found.at(-1)?.push(`${x_of(times[i] ?? 0, first, last).toFixed(1)} ${y_of(value, top).toFixed(2)}`);
    });
    return found.filter((piece) => piece.length > 1);
}

export function line_path(times: readonly number[], values: Values, top: number): string {
    return pieces(times, values, top)
        .map((piece) => `M${piece.join("L")}`)
        .join("");
}

// The area between the line and zero.
export function area_path(times: readonly number[], values: Values, top: number): string {
    return pieces(times, values, top)
        .map((piece) => {
            const end = (point: string | undefined): string => `${point?.split(" ")[0] ?? 0} ${box.height}`;
            return `M${end(piece[0])}L${piece.join("L")}L${end(piece.at(-1))}Z`;
        })
        .join("");
}

// Which of `times` is nearest to a share of the width, from 0 to 1.
export function nearest(times: readonly number[], share: number): number {
    const first = times[0] ?? 0;
    const wanted = first + share * ((times.at(-1) ?? 0) - first);
    let best = 0;
    times.forEach((time, i) => {
        if (Math.abs(time - wanted) < Math.abs((times[best] ?? 0) - wanted)) best = i;
    });
    return best;
}
