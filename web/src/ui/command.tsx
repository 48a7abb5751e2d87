// A command line to copy: what the page does, a terminal can do too.
import { useState } from "preact/hooks";

// A word as a POSIX shell reads it back.
export function quoted(word: string): string {
    if (/^[A-Za-z0-9_./:@%+,=-]+$/.test(word)) return word;
    return `'${word.replaceAll("'", "'\\''")}'`;
}

export function command_line(...words: readonly (string | undefined)[]): string {
    return ["postroom", ...words.filter((word) => word !== undefined).map(quoted)].join(" ");
}

export async function copy(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return copy_by_selection(text);
    }
}

// Browsers offer the clipboard on https and localhost only.
function copy_by_selection(text: string): boolean {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "hush";
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
}

export function CopyButton({ text, label = "Copy", quiet = true }: { text: string; label?: string; quiet?: boolean }) {
    const [said, say] = useState("");
    const run = async () => {
        say((await copy(text)) ? "Copied" : "Select it and press Ctrl+C");
        setTimeout(() => say(""), 1600);
    };
    return (
        <button type="button" class={quiet ? "quiet" : ""} onClick={run} title={text} aria-live="polite">
            {said || label}
        </button>
    );
}

export function Command({ text }: { text: string }) {
    return (
        <span class="command">
            <code tabIndex={0}>{text}</code>
            <CopyButton text={text} />
        </span>
    );
}
