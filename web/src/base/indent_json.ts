// Indents a JSON text without reading its values: every digit beyond 2^53, every escape and every
// repeated key stays as the sender wrote it. Undefined when the text is not JSON.

const token = /[ \t\r\n]*("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:])[ \t\r\n]*/y;

const width = 2;
const depth_shown = 100;

export function indent_json(text: string): string | undefined {
    if (!is_json(text)) return undefined;
    const out: string[] = [];
    let depth = 0;
    let previous = "";
    const line = (): string => "\n" + " ".repeat(Math.min(depth, depth_shown) * width);
    token.lastIndex = 0;
    for (let match = token.exec(text); match; match = token.exec(text)) {
        const word = match[1] as string;
        const closes = word === "}" || word === "]";
        if (closes) depth -= 1;
        const is_empty_pair = closes && (previous === "{" || previous === "[");
        if (closes ? !is_empty_pair : previous === "{" || previous === "[" || previous === ",") out.push(line());
        if (word === "{" || word === "[") depth += 1;
        out.push(word === ":" ? ": " : word);
        previous = word;
    }
    return out.join("");
}

function is_json(text: string): boolean {
    try {
        JSON.parse(text);
        return true;
    } catch {
        return false;
    }
}
