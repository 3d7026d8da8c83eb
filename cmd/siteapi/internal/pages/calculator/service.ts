// The calculator's requests: content by GraphQL; the price, tracking and submission by REST.
import { CalculatorDocument, ConsentTextsDocument, ThanksDocument } from "../generated/calculator";
import type {
  CalculatorQuery,
  ConsentTextsQuery,
  EstimateQuoteQuery,
  EstimateSelectionsInput,
  Locale,
  SubmitQuoteInput,
  SubmitQuoteMutation,
  TrackQuoteInput,
  TypedDocumentString,
} from "../generated/calculator";
import type { FieldCode } from "../generated/schema";

/** The site's settings and content in a language. */
export type Site = CalculatorQuery & ConsentTextsQuery;
export type Receipt = SubmitQuoteMutation["submitQuote"];

/** The short form of a request's id, as its PDF shows it. */
export const reference = ({ submissionId }: Receipt) => submissionId.slice(0, 8).toUpperCase();

/** An invalid field: its code, from a closed list, and the code's parameters. */
export interface FieldError {
  field: string;
  code: FieldCode;
  params?: { max?: number; min?: number; field?: string };
}

/** A failed request: one of the service's codes, or UNREACHABLE. BAD_USER_INPUT has the invalid fields. */
export class ServiceError extends Error {
  constructor(
    readonly code: string,
    readonly fields: readonly FieldError[] = [],
  ) {
    super(code);
  }
}

const debounce = 800; // milliseconds from the last change to the request that tracks it
const timeout = 15_000; // milliseconds for one request
const attempts = 5;

export type Service = ReturnType<typeof newService>;

/**
 * Returns a client of the service at an address ("": the page's). With a preview token it reads drafts and stores nothing.
 * The flag mails is whether the service sends visitors a mail that confirms their request.
 */
export function newService(base: string, mails: boolean, preview = "") {
  const drafts: Record<string, string> = preview ? { Authorization: `Bearer ${preview}`, "X-Preview": "drafts" } : {};
  const pending: { input?: TrackQuoteInput; timer?: ReturnType<typeof setTimeout> } = {};
  let attempt = { key: "", body: "" };

  /** Sends the pending state. A beacon outlives the page; its body is sent as text/plain. */
  function flush() {
    if (!pending.input) return;
    navigator.sendBeacon(`${base}/api/quote/track`, JSON.stringify(pending.input));
    forget();
  }
  function forget() {
    clearTimeout(pending.timer);
    delete pending.input;
  }
  const end = new AbortController();
  addEventListener("pagehide", flush, { signal: end.signal });
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && flush(), end);

  return {
    base,
    preview: preview !== "",
    mails,

    /** Sends what is pending, and ends. */
    close() {
      flush();
      end.abort();
    },

    /** In a preview, calls a function after each edit. Returns a function that stops this. */
    follow(changed: () => void): () => void {
      const end = new AbortController();
      const again = () => !end.signal.aborted && setTimeout(read, 1000);
      const read = () => void readChanges(changed, end.signal).catch(() => {}).then(again);
      if (preview) read();
      return () => end.abort();
    },

    /** Reads the site's settings and content in a language. */
    async read(locale: Locale): Promise<Site> {
      const [site, asked] = await Promise.all([
        query(CalculatorDocument, { locale }),
        query(ConsentTextsDocument, { locale }).catch(nothingIfUnserved),
      ]);
      return { ...site, ...asked };
    },

    /** Requests the price of the current choices. */
    async estimate(selections: EstimateSelectionsInput, locale: Locale): Promise<EstimateQuoteQuery["estimateQuote"]> {
      const response = await post("/api/quote/estimate", JSON.stringify({ selections, locale }), drafts);
      if (!response.ok) throw new ServiceError((await response.json().catch(() => null))?.code ?? "INTERNAL");
      return response.json();
    },

    /** Tracks the current choices once nothing has changed for a while. Losing a state is harmless. */
    track(input: TrackQuoteInput) {
      forget();
      if (preview) return;
      pending.input = input;
      pending.timer = setTimeout(() => {
        forget();
        void post("/api/quote/track", JSON.stringify(input)).catch(() => {});
      }, debounce);
    },

    /**
     * Sends the quote request. If the response is lost or the service is busy, the same content is sent again with the same
     * key, which creates no second lead; other content gets a new key. Rejects with a ServiceError.
     */
    async submit(input: SubmitQuoteInput, onRetry: () => void): Promise<Receipt> {
      flush();
      const body = JSON.stringify(input);
      if (attempt.body !== body) attempt = { key: randomId(), body };
      for (let tried = 1; ; tried++) {
        const response = await post("/api/quote/submit", body, { "Idempotency-Key": attempt.key }).catch(() => null);
        const result = await response?.json().catch(() => null);
        if (response?.ok && result?.success) return result;
        if (response && response.status < 500 && response.status !== 429) {
          attempt = { key: "", body: "" }; // rejected: the next request is a new attempt
          throw new ServiceError(result?.code ?? "INTERNAL", result?.errors ?? []);
        }
        if (tried === attempts) throw new ServiceError(result?.code ?? "UNREACHABLE");
        onRetry();
        const asked = Number(response?.headers.get("Retry-After") ?? 0);
        await new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(Math.max(asked, 2 ** (tried - 1)), 30)));
      }
    },

    /** Reads the firm's own thanks for an accepted request, in paragraphs. */
    async thanks(receipt: Receipt, locale: Locale): Promise<readonly string[]> {
      const { quotePage } = await query(ThanksDocument, { id: receipt.submissionId, locale });
      return quotePage?.thanks ?? [];
    },

    /** Returns the address of the page of an accepted request. */
    page: (receipt: Receipt, locale: Locale) =>
      `${new URL(receipt.quoteUrl, new URL(base, location.href)).href}&locale=${locale}`,

    /** Returns the address of the PDF of an accepted request. */
    pdf: (receipt: Receipt, locale: Locale) => `${base}${receipt.pdfUrl}&locale=${locale}`,
  };

  /** Sends a query: by GET, which browsers and CDNs can cache, unless it reads drafts. */
  async function query<R, V>(operation: TypedDocumentString<R, V>, variables: V): Promise<R> {
    const parameters = { query: operation.toString(), variables: JSON.stringify(variables) };
    const response = preview
      ? await post("/graphql", JSON.stringify({ query: parameters.query, variables }), drafts)
      : await fetch(`${base}/graphql?${new URLSearchParams(parameters)}`, { signal: AbortSignal.timeout(timeout) });
    const { data, errors } = await response.json();
    if (errors?.length || !data) throw new ServiceError(errors?.[0]?.extensions?.code ?? "INTERNAL");
    return data;
  }

  /** Reads a stream of events to its end. The first event arrives immediately. */
  async function readChanges(changed: () => void, signal: AbortSignal) {
    const headers = { "Content-Type": "application/json", Accept: "text/event-stream", ...drafts };
    const query = "subscription { contentChanged { keys } }";
    const response = await fetch(`${base}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }), signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); response.ok && !part.done; part = await reader.read()) {
      if (part.value.includes("data:")) changed();
    }
  }

  function post(path: string, body: string, headers = {}) {
    return fetch(base + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body,
      signal: AbortSignal.timeout(timeout),
    });
  }
}

/** A site without requests for consent need not serve their type. After any other error it is unknown whether to ask. */
function nothingIfUnserved(error: unknown): ConsentTextsQuery {
  const unserved = error instanceof ServiceError && error.code === "BAD_USER_INPUT";
  if (!unserved) throw error;
  return { consents: [] };
}

/** Returns 128 random bits. crypto.randomUUID does not exist on pages that are not served over HTTPS. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
