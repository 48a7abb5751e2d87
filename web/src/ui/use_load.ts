// Reads something from the API for as long as a page shows it.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { changes } from "../api/live";
import { reason_of } from "../api/client";

export interface Loaded<T> {
    // The last that was read, also while it is read again.
    readonly value: T | undefined;
    readonly error: string | undefined;
    readonly reload: () => void;
}

// Reads when `key` changes, when somebody changed something, and every `seconds` while the tab is
// visible. An answer that comes after the key has changed is dropped.
export function use_load<T>(key: string, read: (stop: AbortSignal) => Promise<T>, seconds = 0): Loaded<T> {
    const [state, set_state] = useState<{ key: string; value?: T; error?: string }>({ key });
    const [turn, set_turn] = useState(0);
    const reader = useRef(read);
    reader.current = read;
    const reload = useCallback(() => set_turn((before) => before + 1), []);
    const changed = changes.value;

    useEffect(() => {
        const stop = new AbortController();
        reader.current(stop.signal).then(
            (value) => {
                if (!stop.signal.aborted) set_state({ key, value });
            },
            (error: unknown) => {
                if (stop.signal.aborted) return;
                set_state((before) => ({
                    key,
                    error: reason_of(error),
                    ...(before.key === key && before.value !== undefined ? { value: before.value } : {}),
                }));
            },
        );
        return () => stop.abort();
    }, [key, turn, changed]);

    useEffect(() => {
        if (seconds === 0) return undefined;
        const timer = setInterval(() => {
            if (!document.hidden) reload();
        }, seconds * 1000);
        return () => clearInterval(timer);
    }, [seconds, reload]);

    const fresh = state.key === key;
    return { value: fresh ? state.value : undefined, error: fresh ? state.error : undefined, reload };
}
