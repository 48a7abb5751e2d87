// Searches by name: those everybody needs, and those that somebody saved in this browser.
import { useState } from "preact/hooks";
import type { Queue } from "../api/schema";
import { href, route } from "../base/route";
import { stored } from "../base/stored";
import { Dialog } from "./dialog";

interface View {
    readonly name: string;
    readonly text: string;
}

const common: Record<Queue, readonly View[]> = {
    outbox: [
        { name: "All", text: "" },
        { name: "Waiting", text: "state:ready" },
        { name: "Retrying", text: "put_off:yes" },
        { name: "In progress", text: "state:in_progress" },
        { name: "Dead", text: "state:dead" },
        { name: "Delivered", text: "state:done" },
        { name: "Blocking their key", text: "blocking:yes" },
        { name: "Last hour", text: "since:1h" },
    ],
    inbox: [
        { name: "All", text: "" },
        { name: "Only seen", text: "state:seen" },
        { name: "Processing", text: "state:ready,in_progress" },
        { name: "Dead", text: "state:dead" },
        { name: "Done", text: "state:done" },
    ],
};

const saved = stored<Record<Queue, readonly View[]>>("views", { outbox: [], inbox: [] });

function NameDialog({ text, onName, onClose }: { text: string; onName: (name: string) => void; onClose: () => void }) {
    const [name, set_name] = useState("");
    return (
        <Dialog title="Save this search" onClose={onClose}>
            <form
                class="stack"
                onSubmit={(event) => {
                    event.preventDefault();
                    onName(name.trim());
                }}
            >
                <code class="wrap">{text}</code>
                <label class="field">
                    Name
                    <input type="text" maxLength={40} value={name} onInput={(event) => set_name(event.currentTarget.value)} />
                </label>
                <div class="actions">
                    <button type="submit" class="primary">
                        Save
                    </button>
                </div>
            </form>
        </Dialog>
    );
}

export function Views({ queue, text }: { queue: Queue; text: string }) {
    const store = route.value.params.get("store") ?? undefined;
    const own = saved.value[queue];
    const is_named = [...common[queue], ...own].some((view) => view.text === text);
    const [naming, set_naming] = useState(false);
    const save = (name: string): void => {
        if (name) saved.value = { ...saved.value, [queue]: [...own.filter((view) => view.name !== name), { name, text }] };
        set_naming(false);
    };
    const forget = (view: View): void => {
        saved.value = { ...saved.value, [queue]: own.filter((each) => each !== view) };
    };
    const link = (view: View) => (
        <a href={href([route.value.page], { q: view.text || undefined, store })} class="chip" aria-current={view.text === text ? "true" : undefined}>
            {view.name}
        </a>
    );
    return (
        <div class="views" role="group" aria-label="Views">
            {common[queue].map((view) => (
                <span key={view.name}>{link(view)}</span>
            ))}
            {own.map((view) => (
                <span key={view.name} class="row own-view">
                    {link(view)}
                    <button type="button" class="quiet icon" aria-label={`Forget the view ${view.name}`} onClick={() => forget(view)}>
                        ×
                    </button>
                </span>
            ))}
            {!is_named && (
                <button type="button" class="link" onClick={() => set_naming(true)}>
                    Save this search
                </button>
            )}
            {naming && <NameDialog text={text} onName={save} onClose={() => set_naming(false)} />}
        </div>
    );
}
