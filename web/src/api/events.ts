// Server-sent events over fetch(), because EventSource cannot carry a token, nor come back later with
// the id of the last event.

export interface ServerEvent {
    readonly id: string;
    readonly name: string;
    readonly data: string;
}

// Calls `take` for each event, until the stream ends.
export async function read_events(body: ReadableStream<Uint8Array>, take: (event: ServerEvent) => void): Promise<void> {
    const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
    let rest = "";
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        rest += value;
        for (let end = rest.search(blank_line); end >= 0; end = rest.search(blank_line)) {
            const event = event_of(rest.slice(0, end));
            rest = rest.slice(end).replace(blank_line, "");
            if (event) take(event);
        }
    }
}

const blank_line = /\r?\n\r?\n/;

function event_of(block: string): ServerEvent | undefined {
    let id = "";
    let name = "message";
    const data: string[] = [];
    for (const line of block.split(/\r?\n/)) {
        const [, field, value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
        if (field === "id") id = value;
        else if (field === "event") name = value;
        else if (field === "data") data.push(value);
    }
    return data.length > 0 ? { id, name, data: data.join("\n") } : undefined;
}
