// The editor and the dialogs add <style> elements dynamically. The page's policy allows only
// elements with the nonce of this response, so each gets it when it is created.
const { nonce } = document.querySelector<HTMLElement>("[nonce]")!;
const createElement = document.createElement;

document.createElement = function (this: Document, ...args: Parameters<typeof createElement>) {
  const element = createElement.apply(this, args);
  if (element instanceof HTMLStyleElement && nonce) element.nonce = nonce;
  return element;
} as typeof createElement;
