import type { ComponentChildren } from "preact";

interface ActionProps {
    readonly onRun: () => void;
    // Why it cannot be done now. The button stays reachable, so that the reason can be read.
    readonly why_not?: string | undefined;
    readonly kind?: string;
    readonly label?: string;
    readonly children: ComponentChildren;
}

export function Action({ onRun, why_not, kind = "", label, children }: ActionProps) {
    return (
        <button
            type="button"
            class={kind}
            aria-disabled={why_not ? true : undefined}
            aria-label={label ? (why_not ? `${label}. ${why_not}` : label) : undefined}
            title={why_not ?? label}
            onClick={() => {
                if (!why_not) onRun();
            }}
        >
            {children}
            {why_not && !label && <span class="hush">. {why_not}</span>}
        </button>
    );
}
