import { signal } from "@preact/signals";
import { pages } from "../pages/pages";
import { Dialog } from "./dialog";

export const help_is_open = signal(false);

const keys: readonly (readonly [string, string])[] = [
    ["/", "search"],
    ["j", "next row"],
    ["k", "previous row"],
    ["Enter", "open the row"],
    ["x", "select the row"],
    ["t", "theme: system, light, dark"],
    ["?", "this sheet"],
    ["Esc", "close"],
];

export function HelpSheet() {
    if (!help_is_open.value) return null;
    const close = (): void => {
        help_is_open.value = false;
    };
    return (
        <Dialog title="Keyboard" onClose={close}>
            <div class="help">
                <dl>
                    {keys.map(([key, meaning]) => (
                        <div key={key}>
                            <dt>
                                <kbd>{key}</kbd>
                            </dt>
                            <dd>{meaning}</dd>
                        </div>
                    ))}
                </dl>
                <dl>
                    {pages.map((page) => (
                        <div key={page.name}>
                            <dt>
                                <kbd>g</kbd> <kbd>{page.key}</kbd>
                            </dt>
                            <dd>{page.title}</dd>
                        </div>
                    ))}
                </dl>
            </div>
            <div class="actions">
                <button type="button" class="primary" onClick={close}>
                    Close
                </button>
            </div>
        </Dialog>
    );
}
