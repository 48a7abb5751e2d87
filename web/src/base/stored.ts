// A signal that survives the visit. Browsers may refuse storage: then it lasts as long as the page.
import { effect, signal, type Signal } from "@preact/signals";

export function stored<T>(name: string, initial: T, storage: () => Storage = () => localStorage): Signal<T> {
    const key = `postroom.${name}`;
    const value = signal<T>(initial);
    try {
        const text = storage().getItem(key);
        if (text !== null) value.value = JSON.parse(text) as T;
    } catch {
        // Refused, or written by a version with another shape.
    }
    effect(() => {
        const text = JSON.stringify(value.value);
        try {
            storage().setItem(key, text);
        } catch {
            // Refused or full.
        }
    });
    return value;
}
