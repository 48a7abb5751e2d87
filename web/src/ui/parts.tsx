// Small pieces of which every page is made.
import type { ComponentChildren } from "preact";
import { server_now } from "../api/live";
import type { Message } from "../api/schema";
import { distance, moment, span, words_of } from "../base/words";
import { Command } from "./command";

export type Tone = "ready" | "in_progress" | "retrying" | "dead" | "done" | "idle";

interface PanelProps {
    readonly title: ComponentChildren;
    readonly aside?: ComponentChildren;
    readonly flush?: boolean;
    readonly children: ComponentChildren;
}

export function Panel({ title, aside, flush, children }: PanelProps) {
    return (
        <section class="panel">
            <header>
                <h2>{title}</h2>
                {aside}
            </header>
            <div class={flush ? "body flush" : "body"}>{children}</div>
        </section>
    );
}

interface FigureProps {
    readonly name: string;
    readonly value: ComponentChildren;
    readonly unit?: string;
    readonly hint?: ComponentChildren;
    readonly tone?: Tone | undefined;
    readonly to?: string;
}

// One number that matters. With `to` it leads to what it counts.
export function Figure({ name, value, unit, hint, tone, to }: FigureProps) {
    const inner = (
        <>
            <div class="name">{name}</div>
            <div class="value">
                {value}
                {unit && <span class="unit"> {unit}</span>}
            </div>
            <div class="hint">{hint ?? "\u00a0"}</div>
        </>
    );
    const style = `figure${tone ? ` tone-${tone}` : ""}`;
    return to ? (
        <a class={style} href={to}>
            {inner}
        </a>
    ) : (
        <div class={style}>{inner}</div>
    );
}

export function Tag({ tone, children, light }: { tone: Tone; children: ComponentChildren; light?: boolean }) {
    return (
        <span class={`tag tone-${tone}`}>
            {light && <span class="light" />}
            {children}
        </span>
    );
}

export function StateTag({ message }: { message: Message }) {
    if (message.discarded) return <Tag tone="idle">discarded</Tag>;
    if (message.state === "ready" && message.paused) return <Tag tone="idle">paused</Tag>;
    if (message.state === "ready" && message.retry_count > 0) return <Tag tone="retrying">retrying</Tag>;
    return <Tag tone={message.state === "seen" ? "idle" : message.state}>{words_of(message.state)}</Tag>;
}

const circuit_words = {
    closed: ["done", "delivering"],
    open: ["dead", "down"],
    probing: ["retrying", "being tried"],
} as const;

export function CircuitTag({ state }: { state: keyof typeof circuit_words }) {
    const [tone, word] = circuit_words[state];
    return (
        <Tag tone={tone} light>
            {word}
        </Tag>
    );
}

// How long ago, or how long until; the exact time on hover. Follows the server's clock.
export function Age({ at }: { at: string }) {
    return (
        <time dateTime={at} title={at}>
            {distance(Date.parse(at), server_now.value)}
        </time>
    );
}

// How long something lasts already: "3 min 4 s".
export function Lasting({ since }: { since: string }) {
    const seconds = Math.max(0, Math.floor((server_now.value - Date.parse(since)) / 1000));
    return (
        <time dateTime={since} title={since}>
            {span(seconds)}
        </time>
    );
}

export function Moment({ at }: { at: string }) {
    return (
        <time dateTime={at} title={at}>
            {moment(at, server_now.value)}
        </time>
    );
}

interface EmptyProps {
    readonly title: string;
    readonly command?: string;
    readonly children?: ComponentChildren;
}

// Nothing is here, and what to do about it.
export function Empty({ title, command, children }: EmptyProps) {
    return (
        <div class="empty">
            <h2>{title}</h2>
            <p>{children}</p>
            {command && <Command text={command} />}
        </div>
    );
}

export function Note({ tone, children }: { tone: Tone; children: ComponentChildren }) {
    return <div class={`note tone-${tone}`}>{children}</div>;
}

export function Problem({ text, again }: { text: string; again?: () => void }) {
    return (
        <div class="note tone-dead" role="alert">
            <strong>This could not be read.</strong> <span>{text}</span>
            {again && (
                <button type="button" onClick={again}>
                    Try again
                </button>
            )}
        </div>
    );
}

export function Pairs({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
    return (
        <dl class="pairs">
            {rows
                .filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false)
                .map(([name, value]) => (
                    <>
                        <dt>{name}</dt>
                        <dd>{value}</dd>
                    </>
                ))}
        </dl>
    );
}
