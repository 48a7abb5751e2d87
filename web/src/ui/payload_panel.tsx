// The payload: hidden until somebody asks for it, which the audit log notes.
import { useState } from "preact/hooks";
import { get, reason_of, why_not } from "../api/client";
import type { Payload } from "../api/schema";
import { indent_json } from "../base/indent_json";
import { bytes } from "../base/words";
import type { Where } from "../pages/message_story";
import { Action } from "./button";
import { CopyButton } from "./command";
import { Panel, Problem } from "./parts";

// Lines of 16 bytes, in hexadecimal and as text.
export function hex_lines(base64: string, most = 4096): string {
    const raw = atob(base64).slice(0, most);
    const lines: string[] = [];
    for (let at = 0; at < raw.length; at += 16) {
        const part = [...raw.slice(at, at + 16)];
        const hex = part.map((each) => each.charCodeAt(0).toString(16).padStart(2, "0")).join(" ");
        const text = part.map((each) => (each >= " " && each <= "~" ? each : ".")).join("");
        lines.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(47)}  ${text}`);
    }
    return lines.join("\n");
}

export function read_payload({ id, params }: Where): Promise<Payload> {
    return get<Payload>(`messages/${encodeURIComponent(id)}/payload`, params);
}

function Shown({ payload }: { payload: Payload }) {
    const text = payload.text ?? (payload.base64 === undefined ? "" : hex_lines(payload.base64));
    const pretty = payload.text === undefined ? undefined : indent_json(payload.text);
    return (
        <>
            <div class="row spread">
                <span class="muted small">
                    {bytes(payload.bytes)}
                    {payload.text === undefined && payload.base64 !== undefined && ", not text: the first bytes"}
                    {pretty !== undefined && ", JSON, indented; every digit as it was sent"}
                </span>
                <CopyButton text={payload.text ?? payload.base64 ?? ""} label={payload.text === undefined ? "Copy as base64" : "Copy"} />
            </div>
            <pre class="text-block" tabIndex={0} aria-label="Payload">
                {pretty ?? text}
            </pre>
        </>
    );
}

export function PayloadPanel({ where, size }: { where: Where; size: number }) {
    const [payload, set_payload] = useState<Payload | undefined>();
    const [error, set_error] = useState("");
    const reveal = async (): Promise<void> => {
        try {
            set_payload(await read_payload(where));
            set_error("");
        } catch (failure) {
            set_error(reason_of(failure));
        }
    };
    return (
        <Panel title="Payload">
            {error && <Problem text={error} />}
            {payload ? (
                <Shown payload={payload} />
            ) : (
                <div class="row">
                    <Action why_not={why_not("reveal")} onRun={() => void reveal()}>
                        Reveal {bytes(size)}
                    </Action>
                    <span class="muted small">Hidden. Revealing it is noted in the audit log.</span>
                </div>
            )}
        </Panel>
    );
}
