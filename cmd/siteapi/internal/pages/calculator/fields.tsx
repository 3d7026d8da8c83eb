// The form's fields. Labels, hints and errors are associated with their fields for screen readers.
import type { ComponentChildren } from "preact";
import type { Locale } from "../generated/calculator";
import { saveProgress, type Consent } from "./consents";
import type { Phone } from "./phones";
import { allows, countOf, grouped, moneyFormat, plain, quantityField, share, type Estimate, type Group, type Option, type Quantities } from "./quote";
import type { FieldError } from "./service";
import type { Words } from "./words";

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
  locale: Locale;
  estimate: Estimate | null;
  quantities: Quantities;
  explain: (field: string) => string | undefined;
  onQuantity: (slug: string, typed: string) => void;
}

/** One step: radio buttons, or check boxes if several options may be chosen. */
export function Choices({ group, options, t, money, chosen, error, required, several, onChange, ...props }: ChoicesProps) {
  const figure = (amount: number) => <span translate={false}>{money.format(amount)}</span>;
  const price = ({ price: value, percent, unit, unitPrice, tiers }: Option) => {
    const part = percent ? `${percent > 0 ? "+" : "−"} ${share(percent, props.locale)}` : "";
    if (value == null) return null;
    if (unit) {
      const each = unitPrice ?? Math.min(...tiers.map((tier) => tier.unitPrice));
      return (
        <>
          {unitPrice == null && t.from} {figure(each)} / {unit} {value > 0 && <>+ {figure(value)}</>} {part}
        </>
      );
    }
    if (!value) return part || t.included;
    return (
      <>
        {group === "projectType" ? t.from : "+"} {figure(value)} {part}
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
      <legend id={`${group}.title`} part="heading">{t.groups[group]}</legend>
      {several && <p class="hint">{t.several}</p>}
      <ErrorText id={`${group}.error`} text={error} />
      <div class="options">
        {options
          .filter((option) => option.group === group)
          .map((option) => (
            <div class="option" key={option.slug}>
              <label part="choice">
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
              {option.unit && chosen.includes(option.slug) && <Quantity {...{ option, t, ...props }} />}
            </div>
          ))}
      </div>
    </fieldset>
  );
}

type QuantityProps = Pick<ChoicesProps, "t" | "locale" | "estimate" | "quantities" | "explain" | "onQuantity"> & {
  option: Option;
};

/** The quantity of a chosen option, with its bounds and its price. The arrow keys change it by a step. */
function Quantity({ option, t, locale, estimate, quantities, explain, onQuantity }: QuantityProps) {
  const { slug, label, unit, minQuantity, maxQuantity, step } = option;
  const [min, max] = [minQuantity!, maxQuantity!];
  const most = Math.floor(Math.round((max - min) * 100) / Math.round(step! * 100)); // steps
  const count = countOf(option, quantities, locale);
  const error = explain(quantityField(slug));
  const line = estimate?.lines.find((line) => line.slug === slug && line.quantity != null);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!steps) return;
    event.preventDefault();
    const at = Math.round(((count || min) - min) / step!) + steps;
    onQuantity(slug, plain(min + Math.min(Math.max(at, 0), most) * step!, locale));
  };
  return (
    <div class="quantity">
      <input
        {...{ id: `${slug}.quantity`, type: "text", inputMode: "decimal", autocomplete: "off", role: "spinbutton" }}
        part="field"
        value={quantities[slug] ?? plain(count, locale)}
        aria-label={`${label}: ${unit}`}
        aria-valuemin={min}
        aria-valuemax={max}
        aria-valuenow={Number.isNaN(count) ? undefined : count}
        aria-valuetext={`${quantities[slug] ?? plain(count, locale)} ${unit}`}
        aria-invalid={!error && allows(option, count) ? undefined : "true"}
        aria-describedby={error ? `${slug}.error ${slug}.bounds` : `${slug}.bounds`}
        onKeyDown={onKeyDown}
        {...typing((value) => onQuantity(slug, value))}
      />{" "}
      {unit} <span class="amount" translate={!line}>{line ? moneyFormat(locale, estimate?.currency).format(line.amount) : t.open}</span>
      <ErrorText id={`${slug}.error`} text={error} />
      <small id={`${slug}.bounds`}>{t.bounds(grouped(min, locale), grouped(max, locale), grouped(step!, locale))}</small>
    </div>
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
      <legend part="heading">{t.contact}</legend>
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
                part="field"
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
            part="field"
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
