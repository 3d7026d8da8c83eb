// The page around the calculator: its title and heading, and the choice of a language, which stands in the URL.
import "./main.css";

const titles: Record<string, [language: string, title: string, headline: string]> = {
  en: ["English", "Price calculator", "What will your project cost?"],
  es: ["Español", "Calculadora de precios", "¿Cuánto costará su proyecto?"],
  ro: ["Română", "Calculator de preț", "Cât va costa proiectul dumneavoastră?"],
};
const locales = Object.keys(titles);
const nav = document.querySelector("nav")!;

/** Returns the language of the URL, else the first of the browser's languages that the page has. */
function wanted(): string {
  const tags = [new URLSearchParams(location.search).get("lang"), ...navigator.languages.map((tag) => tag.slice(0, 2))];
  return tags.find((tag): tag is string => locales.includes(tag ?? "")) ?? "en";
}

/** Returns the page's URL in a language, with the other parameters, such as the visitor's attribution. */
function addressIn(locale: string): string {
  const query = new URLSearchParams(location.search);
  query.set("lang", locale);
  return `?${query}${location.hash}`;
}

function show(locale: string) {
  const [, title, headline] = titles[locale]!;
  document.documentElement.lang = locale;
  document.title = title;
  document.querySelector("h1")!.textContent = headline;
  document.querySelector("siteapi-calculator")!.setAttribute("locale", locale);
  for (const link of nav.querySelectorAll("a")) {
    link.href = addressIn(link.lang);
    link.toggleAttribute("aria-current", link.lang === locale);
  }
}

nav.ariaLabel = locales.map((locale) => titles[locale]![0]).join(", ");
for (const locale of locales) {
  const link = document.createElement("a");
  link.lang = link.hreflang = locale;
  link.textContent = locale.toUpperCase();
  link.ariaLabel = `${link.textContent} ${titles[locale]![0]}`;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    history.replaceState(null, "", link.href);
    show(locale);
  });
  nav.append(link);
}
show(wanted());
