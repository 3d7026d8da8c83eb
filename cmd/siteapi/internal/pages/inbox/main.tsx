// The inbox: the login, the views, and the number of items that wait for a decision.
import { type JSX, render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { AttentionDocument } from "../generated/inbox";
import { Audit } from "./audit";
import { useChanges, useUnseen } from "./changes";
import { Deliveries } from "./deliveries";
import { Funnel } from "./funnel";
import { Health } from "./health";
import { LabelsProvider, useLabels } from "./labels";
import { Leads } from "./leads";
import { Closed, LogIn } from "./login";
import { Navigation, type Waiting } from "./navigation";
import { Questions, Toasts } from "./parts";
import { People } from "./people";
import { Report } from "./report";
import { type Route, useRoute, type View } from "./route";
import { Logins } from "./logins";
import { may, useLogin, useQuery } from "./service";
import { Unfinished } from "./unfinished";
import { useLanguage, words } from "./words";
import { separateTexts } from "../translation";
import "./inbox.css";

/** The leads and deliveries that wait for a decision. */
function useWaiting(): Waiting {
  const query = useQuery(AttentionDocument, { sales: may("SALES") });
  useChanges(query.refresh);
  const { inReview, asked, failed } = query.data ?? {};
  const waiting = new Set([...(inReview?.edges ?? []), ...(asked?.edges ?? [])].map(({ node }) => node.reference));
  return {
    leads: { n: waiting.size, what: words.list.waiting },
    deliveries: { n: failed?.edges.length ?? 0, what: words.deliveries.failed },
  };
}

const pages: Record<View, (props: Pick<Route, "params">) => JSX.Element> = {
  leads: Leads,
  deliveries: Deliveries,
  unfinished: Unfinished,
  funnel: Funnel,
  report: Report,
  health: Health,
  people: People,
  audit: Audit,
  logins: Logins,
};

function Frame() {
  const { view, params } = useRoute();
  const Shown = pages[view];
  const waiting = useWaiting();
  const unseen = useUnseen();
  const label = useLabels();
  useEffect(() => {
    document.title = `${unseen ? `(${unseen}) ` : ""}${words.views[view]} · ${words.inbox}`;
  });
  return (
    <div class="frame">
      <Navigation view={view} waiting={waiting} />
      <LabelsProvider value={label}>
        <Shown params={params} />
      </LabelsProvider>
    </div>
  );
}

function App() {
  useLanguage();
  const login = useLogin();
  const wasOut = useRef(false);
  useEffect(() => {
    if (login && wasOut.current) document.querySelector<HTMLElement>("nav [aria-current]")?.focus();
    wasOut.current = login === null;
  }, [login]);
  return (
    <>
      {login === null && <LogIn />}
      {login && <Frame />}
      <Questions />
      <Toasts />
    </>
  );
}

separateTexts();
const root = document.getElementById("inbox");
if (root) render(root.dataset.open === "no" ? <Closed /> : <App />, root);
