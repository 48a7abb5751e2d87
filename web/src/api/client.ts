// Requests to the admin API, beside which the page was served: relative addresses keep a path prefix.
import { signal } from "@preact/signals";
import { stored } from "../base/stored";
import type { Problem, Session } from "./schema";

// Kept for the tab and no longer.
export const token = stored("token", "", () => sessionStorage);

// Null until the server was asked.
export const session = signal<Session | null>(null);
// Why a token is asked for; null when none is needed.
export const sign_in_reason = signal<string | null>(null);

export class ApiError extends Error {
    constructor(
        readonly status: number,
        message: string,
    ) {
        super(message);
    }
}

export type Params = Record<string, string | undefined>;

export function address(path: string, params: Params = {}): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(params)) if (value !== undefined) query.set(name, value);
    const text = query.toString();
    return `api/${path}${text ? `?${text}` : ""}`;
}

export function request(where: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (token.value) headers.set("Authorization", `Bearer ${token.value}`);
    return fetch(where, { ...init, headers, credentials: "same-origin", cache: "no-store" });
}

export async function failure_of(response: Response): Promise<ApiError> {
    let text = `The server answered ${response.status}.`;
    try {
        const problem = (await response.json()) as Problem;
        text = problem.detail ?? problem.title;
        if (problem.field) text = `${problem.field}: ${text}`;
    } catch {
        // A proxy's page, or nothing at all.
    }
    if (response.status === 401)
        sign_in_reason.value = token.value ? "This token is not known to the server." : "This server asks for a token.";
    return new ApiError(response.status, text);
}

async function answer<T>(response: Response): Promise<T> {
    if (!response.ok) throw await failure_of(response);
    return (await response.json()) as T;
}

export async function get<T>(path: string, params: Params = {}, stop?: AbortSignal): Promise<T> {
    return answer<T>(await request(address(path, params), stop ? { signal: stop } : {}));
}

export async function post<T>(path: string, params: Params, body: object): Promise<T> {
    return answer<T>(
        await request(address(path, params), {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify(body),
        }),
    );
}

// What went wrong, in words for people.
export function reason_of(error: unknown): string {
    if (error instanceof ApiError) return error.message;
    if (error instanceof TypeError) return "The relay does not answer.";
    return error instanceof Error ? error.message : String(error);
}

export async function load_session(): Promise<void> {
    try {
        const found = await get<Session>("session");
        session.value = found;
        sign_in_reason.value = found.may.view ? null : "This server asks for a token.";
    } catch (error) {
        if (!(error instanceof ApiError && error.status === 401)) throw error;
    }
}

type Right = keyof Session["may"];

const needs: Record<Right, string> = {
    view: "needs a token with the role viewer",
    operate: "needs the role operator",
    reveal: "needs the role payload-viewer",
    resend: "needs the role admin",
};

// Why the caller may not, or undefined when they may.
export function why_not(right: Right): string | undefined {
    const known = session.value;
    if (!known || known.may[right]) return undefined;
    return `This ${needs[right]}; you are ${known.role === "none" ? "not signed in" : `signed in as ${known.role}`}.`;
}
