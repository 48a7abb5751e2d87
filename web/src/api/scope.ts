// Which store the pages about messages and topics look at.
import { computed } from "@preact/signals";
import { route } from "../base/route";
import { stored } from "../base/stored";
import { overview } from "./live";

const last_chosen = stored<string>("store", "");

const names = computed(() => overview.value?.stores.map((each) => each.store) ?? []);

// The one in the address, the one chosen last, or the first.
export const store_name = computed(() => {
    const wanted = route.value.params.get("store") ?? last_chosen.value;
    if (route.value.params.has("store") || names.value.includes(wanted)) return wanted;
    return names.value[0] ?? "";
});

export const has_several_stores = computed(() => names.value.length > 1);

export function choose_store(name: string): void {
    last_chosen.value = name;
}

// The parameter `store` of a request or an address. A single store needs none.
export function store_param(name = store_name.value): { store?: string } {
    return has_several_stores.value && name ? { store: name } : {};
}

// The option --store of a command.
export function store_option(name = store_name.value): readonly string[] {
    return has_several_stores.value && name ? ["--store", name] : [];
}
