// The login at the service, and requests to its GraphQL endpoint. The token is typed once and never stored here: the
// service responds with an HttpOnly cookie. The user's roles are stored in sessionStorage, for this tab.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Role, TypedDocumentString } from "../generated/inbox";
import { forgetDrafts } from "./drafts";
import { words } from "./words";

const operatorPath = "/admin/operator";
export const graphqlPath = "/admin/graphql";
const loginPath = "/admin/login";
const storageKey = "siteapi-inbox-login";
const timeout = 60_000; // of a request, in milliseconds

/** A failed operation, with a message for the user. */
export class Failure extends Error {
  constructor(
    readonly kind: "login" | "limited" | "offline" | "refused",
    message: string,
    /** Seconds until the next try; 0: no retry. */
    readonly retryAfter = 0,
  ) {
    super(message);
  }
}

export type { Role };

interface Login {
  /** The user's role and all that it includes. */
  roles: Role[];
  /** The account's address, if the provider has verified it, or the one that names the token. */
  email?: string;
}

type Message = { ask: true } | { login: Login | null };

// Tabs share the login, so that a link in another tab needs no second one.
const tabs = new BroadcastChannel("siteapi-inbox");
let login: Login | null = JSON.parse(sessionStorage.getItem(storageKey) ?? "null");
let changed: (login: Login | null) => void = () => {};
const begun = new EventTarget(); // gets an event "login" for each login, in any tab

/** Whether the user has a role. */
export const may = (role: Role) => !!login?.roles.includes(role);

/** The user's own address, if it is known. */
export const ownAddress = () => login?.email;

/** The reason why the login has ended, for the login page. */
export let notice = "";

function setLogin(next: Login | null) {
  login = next;
  if (next) sessionStorage.setItem(storageKey, JSON.stringify(next));
  else sessionStorage.removeItem(storageKey);
  changed(next);
  if (next) begun.dispatchEvent(new Event("login"));
}

/** Waits for the next login, in any tab, or until the signal aborts. */
export const nextLogin = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => {
    begun.addEventListener("login", resolve, { once: true, signal });
    signal.addEventListener("abort", resolve, { once: true });
  });

tabs.onmessage = ({ data }: MessageEvent<Message>) => {
  if ("login" in data) {
    if (!data.login) forgetDrafts();
    setLogin(data.login);
  } else if (login) tabs.postMessage({ login });
};

const settings = document.getElementById("inbox")?.dataset;

/** Whether users sign in with an account, at a provider. */
export const withAccounts = settings?.signIn === "account";

/** With accounts, tokens are accepted only from the machine itself at ADMIN_ADDR, in case the provider is unavailable. */
export const acceptsTokens = !withAccounts || settings?.local === "true";

/** Leaves the page to sign in at the provider, which returns immediately if the user is still signed in there. */
export function signIn() {
  location.assign(`${loginPath}?place=${encodeURIComponent(location.hash)}`);
}

/** Continues after the sign-in. */
async function resume() {
  const response = await send(operatorPath, { method: "GET" }).catch(() => undefined);
  if (response?.ok) begin(await response.json());
}

/** The login of this tab: undefined while other tabs are asked for it, null if there is none. */
export function useLogin(): Login | null | undefined {
  const [state, setState] = useState<Login | null | undefined>(login ?? undefined);
  useEffect(() => {
    changed = setState;
    if (login) return;
    tabs.postMessage({ ask: true });
    const timer = setTimeout(async () => {
      if (!login && withAccounts) await resume();
      setState(login);
    }, 150);
    return () => clearTimeout(timer);
  }, []);
  return state;
}

/** Logs in with a token. */
export async function logIn(token: string) {
  const response = await send(loginPath, { method: "POST", body: JSON.stringify({ token }) });
  if (response.status === 401) throw new Failure("refused", words.failures.token);
  const next: Login = await read(response);
  notice = "";
  begin(next);
}

/** Begins a login, in all tabs. */
function begin({ roles, email }: Login) {
  setLogin({ roles, ...(email && { email }) });
  tabs.postMessage({ login });
}

/** Logs out in all tabs, and at the provider if it allows that. */
export async function logOut() {
  const ended = send(loginPath, { method: "DELETE" });
  forgetDrafts();
  setLogin(null);
  tabs.postMessage({ login: null });
  const response = await ended.catch(() => undefined); // the login expires by itself later
  if (response?.status === 200) location.assign((await response.json()).next);
}

/** The headers of a request with a JSON body. */
export const headersFor = (accept: string) => ({ "Content-Type": "application/json", Accept: accept });

async function send(path: string, init: RequestInit): Promise<Response> {
  const headers = headersFor("application/json");
  const signal = AbortSignal.any([AbortSignal.timeout(timeout), ...(init.signal ? [init.signal] : [])]);
  try {
    return await fetch(path, { ...init, headers, signal });
  } catch {
    throw new Failure("offline", words.failures.unreachable, 15);
  }
}

interface FieldError {
  field: string;
  code: string;
  params?: { allowed?: string[] };
}

interface Result {
  data?: unknown;
  errors?: {
    message: string;
    extensions?: { code?: string; requestId?: string; errors?: FieldError[] };
  }[];
  code?: string;
  detail?: string;
}

async function read<T>(response: Response): Promise<T> {
  const wait = Number(response.headers.get("Retry-After")) || 5;
  const result: Result = await response.json().catch(() => ({}));
  const error = result.errors?.[0];
  const code = error?.extensions?.code ?? result.code;
  if (response.status === 401 || code === "UNAUTHENTICATED") {
    notice = words.failures.login;
    const renew = login && withAccounts;
    setLogin(null);
    if (renew) signIn();
    throw new Failure("login", notice);
  }
  if (response.status === 429 || code === "RATE_LIMITED") {
    throw new Failure("limited", words.failures.limited, wait);
  }
  if (response.status === 503 || code === "UPSTREAM_UNAVAILABLE") {
    throw new Failure("offline", words.failures.busy, wait);
  }
  if (code === "NOT_FOUND" && result.data) return result as T; // a lead that does not exist is null
  if (error || !response.ok) throw new Failure("refused", refusal(response.status, result));
  return result as T;
}

/** The reason of a refusal, in the language of the page if the code is known. */
function refusal(status: number, { errors: [error] = [], code, detail }: Result): string {
  switch (error?.extensions?.code ?? code) {
    case "CONFLICT":
      return words.failures.conflict;
    case "NOT_FOUND":
      return words.failures.missing;
    case "INTERNAL":
      return words.failures.internal(error?.extensions?.requestId ?? "?");
  }
  const [wrong] = error?.extensions?.errors ?? [];
  if (wrong?.field === "owner" && wrong.code === "not_allowed") return words.failures.stranger;
  if (wrong) return words.failures.invalid(nameOf(wrong.field), wrong.params?.allowed ?? []);
  return error?.message ?? detail ?? words.failures.status(status);
}

/** The name that a field of a request has in the page, or else in the API. */
function nameOf(field: string): string {
  const name = field.replace(/\[.*/, "").split(".").at(-1) ?? field;
  const names: Record<string, string> = {
    state: words.list.state,
    status: words.work.status,
    owner: words.work.owner,
    operator: words.audit.operator,
    locale: words.list.language,
    results: words.outcome.title,
    source: words.origin.source,
    campaign: words.origin.campaign,
    consent: words.list.consent,
    projectType: words.lead.fields.projectType,
    currency: words.outcome.currency,
    amountFrom: words.list.amountFrom,
    amountTo: words.list.amountTo,
    since: words.list.submittedFrom,
    until: words.list.submittedUntil,
    action: words.audit.action,
    email: words.lead.email,
    lead: words.lead.label,
  };
  return names[name] ?? name;
}

/** Sends an operation. An aborted request fails like one without a response. */
export async function ask<R, V>(document: TypedDocumentString<R, V>, variables: V, signal?: AbortSignal): Promise<R> {
  const body = JSON.stringify({ query: document.toString(), variables });
  const response = await send(graphqlPath, { method: "POST", body, ...(signal && { signal }) });
  return (await read<{ data: R }>(response)).data;
}

/** The state of a view's query, and the actions on it. */
export interface Query<T> extends State<T> {
  reload: () => void;
  /** Loads newer data in the background, and may fail. The current data stays until then. */
  refresh: () => Promise<void>;
  /** Replaces the data after a change. */
  update: (change: (data: T) => T) => void;
}

/** Runs a query when the view appears and when the variables change. Responses to older variables are dropped. */
export function useQuery<R, V>(document: TypedDocumentString<R, V>, variables: V): Query<R> {
  return useData(JSON.stringify(variables), (signal) => ask(document, variables, signal));
}

interface State<T> {
  /** The latest data, also while newer data is loading, unless the question was refused. */
  data?: T | undefined;
  failure?: Failure;
  loading: boolean;
}

function useData<T>(question: string, fetchData: (signal: AbortSignal) => Promise<T>): Query<T> {
  const [state, setState] = useState<State<T>>({ loading: true });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  useEffect(() => {
    const abort = new AbortController();
    setState(({ data }) => ({ data, loading: true }));
    fetchData(abort.signal).then(
      (data) => abort.signal.aborted || setState({ data, loading: false }),
      (failure) =>
        abort.signal.aborted ||
        setState(({ data }) => ({ data: failure.kind === "refused" ? undefined : data, failure, loading: false })),
    );
    return () => abort.abort();
  }, [question, round]);

  // Transient failures are retried automatically.
  const wait = state.failure?.retryAfter;
  useEffect(() => {
    if (!wait) return;
    const timer = setTimeout(reload, wait * 1000);
    addEventListener("online", reload);
    return () => {
      clearTimeout(timer);
      removeEventListener("online", reload);
    };
  }, [state.failure]);
  const update = (change: (data: T) => T) => setState((s) => (s.data === undefined ? s : { ...s, data: change(s.data) }));
  const loading = useRef(state.loading);
  loading.current = state.loading;
  const refresh = async () => {
    const data = await fetchData(new AbortController().signal);
    if (loading.current) return reload(); // the data that is being loaded may be older
    setState((s) => (s.loading ? s : { data, loading: false }));
  };
  return { ...state, reload, refresh, update };
}

/** A page of a cursor connection. */
interface Connection<N> {
  readonly edges: readonly { readonly node: N }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** A list that grows page by page. */
export interface List<N> extends Omit<Query<unknown>, "update"> {
  nodes: readonly N[] | undefined;
  hasMore: boolean;
  more: () => void;
  /** Replaces a node after a change. */
  replace: (node: { readonly id: string }) => void;
  /**
   * Reloads the displayed nodes. They keep their places and get new contents. Nodes that are no longer in the list are
   * removed, except the one with the id to keep. New nodes are not shown until the list is reloaded.
   */
  renew: (keep?: string) => Promise<void>;
  /** The number of new nodes that are not shown yet. */
  news: number;
}

const maxNodes = 500; // of a page

/** Loads the first page, and further pages by cursor. */
export function useList<R, V extends { first: number; after?: string | null | undefined }, N extends { readonly id: string }>(
  document: TypedDocumentString<R, V>,
  variables: V,
  connection: (data: R) => Connection<N>,
): List<N> {
  const question = JSON.stringify(variables);
  const askPage = async (changes: Partial<V>, signal?: AbortSignal) =>
    connection(await ask(document, { ...variables, ...changes }, signal));
  const query = useData(question, (signal) => askPage({}, signal));
  const [failure, setFailure] = useState<Failure>();
  const [news, setNews] = useState(0);
  const asking = useRef<Connection<N>>(undefined);
  const page = query.data;
  const latest = useRef({ page, question });
  latest.current = { page, question };
  useEffect(() => setNews(0), [query.loading, question]);

  const more = async () => {
    if (!page?.pageInfo.hasNextPage || query.loading || asking.current === page) return;
    asking.current = page;
    setFailure(undefined);
    try {
      const { edges, pageInfo } = await askPage({ after: page.pageInfo.endCursor } as Partial<V>);
      query.update((now) => (now === page ? { edges: [...page.edges, ...edges], pageInfo } : now));
    } catch (e) {
      setFailure(e as Failure);
    }
    asking.current = undefined;
  };
  const renew = async (keep?: string) => {
    const asked = latest.current;
    if (!asked.page) return;
    const first = Math.min(Math.max(asked.page.edges.length, variables.first), maxNodes);
    const fresh = await askPage({ first } as Partial<V>);
    if (latest.current.question !== question) return;
    const { page: shown = asked.page } = latest.current;
    const merged = merge(shown, fresh, keep);
    query.update(() => merged.page);
    setNews(merged.news);
  };
  const replace = (next: { readonly id: string }) =>
    query.update(({ edges, pageInfo }) => ({
      edges: edges.map(({ node }) => ({ node: node.id === next.id ? { ...node, ...next } : node })),
      pageInfo,
    }));
  return {
    ...query,
    ...(failure && { failure }),
    nodes: page?.edges.map((edge) => edge.node),
    hasMore: !!page?.pageInfo.hasNextPage,
    more,
    replace,
    renew,
    news,
  };
}

/** Updates the displayed nodes, and counts the new nodes before the last displayed one. */
function merge<N extends { readonly id: string }>(shown: Connection<N>, fresh: Connection<N>, keep: string | undefined) {
  if (shown.edges.length === 0) return { page: fresh, news: 0 };
  const now = new Map(fresh.edges.map(({ node }) => [node.id, node]));
  const before = new Set(shown.edges.map(({ node }) => node.id));
  // Nodes beyond the end of a partial response may still be in the list.
  const end = fresh.pageInfo.hasNextPage
    ? shown.edges.findLastIndex(({ node }) => now.has(node.id))
    : shown.edges.length - 1;
  const edges = shown.edges.flatMap(({ node }, i) => {
    const next = now.get(node.id) ?? (i > end || node.id === keep ? node : undefined);
    return next ? [{ node: next }] : [];
  });
  const last = fresh.edges.findLastIndex(({ node }) => before.has(node.id));
  const isNew = ({ node }: { node: N }, i: number) => !before.has(node.id) && (i < last || last < 0);
  return { page: { edges, pageInfo: shown.pageInfo }, news: fresh.edges.filter(isNew).length };
}
