// The login page of the inbox, or a notice if the inbox is closed.
import { useState } from "preact/hooks";
import { plural } from "./format";
import { LanguageSelect, submits, toast } from "./parts";
import { acceptsTokens, type Failure, logIn, notice, signIn, withAccounts } from "./service";
import { words } from "./words";

export function Brand() {
  return (
    <span class="brand">
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <rect width="24" height="24" rx="7" />
        <path d="M5 13h4l1.2 2.2h3.6L15 13h4M7 7.5h10l2 5.5v3.5H5V13z" />
      </svg>
      {words.inbox}
    </span>
  );
}

/** Explains that the inbox has no token, and how to set one. */
export function Closed() {
  return (
    <main class="login">
      <div class="card">
        <Brand />
        <h1>{words.closed.title}</h1>
        <p>
          {words.closed.before} <code>ADMIN_API_TOKEN</code> {words.closed.between} <code>openssl rand -hex 32</code>
          {words.closed.after}
        </p>
      </div>
    </main>
  );
}

export function LogIn() {
  const [failure, setFailure] = useState<Failure>();
  const [busy, setBusy] = useState(false);
  const submit = async (value: (name: string) => string) => {
    setBusy(true);
    setFailure(undefined);
    try {
      await logIn(value("token"));
      toast(undefined);
    } catch (e) {
      setFailure(e as Failure);
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form class="card" onSubmit={submits(submit)}>
        <Brand />
        <h1>{words.login.title}</h1>
        <p class="muted">{words.login.intro}</p>
        {withAccounts && (
          <button type="button" class="primary" onClick={() => signIn()}>{words.login.account}</button>
        )}
        {acceptsTokens && (
          <>
            <label for="token">{words.login.token}</label>
            <input id="token" name="token" type="password" required autofocus={!withAccounts} aria-describedby="why" />
          </>
        )}
        <p id="why" class="bad-text" role="alert">
          {failure?.message ?? notice}
          {failure?.kind === "limited" && ` ${words.login.wait(plural(failure.retryAfter, words.nouns.seconds))}`}
        </p>
        {acceptsTokens && (
          <>
            <button type="submit" class={withAccounts ? "" : "primary"} disabled={busy}>
              {busy ? words.login.busy : words.login.submit}
            </button>
            <p class="muted small">{words.login.hint}</p>
          </>
        )}
        <LanguageSelect />
      </form>
    </main>
  );
}
