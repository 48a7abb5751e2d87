// Dead messages by what they died of: one decision for each cause instead of one for each message.
import { get, why_not } from "../api/client";
import { store_name, store_option, store_param } from "../api/scope";
import type { Action as Verb, DeadLetterGroup, DeadLetters as Groups, Queue } from "../api/schema";
import { href, route } from "../base/route";
import { brief, count, plural, words_of } from "../base/words";
import { term_text } from "../search/filter";
import { bulk, verb_words } from "../ui/bulk_dialog";
import { Action } from "../ui/button";
import { Command, command_line } from "../ui/command";
import { Age, Empty, Note, Panel, Problem, Tag } from "../ui/parts";
import { use_load } from "../ui/use_load";

const refresh_seconds = 10;

function command(verb: string, group: DeadLetterGroup, queue: Queue): string {
    return command_line(verb, ...(queue === "inbox" ? ["--queue", queue] : []), "--fingerprint", group.fingerprint, ...store_option());
}

function ask(verb: Verb, group: DeadLetterGroup, queue: Queue): void {
    bulk.value = {
        verb,
        queue,
        store: store_param(),
        which: "died of this error",
        filter: { state: ["dead"], fingerprint: group.fingerprint },
        command: command(verb, group, queue),
    };
}

// Deaths by the hour as bars, oldest first, and in words.
function Trend({ hours }: { hours: readonly number[] }) {
    const top = Math.max(1, ...hours);
    const today = hours.reduce((all, each) => all + each, 0);
    return (
        <div class="trend">
            <svg viewBox={`0 0 ${hours.length} 10`} preserveAspectRatio="none" aria-hidden="true">
                {hours.map((deaths, hour) => {
                    const height = deaths === 0 ? 0.4 : Math.max(1.5, (deaths / top) * 10);
                    return <path key={hour} class={deaths === 0 ? "none" : ""} d={`M${hour + 0.1} 10v-${height}h.8v${height}z`} />;
                })}
            </svg>
            <span class="small muted">
                {today === 0 ? "None in 24 h" : `${brief(today)} in 24 h, ${brief(hours.at(-1) ?? 0)} in 1 h`}
            </span>
        </div>
    );
}

function Group({ group, queue }: { group: DeadLetterGroup; queue: Queue }) {
    const list = (terms: string): string => href([queue === "inbox" ? "inbox" : "messages"], { ...store_param(), q: terms });
    const story = (extra: Record<string, string> = {}): string =>
        href(["message", group.sample_id], { ...store_param(), ...(queue === "inbox" ? { queue } : {}), ...extra });
    return (
        <article class="panel group">
            <div class="group-count">
                <b>{count(group.count)}</b>
                <Trend hours={group.deaths_by_hour} />
            </div>
            <div class="group-text">
                <h2 class="wrap">{group.error || "No error was recorded."}</h2>
                {group.sample_error && group.sample_error !== group.error && <p class="error-line">Newest: {group.sample_error}</p>}
                <p class="row small">
                    {group.dead_reason && <Tag tone="dead">{words_of(group.dead_reason)}</Tag>}
                    {group.topics.slice(0, 5).map(({ topic, count: of }) => (
                        <a key={topic} class="chip" href={list(`${term_text("fingerprint", group.fingerprint)} ${term_text("topic", topic)}`)}>
                            {topic} <span class="muted">&nbsp;{count(of)}</span>
                        </a>
                    ))}
                    {group.topics.length > 5 && <span class="muted">and {plural(group.topics.length - 5, "topic")} more</span>}
                </p>
                <p class="small muted">
                    First created <Age at={group.first_created_at} />, last <Age at={group.last_created_at} />
                </p>
                <details class="commands">
                    <summary>Copy as command</summary>
                    <div class="stack">
                        {["redrive", "discard", "list"].map((verb) => (
                            <Command key={verb} text={command(verb, group, queue)} />
                        ))}
                    </div>
                </details>
            </div>
            <div class="group-actions">
                <Action why_not={why_not("operate")} onRun={() => ask("redrive", group, queue)}>
                    {verb_words.redrive.title}…
                </Action>
                <Action kind="danger" why_not={why_not("operate")} onRun={() => ask("discard", group, queue)}>
                    {verb_words.discard.title}…
                </Action>
                <a class="button row-link" href={story()}>
                    Look at one
                </a>
                <a class="button" href={list(term_text("fingerprint", group.fingerprint))}>
                    List them
                </a>
                {queue === "outbox" && (
                    <a class="button" href={story({ edit: "1" })}>
                        Edit and resend
                    </a>
                )}
            </div>
        </article>
    );
}

export function DeadLetters() {
    const queue: Queue = route.value.params.get("queue") === "inbox" ? "inbox" : "outbox";
    const { value, error, reload } = use_load<Groups>(
        `${store_name.value}|${queue}`,
        (stop) => get("dead-letters", { ...store_param(), queue }, stop),
        refresh_seconds,
    );
    const choice = (of: Queue, title: string) => (
        <a href={href(["dead"], { ...store_param(), queue: of })} aria-current={of === queue ? "true" : undefined}>
            {title}
        </a>
    );
    return (
        <>
            <div class="row spread">
                <nav class="segments" aria-label="Queue">
                    {choice("outbox", "Outbox")}
                    {choice("inbox", "Inbox")}
                </nav>
                {value && <span class="muted">{value.groups.length > 0 && `${plural(value.groups.length, "cause")}, ${plural(value.examined, "message")}`}</span>}
            </div>
            {error && <Problem text={error} again={reload} />}
            {value && !value.complete && (
                <Note tone="retrying">There are more dead messages than the newest {count(value.examined)} that were grouped here. An action reaches all of its group.</Note>
            )}
            {value?.groups.length === 0 && (
                <Panel title="Dead letters">
                    <Empty title="No dead letters" command={command_line("list", "--state", "dead", ...store_option())}>
                        Every message was delivered or still has attempts left. The same on the command line:
                    </Empty>
                </Panel>
            )}
            {value?.groups.map((group) => (
                <Group key={group.fingerprint} group={group} queue={queue} />
            ))}
        </>
    );
}
