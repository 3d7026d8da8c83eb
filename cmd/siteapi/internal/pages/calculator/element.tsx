// Defines <siteapi-calculator>: the calculator in a shadow root, for a page of any site.
import { render } from "preact";
import type { Locale } from "../generated/calculator";
import { separateTexts } from "../translation";
import { Calculator } from "./calculator";
import style from "./calculator.css";
import { newService, type Service } from "./service";
import { locales } from "./words";

/** What the service tells its calculator. */
interface Settings {
  /** Whether the service confirms requests by e-mail. */
  mails: boolean;
  /** A token for drafts, which the service has in development only. */
  preview: string;
}

/** Defines the element for the service at an address. The first definition on a page counts. */
export function define(service: URL, { mails, preview }: Settings) {
  if (customElements.get("siteapi-calculator")) return;

  const base = service.href.replace(/\/$/, "");
  const previewed = new URLSearchParams(location.search).has("preview") ? preview : "";
  const sheet = new CSSStyleSheet(); // unlike a <style>, it needs no permission of the page's policy
  sheet.replaceSync(style);
  separateTexts();

  class SiteapiCalculator extends HTMLElement {
    static observedAttributes = ["locale"];
    #box = document.createElement("div");
    #service: Service | undefined;

    constructor() {
      super();
      const root = this.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [sheet];
      root.append(this.#box);
      this.#box.className = "box";
    }

    connectedCallback() {
      this.#service = newService(base, mails, previewed);
      this.#draw();
    }

    attributeChangedCallback() {
      this.#draw();
    }

    /** The visitor's entries stay in sessionStorage, for a return to the page. */
    disconnectedCallback() {
      render(null, this.#box);
      this.#service?.close();
      this.#service = undefined;
    }

    #draw() {
      if (!this.#service) return;
      const locale = localeOf(this);
      this.#box.lang = locale;
      render(<Calculator key={this.id} host={this} service={this.#service} locale={locale} />, this.#box);
    }
  }
  customElements.define("siteapi-calculator", SiteapiCalculator);
}

/** Returns the language of the attribute, else of the page around the element, else English. */
function localeOf(element: HTMLElement): Locale {
  const page = element.closest("[lang]")?.getAttribute("lang");
  const wanted = [element.getAttribute("locale"), page].map((tag) => tag?.split(/[-_]/)[0]?.toLowerCase());
  return wanted.flatMap((tag) => locales.filter((known) => known === tag))[0] ?? "en";
}
