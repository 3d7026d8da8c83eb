/** Default tokens of the service in development. */
export declare const tokens: { readonly cache: string; readonly webhook: string };

/** The binary to test. */
export declare const binary: string;

/** A service under test. */
export interface Service {
  /** Its address, without a path. */
  readonly base: string;
  /** Its data folder. */
  readonly folder: string;
  /** Ends the service and removes its data. */
  stop(): Promise<void>;
  /** Replaces the content of the CMS and calls the webhook, as the CMS would. */
  publish(documents: readonly object[]): Promise<void>;
}

/** Starts the service in development with additional settings, which may depend on its address. */
export declare function startService(
  settings?: Record<string, string> | ((base: string) => Record<string, string>),
  program?: string,
): Promise<Service>;
