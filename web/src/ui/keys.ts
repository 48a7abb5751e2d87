// The keyboard: single keys and "g" followed by another, never while somebody types.
import { go, href } from "../base/route";
import { pages } from "../pages/pages";
import { help_is_open } from "./help_sheet";
import { next_theme } from "./theme";

const second_key_ms = 1200;
let went_at = -Infinity;

function is_typing(target: EventTarget | null): boolean {
    return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

// Moves the focus to the next or previous of what is listed: rows, groups of dead letters, stores.
function move(step: number): void {
    const links = [...document.querySelectorAll<HTMLElement>("main .row-link")];
    const at = links.findIndex((link) => (link.closest("tr, article") ?? link).contains(document.activeElement));
    const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
}

function go_to(key: string): boolean {
    const page = pages.find((each) => each.key === key);
    if (page) go(href([page.name]));
    return page !== undefined;
}

function act(event: KeyboardEvent): boolean {
    if (event.timeStamp - went_at < second_key_ms) {
        went_at = -Infinity;
        return go_to(event.key);
    }
    switch (event.key) {
        case "g":
            went_at = event.timeStamp;
            return true;
        case "/": {
            const search = document.querySelector<HTMLInputElement>("main input[type=search]");
            search?.focus();
            search?.select();
            return search !== null;
        }
        case "j":
            move(1);
            return true;
        case "k":
            move(-1);
            return true;
        case "x":
            document.activeElement?.closest("tr")?.querySelector<HTMLInputElement>("input[type=checkbox]")?.click();
            return true;
        case "t":
            next_theme();
            return true;
        case "?":
            help_is_open.value = true;
            return true;
        default:
            return false;
    }
}

export function start_keys(): void {
    addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || is_typing(event.target)) return;
        if (document.querySelector("dialog[open]")) return;
        if (act(event)) event.preventDefault();
    });
}
