// Short words about what just happened, read out by screen readers.
import { signal } from "@preact/signals";
import type { Tone } from "./parts";

interface Toast {
    readonly id: number;
    readonly tone: Tone;
    readonly text: string;
}

const toasts = signal<readonly Toast[]>([]);
const shown_ms = 6000;
let last = 0;

export function tell(text: string, tone: Tone = "done"): void {
    const toast = { id: ++last, tone, text };
    toasts.value = [...toasts.value, toast].slice(-4);
    setTimeout(() => {
        toasts.value = toasts.value.filter((each) => each !== toast);
    }, shown_ms);
}

export function Toasts() {
    return (
        <div class="toasts" role="status">
            {toasts.value.map((toast) => (
                <div key={toast.id} class={`toast tone-${toast.tone}`}>
                    {toast.text}
                </div>
            ))}
        </div>
    );
}
