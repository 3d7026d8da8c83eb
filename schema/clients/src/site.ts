// A site's interface to the service, which is the same with every library, and the rule for
// telephone numbers that every client follows.
import type { FieldCode } from "../generated/schema.js";
import type { PhonesQuery, SubmitQuoteInput, SubmitQuoteMutation, TrackQuoteInput, TrackQuoteMutation } from "../generated/operations.js";

export type Settings = NonNullable<PhonesQuery["SiteSettings"]>;
export type Phone = NonNullable<Settings["contactPhones"]>[number];

/** The service as a site uses it. Every method fails with a SiteError. */
export interface SiteClient {
  /** Reads the site's settings; null if the CMS has none. */
  settings(id?: string): Promise<Settings | null>;
  /** Records a visitor's choices so far. */
  track(input: TrackQuoteInput): Promise<TrackQuoteMutation["trackQuote"]>;
  /** Sends a quote request. */
  submit(input: SubmitQuoteInput): Promise<SubmitQuoteMutation["submitQuote"]>;
  /** Removes entries of the cache and returns their number. The client needs the token. */
  clearCache(pattern: string): Promise<number>;
  /** Sends a document without generated types. */
  ask(document: string): Promise<unknown>;
}

/** Options of a client. */
export interface ClientOptions {
  /** URL of the GraphQL endpoint. */
  url: string;
  /** Bearer token for guarded operations. */
  token?: string;
  /** Sends queries by GET, so that browsers and CDNs can cache the responses. */
  get?: boolean;
  /** Sends the hash of a query instead of its text, if the service knows it. */
  persisted?: boolean;
  /** Replaces the global fetch. */
  fetch?: typeof fetch;
}

/** An invalid field. A site translates it into the visitor's language, by code and params. */
export interface InvalidField {
  /** Path of the field, such as `contact.email`. */
  field: string;
  code: FieldCode;
  /** Values to which the code refers, such as `max` with `too_long`. */
  params?: { max?: number; min?: number; field?: string; allowed?: string[]; type?: string };
  /** The same in English, for developers. */
  message: string;
}

/** An error of the service or of the connection to it. */
export class SiteError extends Error {
  override readonly name = "SiteError";

  constructor(
    message: string,
    /** One of the service's codes, or `UNREACHABLE`. */
    readonly code: string,
    /** The fields to correct, with the code `BAD_USER_INPUT`. */
    readonly fields: readonly InvalidField[] = [],
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Returns the error of a GraphQL response with errors. */
  static of(errors: readonly { message: string; extensions?: unknown }[], cause: unknown): SiteError {
    const [first] = errors;
    if (!first) return SiteError.unreachable(cause);
    const { code, errors: fields } = (first.extensions ?? {}) as { code?: string; errors?: InvalidField[] };
    return new SiteError(first.message, code ?? "INTERNAL", fields, { cause });
  }

  /** Returns the error of a failed connection. */
  static unreachable(cause: unknown): SiteError {
    return new SiteError(cause instanceof Error ? cause.message : String(cause), "UNREACHABLE", [], { cause });
  }
}

/**
 * Returns the telephone numbers to show in one place: the `contactPhones` of that place if
 * there are any `contactPhones`, else the legacy number, which is shown everywhere, else none.
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
