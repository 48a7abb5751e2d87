// Numbers, times and sizes as people read them.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

type Countable = number | { toString(): string };

// 1234567 -> "1,234,567"; also for numbers that a double cannot hold.
export function count(value: Countable): string {
    if (typeof value === "number") return grouped.format(value);
    return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

// For narrow places: 1234567 -> "1.2M".
export function brief(value: number): string {
    return value < 10_000 ? grouped.format(value) : short.format(value);
}

// Events a second: "0", "0.4", "12", "3.1K".
export function rate(per_second: number): string {
    if (per_second <= 0) return "0";
    if (per_second < 0.1) return "<0.1";
    if (per_second < 10) return per_second.toFixed(1).replace(/\.0$/, "");
    return brief(Math.round(per_second));
}

export function plural(value: Countable, one: string, many = one + "s"): string {
    return `${count(value)} ${String(value) === "1" ? one : many}`;
}

export function bytes(size: number): string {
    if (size < 1024) return `${count(size)} B`;
    for (const [unit, scale] of [["KiB", 1024], ["MiB", 1024 ** 2], ["GiB", 1024 ** 3]] as const)
        if (size < scale * 1024) return `${(size / scale).toFixed(size < scale * 10 ? 1 : 0)} ${unit}`;
    return `${count(size / 1024 ** 3)} GiB`;
}

const units: readonly (readonly [string, number])[] = [
    ["d", 86_400],
    ["h", 3_600],
    ["min", 60],
    ["s", 1],
];

// The two largest units: "2 d 3 h", "4 min 10 s", "850 ms". A span below zero keeps its sign.
export function span(seconds: number): string {
    if (seconds < 0) return "−" + span(-seconds);
    if (seconds < 0.001) return seconds === 0 ? "0 s" : "<1 ms";
    if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
    if (seconds < 10) return `${seconds.toFixed(1).replace(/\.0$/, "")} s`;
    let rest = Math.round(seconds);
    const words: string[] = [];
    for (const [unit, size] of units) {
        const whole = Math.floor(rest / size);
        if (whole === 0 && words.length === 0) continue;
        rest -= whole * size;
        if (whole > 0) words.push(`${whole} ${unit}`);
        if (words.length === 2 || unit === "min") {
            if (words.length < 2 && unit === "min" && rest > 0) words.push(`${rest} s`);
            break;
        }
    }
    return words.slice(0, 2).join(" ");
}

// "3 min ago", "in 20 s", "now". Clocks differ: a moment slightly in the future is now.
export function distance(at: number, now: number): string {
    const seconds = (now - at) / 1000;
    if (Math.abs(seconds) < 1) return "now";
    return seconds > 0 ? `${span(Math.floor(seconds))} ago` : `in ${span(Math.floor(-seconds))}`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const day_and_year = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

// In the reader's time zone: "14:07:20", or "17 Nov 14:07:20" when it is another day.
export function moment(iso: string, now = Date.now()): string {
    const at = new Date(iso);
    if (Number.isNaN(at.getTime())) return iso;
    const today = new Date(now);
    if (at.toDateString() === today.toDateString()) return clock.format(at);
    const date = at.getFullYear() === today.getFullYear() ? day : day_and_year;
    return `${date.format(at)}, ${clock.format(at)}`;
}

export function sentence_case(text: string): string {
    return text.charAt(0).toUpperCase() + text.slice(1);
}

// "in_progress" -> "in progress".
export function words_of(name: string): string {
    return name.replaceAll("_", " ");
}
