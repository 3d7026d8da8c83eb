// The interface of a site to the service, the same with each library, and the rule for
// telephone numbers that every client follows.
import type { FieldCode } from "../generated/schema.js";
import type { PhonesQuery, SubmitQuoteInput, SubmitQuoteMutation, TrackQuoteInput, TrackQuoteMutation } from "../generated/operations.js";

export type Settings = NonNullable<PhonesQuery["SiteSettings"]>;
export type Phone = NonNullable<Settings["contactPhones"]>[number];

/** The service as a site uses it. Every method fails with a SiteError. */
export interface SiteClient {
  /** Reads the site's settings; null where the CMS has none. */
  settings(id?: string): Promise<Settings | null>;
  /** Records what a visitor has chosen so far. */
  track(input: TrackQuoteInput): Promise<TrackQuoteMutation["trackQuote"]>;
  /** Sends a quote request. */
  submit(input: SubmitQuoteInput): Promise<SubmitQuoteMutation["submitQuote"]>;
  /** Removes entries of the cache and returns their number. The client needs the token. */
  clearCache(pattern: string): Promise<number>;
  /** Sends a document that nothing was generated for. */
  ask(document: string): Promise<unknown>;
}

/** How a client is made. */
export interface ClientOptions {
  /** Address of the GraphQL endpoint. */
  url: string;
  /** Bearer token for guarded operations. */
  token?: string;
  /** Sends queries by GET, so that browsers and CDNs can cache their answers. */
  get?: boolean;
  /** Sends the hash of a query instead of its text, if the service knows it. */
  persisted?: boolean;
  /** Takes the place of the global fetch. */
  fetch?: typeof fetch;
}

/** One field that was refused. A site says it in its visitor's language, by code and params. */
export interface InvalidField {
  /** Its path, such as `contact.email`. */
  field: string;
  code: FieldCode;
  /** What the code speaks of, such as `max` with `too_long`. */
  params?: { max?: number; min?: number; field?: string; allowed?: string[]; type?: string };
  /** The same in English, for developers. */
  message: string;
}

/** Why the service, or the way to it, failed. */
export class SiteError extends Error {
  override readonly name = "SiteError";

  constructor(
    message: string,
    /** One of the service's codes, or `UNREACHABLE`. */
    readonly code: string,
    /** What to correct, with the code `BAD_USER_INPUT`. */
    readonly fields: readonly InvalidField[] = [],
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Makes one of the errors of a GraphQL answer. */
  static of(errors: readonly { message: string; extensions?: unknown }[], cause: unknown): SiteError {
    const [first] = errors;
    if (!first) return SiteError.unreachable(cause);
    const { code, errors: fields } = (first.extensions ?? {}) as { code?: string; errors?: InvalidField[] };
    return new SiteError(first.message, code ?? "INTERNAL", fields, { cause });
  }

  /** Makes one of a failure on the way. */
  static unreachable(cause: unknown): SiteError {
    return new SiteError(cause instanceof Error ? cause.message : String(cause), "UNREACHABLE", [], { cause });
  }
}

/**
 * The telephone numbers to show in one place. Where there are `contactPhones`, those of
 * the place; else the legacy number, which belongs everywhere; else none.
 */
export function phonesAt(settings: Settings | null, place: "contact" | "footer"): Phone[] {
  if (settings?.contactPhones?.length) {
    return settings.contactPhones.filter((phone) => phone.displayLocation.includes(place));
  }
  if (settings?.contactPhone) {
    return [{ number: settings.contactPhone, label: null, displayLocation: ["contact", "footer"] }];
  }
  return [];
}
