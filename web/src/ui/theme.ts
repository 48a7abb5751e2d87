import { effect } from "@preact/signals";
import { stored } from "../base/stored";

export type Theme = "system" | "light" | "dark";
const order: readonly Theme[] = ["system", "light", "dark"];

export const theme = stored<Theme>("theme", "system");

effect(() => {
    const chosen = theme.value;
    if (chosen === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = chosen;
});

export function next_theme(): void {
    theme.value = order[(order.indexOf(theme.value) + 1) % order.length] ?? "system";
}
