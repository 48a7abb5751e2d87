// A modal window. The browser keeps the focus inside, closes it with Escape, and gives the focus back.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface DialogProps {
    readonly title: string;
    readonly onClose: () => void;
    readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
    const element = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        const dialog = element.current;
        const before = document.activeElement;
        dialog?.showModal();
        return () => {
            dialog?.close();
            if (before instanceof HTMLElement && before.isConnected) before.focus();
        };
    }, []);
    return (
        <dialog
            ref={element}
            aria-labelledby="dialog-title"
            onClose={onClose}
            onClick={(event) => {
                if (event.target === element.current) onClose();
            }}
        >
            <div class="sheet">
                <h2 id="dialog-title">{title}</h2>
                {children}
            </div>
        </dialog>
    );
}
