// Edit a dead message and send it as a new one that names the old one.
import { useEffect, useRef, useState } from "preact/hooks";
import { post, reason_of, why_not } from "../api/client";
import { store_param } from "../api/scope";
import type { Message, Payload } from "../api/schema";
import { go, href } from "../base/route";
import type { Where } from "../pages/message_story";
import { Action } from "./button";
import { Dialog } from "./dialog";
import { Problem } from "./parts";
import { read_payload } from "./payload_panel";
import { tell } from "./toast";

interface Sent {
    readonly id: string;
    readonly message_id: string;
}

// crypto.randomUUID() is there on secure pages only.
function random_key(): string {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function ResendDialog({ where, message, onClose }: { where: Where; message: Message; onClose: () => void }) {
    const [before, set_before] = useState<Payload | undefined>();
    const [topic, set_topic] = useState(message.topic);
    const [text, set_text] = useState("");
    const [error, set_error] = useState("");
    // One dialog sends one message: a second click does nothing, and an answer that was lost may be asked for again.
    const sending = useRef(false);
    const [key] = useState(random_key);
    useEffect(() => {
        read_payload(where).then(
            (payload) => {
                set_before(payload);
                set_text(payload.text ?? payload.base64 ?? "");
            },
            (failure: unknown) => set_error(reason_of(failure)),
        );
    }, []);
    const is_text = before?.base64 === undefined;
    const send = async (): Promise<void> => {
        if (sending.current) return;
        sending.current = true;
        try {
            const sent = await post<Sent>(`messages/${encodeURIComponent(where.id)}/resend`, store_param(), {
                topic,
                idempotency_key: key,
                ...(is_text ? { payload_text: text } : { payload_base64: text }),
            });
            tell(`Sent again as ${sent.message_id}.`);
            go(href(["message", sent.id], store_param()));
        } catch (failure) {
            set_error(reason_of(failure));
            sending.current = false;
        }
    };
    return (
        <Dialog title="Edit and resend" onClose={onClose}>
            <p class="muted">A new message with the fields of this one is sent, and names it in a header. This one stays dead until you discard it.</p>
            {error && <Problem text={error} />}
            <label class="field">
                Topic
                <input type="text" value={topic} maxLength={255} onInput={(event) => set_topic(event.currentTarget.value)} />
            </label>
            <label class="field">
                {is_text ? "Payload" : "Payload, as base64"}
                <textarea class="mono" spellcheck={false} value={text} disabled={!before} onInput={(event) => set_text(event.currentTarget.value)} />
            </label>
            <div class="actions">
                <button type="button" onClick={onClose}>
                    Cancel
                </button>
                <Action kind="primary" why_not={why_not("resend") ?? (before ? undefined : "The payload is not read yet.")} onRun={() => void send()}>
                    Send as a new message
                </Action>
            </div>
        </Dialog>
    );
}
