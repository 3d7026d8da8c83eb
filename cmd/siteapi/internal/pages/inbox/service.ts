// The login at the service, and asking its GraphQL endpoint. The token is typed once and never kept here: the
// service answers it with an HttpOnly cookie. What the user may do is kept in sessionStorage, for this tab.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { TypedDocumentString } from "../generated/inbox";
import { words } from "./words";

const operatorPath = "/admin/operator";
export const graphqlPath = "/admin/graphql";
const loginPath = "/admin/login";
const placeKey = "siteapi-inbox-place";
const storageKey = "siteapi-inbox-session";
const patience = 60_000; // how long an answer may take, in milliseconds

/** Why an operation failed, in words for the user. */
export class Failure extends Error {
  constructor(
    readonly kind: "session" | "limited" | "offline" | "refused",
    message: string,
    /** Seconds to wait before it is tried again. */
    readonly retryAfter = 0,
  ) {
    super(message);
  }
}

/** What the user may do; each role may do what the ones before it may. */
export type Role = "VIEWER" | "SALES" | "ADMIN";
const roles: Role[] = ["VIEWER", "SALES", "ADMIN"];

interface Session {
  role: Role;
  /** Of the account that signed in, if its provider has verified it. */
  email?: string;
}

type Message = { ask: true } | { session: Session | null };

// Tabs share the session, so that a link opened in another tab needs no second login.
const tabs = new BroadcastChannel("siteapi-inbox");
let session: Session | null = JSON.parse(sessionStorage.getItem(storageKey) ?? "null");
let changed: (session: Session | null) => void = () => {};

/** Whether the user has a role. */
export const may = (role: Role) => !!session && roles.indexOf(session.role) >= roles.indexOf(role);

/** The user's own address, where it is known. */
export const ownAddress = () => session?.email;

/** Why the session has ended, for the form that starts another one. */
export let notice = "";

function setSession(next: Session | null) {
  session = next;
  if (next) sessionStorage.setItem(storageKey, JSON.stringify(next));
  else sessionStorage.removeItem(storageKey);
  changed(next);
}

tabs.onmessage = ({ data }: MessageEvent<Message>) => {
  if ("session" in data) setSession(data.session);
  else if (session) tabs.postMessage({ session });
};

/** Whether users sign in with an account, at a provider. */
export const withAccounts = document.getElementById("inbox")?.dataset.signIn === "account";

/** Leaves the page to sign in at the provider, which comes back at once if it still knows the user. */
export function signIn() {
  sessionStorage.setItem(placeKey, location.hash);
  location.assign(loginPath);
}

/** Takes up the session that signing in has started, where the user was before. */
async function arrive() {
  const response = await send(operatorPath, { method: "GET" }).catch(() => undefined);
  if (!response?.ok) return;
  const { role, email }: Session = await response.json();
  const place = sessionStorage.getItem(placeKey);
  if (place) history.replaceState(null, "", place);
  sessionStorage.removeItem(placeKey);
  setSession({ role, ...(email && { email }) });
  tabs.postMessage({ session });
}

/** The session of this tab: undefined while other tabs are asked for it, null where there is none. */
export function useSession(): Session | null | undefined {
  const [state, setState] = useState<Session | null | undefined>(session ?? undefined);
  useEffect(() => {
    changed = setState;
    if (session) return;
    tabs.postMessage({ ask: true });
    const timer = setTimeout(async () => {
      if (!session && withAccounts) await arrive();
      setState(session);
    }, 150);
    return () => clearTimeout(timer);
  }, []);
  return state;
}

/** Starts a session with a token. */
export async function logIn(token: string) {
  const response = await send(loginPath, { method: "POST", body: JSON.stringify({ token }) });
  if (response.status === 401) throw new Failure("refused", words.failures.token);
  const { role }: Session = await read(response);
  notice = "";
  setSession({ role });
  tabs.postMessage({ session });
}

/** Ends the session, in all tabs. */
export async function logOut() {
  const ended = send(loginPath, { method: "DELETE" });
  setSession(null);
  tabs.postMessage({ session: null });
  await ended.catch(() => {}); // it ends by itself later
}

/** The headers of a request with a JSON body. */
export const headersFor = (accept: string) => ({ "Content-Type": "application/json", Accept: accept });

async function send(path: string, init: RequestInit): Promise<Response> {
  const headers = headersFor("application/json");
  const signal = AbortSignal.any([AbortSignal.timeout(patience), ...(init.signal ? [init.signal] : [])]);
  try {
    return await fetch(path, { ...init, headers, signal });
  } catch {
    throw new Failure("offline", words.failures.unreachable, 15);
  }
}

interface Answer {
  data?: unknown;
  errors?: { message: string; extensions?: { code?: string; requestId?: string } }[];
  code?: string;
  detail?: string;
}

async function read<T>(response: Response): Promise<T> {
  const wait = Number(response.headers.get("Retry-After")) || 5;
  const answer: Answer = await response.json().catch(() => ({}));
  const error = answer.errors?.[0];
  const code = error?.extensions?.code ?? answer.code;
  if (response.status === 401 || response.status === 403 || code === "UNAUTHENTICATED") {
    notice = words.failures.session;
    const renew = session && withAccounts;
    setSession(null);
    if (renew) signIn();
    throw new Failure("session", notice);
  }
  if (response.status === 429 || code === "RATE_LIMITED") {
    throw new Failure("limited", words.failures.limited, wait);
  }
  if (response.status === 503 || code === "UPSTREAM_UNAVAILABLE") {
    throw new Failure("offline", words.failures.busy, wait);
  }
  if (error || !response.ok) throw new Failure("refused", refusal(response.status, answer));
  return answer as T;
}

/** Why an operation was refused, in the language of the page where the service's code says it. */
function refusal(status: number, { errors: [error] = [], code, detail }: Answer): string {
  switch (error?.extensions?.code ?? code) {
    case "CONFLICT":
      return words.failures.conflict;
    case "NOT_FOUND":
      return words.failures.missing;
    case "INTERNAL":
      return words.failures.internal(error?.extensions?.requestId ?? "?");
  }
  return error?.message ?? detail ?? words.failures.status(status);
}

/** Sends an operation. A request that is aborted fails like one that gets no answer. */
export async function ask<R, V>(document: TypedDocumentString<R, V>, variables: V, signal?: AbortSignal): Promise<R> {
  const body = JSON.stringify({ query: document.toString(), variables });
  const response = await send(graphqlPath, { method: "POST", body, ...(signal && { signal }) });
  return (await read<{ data: R }>(response)).data;
}

/** The answer to a question that a view asks, and what the view can do with it. */
export interface Query<T> {
  /** The latest answer; while another is awaited still the one before. */
  data?: T | undefined;
  failure?: Failure;
  loading: boolean;
  reload: () => void;
  /** Asks again in the background, and may fail: the present answer stays until there is a newer one. */
  refresh: () => Promise<void>;
  /** Replaces the answer after a change. */
  update: (change: (data: T) => T) => void;
}

/** Asks when the view appears and whenever the variables change; the answer to an older question is dropped. */
export function useQuery<R, V>(document: TypedDocumentString<R, V>, variables: V): Query<R> {
  return useAnswer(JSON.stringify(variables), (signal) => ask(document, variables, signal));
}

interface State<T> {
  data?: T | undefined;
  failure?: Failure;
  loading: boolean;
}

function useAnswer<T>(question: string, fetchAnswer: (signal: AbortSignal) => Promise<T>): Query<T> {
  const [state, setState] = useState<State<T>>({ loading: true });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  useEffect(() => {
    const abort = new AbortController();
    setState(({ data }) => ({ data, loading: true }));
    fetchAnswer(abort.signal).then(
      (data) => abort.signal.aborted || setState({ data, loading: false }),
      (failure) => abort.signal.aborted || setState(({ data }) => ({ data, failure, loading: false })),
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
    const data = await fetchAnswer(new AbortController().signal);
    if (loading.current) return reload(); // what is being loaded may be older
    setState((s) => (s.loading ? s : { data, loading: false }));
  };
  return { ...state, reload, refresh, update };
}

/** A page of a cursor connection. */
interface Connection<N> {
  readonly edges: readonly { readonly node: N }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** A list that grows by a page at a time. */
export interface List<N> extends Omit<Query<unknown>, "update"> {
  nodes: readonly N[] | undefined;
  hasMore: boolean;
  more: () => void;
  /** Replaces a node after a change. */
  replace: (node: { readonly id: string }) => void;
  /**
   * Asks again for what is shown. Nodes stay where they are and get their new contents; those that the list does not
   * hold any more go, but for the one with the id to keep. New ones are not shown until the list is loaded again.
   */
  renew: (keep?: string) => Promise<void>;
  /** How many new nodes wait for that. */
  news: number;
}

const mostNodes = 500; // of a page

/** Asks for the first page, and for the next ones by cursor. */
export function useList<R, V extends { first: number; after?: string | null | undefined }, N extends { readonly id: string }>(
  document: TypedDocumentString<R, V>,
  variables: V,
  connection: (data: R) => Connection<N>,
): List<N> {
  const question = JSON.stringify(variables);
  const askPage = async (changes: Partial<V>, signal?: AbortSignal) =>
    connection(await ask(document, { ...variables, ...changes }, signal));
  const query = useAnswer(question, (signal) => askPage({}, signal));
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
    const first = Math.min(Math.max(asked.page.edges.length, variables.first), mostNodes);
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

/** Brings what is shown up to date, and counts the new nodes before the last one that is shown. */
function merge<N extends { readonly id: string }>(shown: Connection<N>, fresh: Connection<N>, keep: string | undefined) {
  if (shown.edges.length === 0) return { page: fresh, news: 0 };
  const now = new Map(fresh.edges.map(({ node }) => [node.id, node]));
  const before = new Set(shown.edges.map(({ node }) => node.id));
  // What the answer ends before may still be in the list.
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
