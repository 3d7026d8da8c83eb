// The frame of the inbox: logging in, the views, and what waits for a decision.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { AttentionDocument } from "../generated/inbox";
import { Audit } from "./audit";
import { Deliveries } from "./deliveries";
import { Funnel } from "./funnel";
import { Health } from "./health";
import { LabelsProvider, useLabels } from "./labels";
import { Leads } from "./leads";
import { Icon, Toasts, toast } from "./parts";
import { address, useRoute, type View, views } from "./route";
import { type Failure, logIn, logOut, may, notice, type Role, signIn, useQuery, useSession, withAccounts } from "./service";
import { plural } from "./words";
import "./inbox.css";

const needs: Record<View, Role> = { leads: "VIEWER", deliveries: "SALES", funnel: "VIEWER", health: "ADMIN", audit: "ADMIN" };
const names: Record<View, string> = { leads: "Leads", deliveries: "Deliveries", funnel: "Funnel", health: "Health", audit: "Audit" };

function Brand() {
  return (
    <span class="brand">
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <rect width="24" height="24" rx="7" />
        <path d="M5 13h4l1.2 2.2h3.6L15 13h4M7 7.5h10l2 5.5v3.5H5V13z" />
      </svg>
      Inbox
    </span>
  );
}

/** Says that nobody can log in, and what an operator does about it. */
function Closed() {
  return (
    <main class="login">
      <div class="card">
        <Brand />
        <h1>The inbox is closed</h1>
        <p>
          The service has no token for operators. Set <code>ADMIN_API_TOKEN</code> to a long random value, for instance from{" "}
          <code>openssl rand -hex 32</code>, and start the service again.
        </p>
      </div>
    </main>
  );
}

/** With accounts a token is taken on the machine itself only, for when their provider is away. */
const takesTokens = !withAccounts || ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

const TokenField = () => (
  <>
    <label for="token">Access token</label>
    <input id="token" name="token" type="password" required autofocus={!withAccounts} aria-describedby="why" />
  </>
);

function LogIn() {
  const [failure, setFailure] = useState<Failure>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    setBusy(true);
    setFailure(undefined);
    try {
      await logIn(String(new FormData(form).get("token")).trim());
      toast(undefined);
    } catch (e) {
      setFailure(e as Failure);
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form class="card" onSubmit={submit}>
        <Brand />
        <h1>Welcome back</h1>
        <p class="muted">Leads, their deliveries and how visitors get here.</p>
        {withAccounts && (
          <button type="button" class="primary" onClick={() => signIn()}>Sign in with your account</button>
        )}
        {takesTokens && <TokenField />}
        <p id="why" class="bad-text" role="alert">
          {failure?.message ?? notice}
          {failure?.kind === "limited" && ` Please wait ${plural(failure.retryAfter, "second")}.`}
        </p>
        {takesTokens && (
          <>
            <button type="submit" class={withAccounts ? "" : "primary"} disabled={busy}>
              {busy ? "Logging in …" : "Log in"}
            </button>
            <p class="muted small">The people who run the service have it. This page does not keep it.</p>
          </>
        )}
      </form>
    </main>
  );
}

/** Asks every minute, while the page is visible, what is new and what waits. */
function useAttention() {
  const query = useQuery(AttentionDocument, { sales: may("SALES") });
  useEffect(() => {
    const timer = setInterval(() => document.hidden || query.reload(), 60_000);
    return () => clearInterval(timer);
  }, []);
  const { newest, inReview, failed } = query.data ?? {};
  return {
    reload: query.reload,
    newest: newest?.edges[0]?.node.reference,
    waiting: {
      leads: { n: inReview?.edges.length ?? 0, what: "in review" },
      deliveries: { n: failed?.edges.length ?? 0, what: "failed" },
    } as Partial<Record<View, { n: number; what: string }>>,
  };
}

function Badge({ n, what }: { n: number; what: string }) {
  const text = n > 9 ? "9+" : n;
  return n > 0 ? <span class="badge" aria-label={`${text} ${what}`}>{text}</span> : null;
}

function Frame() {
  const route = useRoute();
  const attention = useAttention();
  const label = useLabels();
  useEffect(() => {
    document.title = `${names[route.view]} · Inbox`;
  }, [route.view]);
  return (
    <div class="frame">
      <header>
        <Brand />
        <nav aria-label="Views">
          {views.filter((view) => may(needs[view])).map((view) => (
            <a key={view} href={address(view)} aria-current={view === route.view ? "page" : undefined}>
              <Icon name={view} />
              <span>{names[view]}</span>
              <Badge {...(attention.waiting[view] ?? { n: 0, what: "" })} />
            </a>
          ))}
        </nav>
        <button type="button" class="plain leave" onClick={logOut}>
          <Icon name="leave" />
          <span>Log out</span>
        </button>
      </header>
      <LabelsProvider value={label}>
        {route.view === "leads" && <Leads params={route.params} newest={attention.newest} changed={attention.reload} />}
        {route.view === "deliveries" && <Deliveries params={route.params} changed={attention.reload} />}
        {route.view === "funnel" && <Funnel params={route.params} />}
        {route.view === "health" && <Health />}
      {route.view === "audit" && <Audit />}
      </LabelsProvider>
    </div>
  );
}

function App() {
  const session = useSession();
  return (
    <>
      {session === null && <LogIn />}
      {session && <Frame />}
      <Toasts />
    </>
  );
}

const root = document.getElementById("inbox");
if (root) render(root.dataset.open === "no" ? <Closed /> : <App />, root);
