// The form's fields. Labels, hints and errors are associated with their fields for screen readers.
import type { ComponentChildren } from "preact";
import type { Locale } from "../generated/calculator.js";
import { saveProgress, type Consent } from "./consents.js";
import type { Phone } from "./phones.js";
import type { Group, Option } from "./quote.js";
import type { FieldError } from "./service.js";
import type { Words } from "./words.js";

/** The invalid fields, by their names in the request. */
export type Errors = Partial<Record<string, FieldError>>;

const ErrorText = ({ id, text }: { id: string; text: string | undefined }) =>
  text ? (
    <p class="error" id={id}>
      {text}
    </p>
  ) : null;

interface ChoicesProps {
  group: Group;
  options: Option[];
  t: Words;
  money: Intl.NumberFormat;
  chosen: string[];
  error: string | undefined;
  required?: boolean;
  several?: boolean;
  onChange: (slugs: string[]) => void;
}

/** One step: radio buttons, or check boxes if several options may be chosen. */
export function Choices({ group, options, t, money, chosen, error, required, several, onChange }: ChoicesProps) {
  const price = ({ price: value, percent }: Option) => {
    const share = percent ? `${percent > 0 ? "+" : "−"} ${Math.abs(percent)} %` : "";
    if (value === undefined && percent === undefined) return null;
    if (!value) return share || t.included;
    return (
      <>
        {group === "projectType" ? t.from : "+"} <span translate={false}>{money.format(value)}</span> {share}
      </>
    );
  };
  const toggle = (slug: string, on: boolean) =>
    several ? onChange(on ? [...chosen, slug] : chosen.filter((other) => other !== slug)) : onChange([slug]);
  return (
    <fieldset
      class={group}
      role={several ? "group" : "radiogroup"}
      aria-labelledby={`${group}.title`}
      aria-describedby={error && `${group}.error`}
      aria-invalid={error ? "true" : undefined}
      aria-required={required ? "true" : undefined}
    >
      <legend id={`${group}.title`}>{t.groups[group]}</legend>
      {several && <p class="hint">{t.several}</p>}
      <ErrorText id={`${group}.error`} text={error} />
      <div class="options">
        {options
          .filter((option) => option.group === group)
          .map((option) => (
            <label key={option.slug}>
              <input
                type={several ? "checkbox" : "radio"}
                name={group}
                value={option.slug}
                checked={chosen.includes(option.slug)}
                onChange={(event) => toggle(option.slug, event.currentTarget.checked)}
              />
              <span class="name">{option.label}</span>
              <span class="price">{price(option)}</span>
            </label>
          ))}
      </div>
    </fieldset>
  );
}

/** In a field of the type `email`, Chromium replaces letters of the domain, such as faß.de by fass.de. */
const email = { type: "text", inputMode: "email", autocapitalize: "none", spellcheck: false } as const;
const textFields = [
  { name: "firstName", type: "text", autocomplete: "given-name", required: true },
  { name: "lastName", type: "text", autocomplete: "family-name", required: true },
  { name: "email", ...email, autocomplete: "email", required: true },
  { name: "phone", type: "tel", autocomplete: "tel", required: false },
  { name: "company", type: "text", autocomplete: "organization", required: false },
] as const;

/** Handlers of a text field. Some browsers and password managers fill it in with a `change` event only. */
function typing(set: (value: string) => void) {
  const handle = (event: { currentTarget: { value: string } }) => set(event.currentTarget.value);
  return { onInput: handle, onChange: handle };
}
type Name = (typeof textFields)[number]["name"];

interface ContactProps {
  t: Words;
  contact: Record<Name, string>;
  explain: (field: string) => string | undefined;
  onChange: (name: Name, value: string) => void;
  website: string;
  onWebsite: (value: string) => void;
  message: string;
  onMessage: (value: string) => void;
  children: ComponentChildren;
}

const mostMessage = 2000; // characters

export function Contact({ t, contact, explain, onChange, website, onWebsite, ...props }: ContactProps) {
  const messageError = explain("message");
  return (
    <fieldset class="contact">
      <legend>{t.contact}</legend>
      <p class="hint">{t.contactHint}</p>
      <div class="inputs">
        {textFields.map(({ name, required, ...attributes }) => {
          const error = explain(`contact.${name}`);
          return (
            <div key={name} class={name}>
              <label for={name}>
                {t.fields[name]} {!required && <small>{t.optional}</small>}
              </label>
              <input
                {...{ id: name, name, ...(attributes as { type: "text" }) }}
                value={contact[name]}
                aria-required={required ? "true" : undefined}
                aria-invalid={error ? "true" : undefined}
                aria-describedby={error && `${name}.error`}
                {...typing((value) => onChange(name, value))}
              />
              <ErrorText id={`${name}.error`} text={error} />
            </div>
          );
        })}
        <div class="message">
          <label for="message">
            {t.message} <small>{t.optional}</small>
          </label>
          <textarea
            {...{ id: "message", name: "message", rows: 4, maxLength: mostMessage, value: props.message }}
            aria-invalid={messageError ? "true" : undefined}
            aria-describedby={messageError && "message.error"}
            {...typing(props.onMessage)}
          />
          <ErrorText id="message.error" text={messageError} />
        </div>
        <div class="offscreen" aria-hidden="true">
          <input
            {...{ name: "website", tabIndex: -1, autocomplete: "off", value: website }}
            {...typing(onWebsite)}
          />
        </div>
      </div>
      {props.children}
    </fieldset>
  );
}

interface PrivacyProps {
  t: Words;
  consents: Consent[];
  onConsent: (consent: Consent, given: boolean) => void;
  url: string | null | undefined;
}

/** A note on saved data, the site's privacy policy, and a box for each requested consent. */
export function Privacy({ t, consents, onConsent, url }: PrivacyProps) {
  const asksToSave = consents.some(({ purpose }) => purpose === saveProgress);
  return (
    <>
      <p class="note">
        {asksToSave ? t.privacyAsked : t.privacy}{" "}
        {url && /^https?:/i.test(url) && <a href={url}>{t.privacyPolicy}</a>}
      </p>
      {consents.map((consent) => (
        <label class="consent" key={consent.purpose}>
          <input
            type="checkbox"
            name={consent.purpose}
            checked={consent.given}
            onChange={(event) => onConsent(consent, event.currentTarget.checked)}
          />
          <span>{consent.text}</span>
        </label>
      ))}
    </>
  );
}

/** Telephone numbers with their labels in the visitor's language. */
export function Phones({ title, phones, locale }: { title?: string; phones: Phone[]; locale: Locale }) {
  if (!phones.length) return null;
  return (
    <div class="phones">
      {title && <h2>{title}</h2>}
      <ul>
        {phones.map(({ number, label, link }) => (
          <li key={number}>
            <span>{label?.[locale] ?? label?.en}</span> {link ? <a href={link}>{number}</a> : number}
          </li>
        ))}
      </ul>
    </div>
  );
}
