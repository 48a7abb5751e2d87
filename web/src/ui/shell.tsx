// The frame around every page: where one can go, how fresh the figures are, and the page itself.
import { useEffect, useState } from "preact/hooks";
import { session } from "../api/client";
import { link, link_error, operations, overview, stale_for } from "../api/live";
import { choose_store, has_several_stores, store_name } from "../api/scope";
import { href, route, set_params } from "../base/route";
import { brief, plural, span } from "../base/words";
import { page_of, pages, type Page } from "../pages/pages";
import { BulkDialog } from "./bulk_dialog";
import { HelpSheet, help_is_open } from "./help_sheet";
import { Tag } from "./parts";
import { SignIn } from "./sign_in";
import { next_theme, theme } from "./theme";
import { Toasts } from "./toast";

function Mark() {
    return (
        <svg viewBox="0 0 22 22" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round">
            <path d="M2.5 6.5h12v10h-12z" />
            <path d="m2.5 6.5 6 5.2 6-5.2" />
            <path d="M17 8.5h2.5M17 11.5h3.5M17 14.5h2.5" stroke-linecap="round" />
        </svg>
    );
}

function dead_count(): number {
    const queues = overview.value?.stores.flatMap((store) => store.queues) ?? [];
    return queues.reduce((all, queue) => all + (queue.backlog?.dead ?? 0), 0);
}

function Badge({ page }: { page: Page }) {
    if (page.name === "dead" && dead_count() > 0) return <span class="badge tag tone-dead">{brief(dead_count())}</span>;
    if (page.name === "destinations") {
        const down = overview.value?.destinations.filter((each) => each.state !== "closed").length ?? 0;
        if (down > 0) return <span class="badge tag tone-dead">{down} down</span>;
    }
    return null;
}

function Navigation({ open, onClose }: { open: boolean; onClose: () => void }) {
    const current = page_of(route.value.page).name;
    return (
        <nav class={open ? "side open" : "side"} id="side" aria-label="Pages" onClick={onClose}>
            <a class="brand" href={href([])}>
                <Mark /> Postroom
            </a>
            <ul>
                {pages.map((page) => (
                    <li key={page.name}>
                        <a href={href([page.name])} aria-current={page.name === current ? "page" : undefined}>
                            {page.title} <Badge page={page} />
                        </a>
                    </li>
                ))}
            </ul>
            <div class="foot">
                {session.value && (
                    <>
                        {session.value.anonymous ? "No token" : session.value.name}, {session.value.role}
                        <br />
                        Version {session.value.version}
                    </>
                )}
            </div>
        </nav>
    );
}

// Whether what is shown is what is.
function Freshness() {
    const silent = stale_for.value;
    if (silent > 0 && link.value !== "paused")
        return (
            <span role="status" title={link_error.value}>
                <Tag tone="dead" light>
                    Stale for {span(Math.floor(silent))}
                </Tag>
            </span>
        );
    if (link.value === "live")
        return (
            <Tag tone="done" light>
                Live
            </Tag>
        );
    return <Tag tone="idle">{link.value === "paused" ? "Paused" : "Connecting"}</Tag>;
}

function StoreChoice() {
    const names = overview.value?.stores.map((store) => store.store) ?? [];
    if (!has_several_stores.value || !page_of(route.value.page).of_one_store) return null;
    return (
        <>
            <input
                type="text"
                class="store-choice"
                list="store-names"
                aria-label="Store"
                key={store_name.value}
                defaultValue={store_name.value}
                onFocus={(event) => event.currentTarget.select()}
                onChange={(event) => {
                    const name = event.currentTarget.value;
                    if (!names.includes(name)) return;
                    choose_store(name);
                    set_params({ store: name, cursor: undefined });
                }}
            />
            <datalist id="store-names">
                {names.map((name) => (
                    <option key={name} value={name} />
                ))}
            </datalist>
        </>
    );
}

function RunningOperations() {
    const running = [...operations.value.values()].filter((each) => each.status === "running").length;
    if (running === 0) return null;
    return (
        <a href={href(["audit"])} class="tag tone-in_progress">
            {plural(running, "operation")}
        </a>
    );
}

export function Shell() {
    const [menu, set_menu] = useState(false);
    const page = page_of(route.value.page);
    useEffect(() => {
        document.title = `${page.title} · Postroom`;
    }, [page]);
    const stale = stale_for.value > 0;
    return (
        <div class="frame" onKeyDown={(event) => event.key === "Escape" && set_menu(false)}>
            <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
                Skip to the page
            </a>
            <Navigation open={menu} onClose={() => set_menu(false)} />
            {menu && <div class="veil" onClick={() => set_menu(false)} />}
            <main class="main" id="main" tabIndex={-1}>
                <header class="bar">
                    <button type="button" class="menu icon" aria-label="Menu" aria-expanded={menu} aria-controls="side" onClick={() => set_menu(!menu)}>
                        ☰
                    </button>
                    <h1>{page.title}</h1>
                    <StoreChoice />
                    <RunningOperations />
                    <Freshness />
                    <button type="button" class="quiet icon" onClick={next_theme} aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value} (t)`}>
                        {theme.value === "dark" ? "●" : theme.value === "light" ? "○" : "◐"}
                    </button>
                    <button type="button" class="quiet icon" onClick={() => (help_is_open.value = true)} aria-label="Keyboard help" title="Keyboard help (?)">
                        ?
                    </button>
                </header>
                <div class={stale ? "stack stale" : "stack"} key={page.name}>
                    <page.View />
                </div>
            </main>
            <Toasts />
            <BulkDialog />
            <HelpSheet />
            <SignIn />
        </div>
    );
}
