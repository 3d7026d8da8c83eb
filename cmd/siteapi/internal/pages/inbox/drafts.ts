// What an operator has typed or selected and not sent. It stays in the tab, also on the way to the provider of accounts and
// back, until it is sent or the operator logs out.
import { useState } from "preact/hooks";
import { ownAddress } from "./service";

const prefix = "siteapi-inbox-draft";

/** The key of a draft: another operator who signs in does not see it. */
const keyOf = (name: string) => `${prefix} ${ownAddress() ?? ""} ${name}`;

/** The draft of this name, and a function that changes it. The initial value is no draft. */
export function useDraft<T>(name: string, initial: T): [T, (next: T) => void] {
  const [value, setValue] = useState<T>(() => JSON.parse(sessionStorage.getItem(keyOf(name)) ?? "null") ?? initial);
  const change = (next: T) => {
    if (next === initial) sessionStorage.removeItem(keyOf(name));
    else sessionStorage.setItem(keyOf(name), JSON.stringify(next));
    setValue(next);
  };
  return [value, change];
}

/** Removes all drafts. */
export function forgetDrafts() {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith(prefix)) sessionStorage.removeItem(key);
  }
}
