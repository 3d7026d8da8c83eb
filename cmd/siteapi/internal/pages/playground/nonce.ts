// The editor and the dialogs add <style> elements as they go. The page's policy admits
// only those that carry the nonce of this answer, so each gets it when it is made.
const { nonce } = document.querySelector<HTMLElement>("[nonce]")!;
const createElement = document.createElement;

document.createElement = function (this: Document, ...args: Parameters<typeof createElement>) {
  const element = createElement.apply(this, args);
  if (element instanceof HTMLStyleElement && nonce) element.nonce = nonce;
  return element;
} as typeof createElement;
