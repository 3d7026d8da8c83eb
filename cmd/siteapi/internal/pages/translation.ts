// Lets browsers and their extensions translate a page.
import { Fragment, h, options, type ComponentChild, type ComponentChildren } from "preact";

/** Elements that can contain only text. An option is replaced as a whole. */
const textOnly = ["script", "style", "textarea", "title"];

/**
 * Puts each text of the page into an element of its own, which is replaced when the text changes. A translator replaces the
 * text nodes themselves, so the page could not change them any more, or find its place among them.
 */
export function separateTexts() {
  options.vnode = (vnode) => {
    const { type, key } = vnode;
    const props = vnode.props as { children?: ComponentChildren };
    if (type === "option") vnode.key = `${key} ${props.children}`;
    else if (type === Fragment || (typeof type === "string" && type !== tag && !textOnly.includes(type))) {
      props.children = separate(props.children);
    }
  };
}

const tag = "page-text";

function separate(child: ComponentChildren): ComponentChildren {
  if (Array.isArray(child)) return child.map(separate) as ComponentChild[];
  const isText = typeof child === "number" || (typeof child === "string" && child.trim() !== "");
  return isText ? h(tag, { key: child }, child) : child;
}
