// The typed search: field:value words, completed from what the relay knows.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { overview } from "../api/live";
import type { Queue } from "../api/schema";
import { last_word_begin, suggestions, type Suggestion } from "../search/completion";

interface SearchBoxProps {
    readonly text: string;
    readonly queue: Queue;
    readonly onSearch: (text: string) => void;
}

// Signals, because keys may follow each other faster than the page is drawn.
export function SearchBox({ text, queue, onSearch }: SearchBoxProps) {
    const typed = useSignal(text);
    const open = useSignal(false);
    const chosen = useSignal(-1);
    const input = useRef<HTMLInputElement>(null);
    useEffect(() => {
        typed.value = text;
    }, [text]);

    const offers_now = (): readonly Suggestion[] => (open.value ? suggestions(typed.value, queue, overview.value) : []);
    const accept = (offer: Suggestion): void => {
        typed.value = typed.value.slice(0, last_word_begin(typed.value)) + offer.text + (offer.is_whole ? " " : "");
        chosen.value = -1;
        if (input.current) {
            input.current.value = typed.value;
            input.current.focus();
        }
        if (offer.is_whole) onSearch(typed.value.trim());
    };
    const submit = (): void => {
        open.value = false;
        onSearch(typed.value.trim());
    };
    const pressed = (event: KeyboardEvent): void => {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            open.value = true;
            const count = offers_now().length;
            const step = event.key === "ArrowDown" ? 1 : -1;
            chosen.value = count === 0 ? -1 : (Math.max(chosen.value, step > 0 ? -1 : 0) + step + count) % count;
            event.preventDefault();
            return;
        }
        const offer = offers_now()[chosen.value];
        if (event.key === "Enter") {
            if (offer) accept(offer);
            else submit();
        } else if (event.key === "Tab" && offer && !event.shiftKey) accept(offer);
        else if (event.key === "Escape" && open.value) open.value = false;
        else return;
        event.preventDefault();
    };
    const offers = offers_now();

    return (
        <div class="search">
            <input
                ref={input}
                type="search"
                role="combobox"
                list={undefined}
                aria-label="Search messages"
                aria-expanded={offers.length > 0}
                aria-controls="search-offers"
                aria-autocomplete="list"
                aria-activedescendant={chosen.value >= 0 ? `offer-${chosen.value}` : undefined}
                placeholder="topic:order.placed state:dead error:timeout, or a message id"
                autocomplete="off"
                spellcheck={false}
                value={typed.value}
                onFocus={() => (open.value = true)}
                onBlur={() => (open.value = false)}
                onInput={(event) => {
                    typed.value = event.currentTarget.value;
                    open.value = true;
                    chosen.value = -1;
                    if (event.currentTarget.value === "") onSearch("");
                }}
                onKeyDown={pressed}
            />
            <ul id="search-offers" role="listbox" aria-label="Completions" hidden={offers.length === 0}>
                {offers.map((offer, i) => (
                    <li
                        key={offer.text}
                        id={`offer-${i}`}
                        role="option"
                        aria-selected={i === chosen.value}
                        onMouseDown={(event) => {
                            event.preventDefault();
                            accept(offer);
                        }}
                    >
                        <code>{offer.text}</code> <span class="muted">{offer.help}</span>
                    </li>
                ))}
            </ul>
        </div>
    );
}
