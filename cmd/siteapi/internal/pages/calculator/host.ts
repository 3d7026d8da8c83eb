// What the calculator and the page around it exchange: events, and the token of a bot check.

/** Cloudflare's widget. The page loads its script and puts it into the element. */
declare const turnstile: { reset(widget: Element): void } | undefined;

/** Dispatches an event that leaves the shadow root and rises through the page. */
export function announce(host: HTMLElement, name: "siteapi-estimate" | "siteapi-submitted", detail: object) {
  host.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail }));
}

/** Returns the token of the bot check inside the element, if there is one. */
export const challengeToken = (host: HTMLElement): string | undefined =>
  host.querySelector<HTMLInputElement>("[name=cf-turnstile-response]")?.value || undefined;

/** Starts the bot check again, because a token can be used once. */
export function renewChallenge(host: HTMLElement) {
  const widget = host.querySelector(".cf-turnstile");
  if (widget && typeof turnstile !== "undefined") turnstile.reset(widget);
}
