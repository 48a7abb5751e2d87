import { useState } from "preact/hooks";
import { load_session, reason_of, sign_in_reason, token } from "../api/client";
import { listen } from "../api/live";
import { Dialog } from "./dialog";

export function SignIn() {
    const [typed, type] = useState("");
    const [error, set_error] = useState("");
    if (sign_in_reason.value === null) return null;
    const submit = async (event: Event): Promise<void> => {
        event.preventDefault();
        token.value = typed.trim();
        try {
            await load_session();
            if (sign_in_reason.value === null) listen();
        } catch (failure) {
            set_error(reason_of(failure));
        }
    };
    return (
        <Dialog title="Sign in" onClose={() => undefined}>
            <form class="stack" onSubmit={submit}>
                <p>{error || sign_in_reason.value} Tokens stand in the relay's configuration; yours is kept in this tab only.</p>
                <label class="field">
                    Token
                    <input type="password" autocomplete="off" value={typed} onInput={(event) => type(event.currentTarget.value)} />
                </label>
                <div class="actions">
                    <button type="submit" class="primary">
                        Sign in
                    </button>
                </div>
            </form>
        </Dialog>
    );
}
