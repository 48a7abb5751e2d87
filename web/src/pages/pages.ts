// Every page: its name in the address, its title, and the key that leads to it after "g".
import type { ComponentType } from "preact";
import { Audit } from "./audit";
import { DeadLetters } from "./dead_letters";
import { Destinations } from "./destinations";
import { Inbox } from "./inbox";
import { MessageStory } from "./message_story";
import { Messages } from "./messages";
import { OverviewPage } from "./overview";
import { Stores } from "./stores";
import { Topics } from "./topics";
import { Workers } from "./workers";

export interface Page {
    readonly name: string;
    readonly title: string;
    readonly key: string;
    readonly View: ComponentType;
    // It shows one store at a time.
    readonly of_one_store?: boolean;
}

const overview_page: Page = { name: "overview", title: "Overview", key: "o", View: OverviewPage };

export const pages: readonly Page[] = [
    overview_page,
    { name: "messages", title: "Messages", key: "m", View: Messages, of_one_store: true },
    { name: "dead", title: "Dead letters", key: "d", View: DeadLetters, of_one_store: true },
    { name: "inbox", title: "Inbox", key: "i", View: Inbox, of_one_store: true },
    { name: "topics", title: "Topics", key: "t", View: Topics },
    { name: "destinations", title: "Destinations", key: "n", View: Destinations },
    { name: "workers", title: "Workers", key: "w", View: Workers },
    { name: "stores", title: "Stores", key: "s", View: Stores },
    { name: "audit", title: "Audit log", key: "a", View: Audit, of_one_store: true },
];

const story: Page = { name: "message", title: "Message", key: "", View: MessageStory, of_one_store: true };

export function page_of(name: string): Page {
    return [...pages, story].find((page) => page.name === name) ?? overview_page;
}
