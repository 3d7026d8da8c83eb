// One lead: the request, its state and its actions.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import {
  DeclineDeletionDocument,
  LeadDocument,
  LeadPdfDocument,
  MarkLeadAnsweredDocument,
  ResendLeadDocument,
  type UnfinishedQuery,
  WithdrawConsentDocument,
  type WholeLeadFragment as Lead,
} from "../generated/inbox";
import { History } from "./audit";
import { useChanges } from "./changes";
import { Decisions, DeliveryCard } from "./deliveries";
import { useDraft } from "./drafts";
import { Erase, type Erased } from "./erase";
import { save } from "./export";
import { amount, decimal, exact, languageName, plural, rate, unitAmount } from "./format";
import { useLabel } from "./labels";
import { Action, addressField, Avatar, Card, Chip, Empty, Estimate, Fact, FullName, Icon, nameOf, Pending, submits, Time, toast, useAction, useNow } from "./parts";
import { Reasons, Review } from "./review";
import { address, readRoute } from "./route";
import { ask, may, useQuery } from "./service";
import { asksForDeletion, isSettled, isUnderWay, mailSubject, mark } from "./states";
import { words } from "./words";
import { changedLead, type LeadProps, Work } from "./work";

interface Props {
  id: string;
  close: () => void;
  /** Called with the lead after each change. */
  update: (lead: Lead) => void;
  erased: () => void;
}

/** A lead, and the dialog that erases it or its person. The dialog stays open after the erasure, because it shows the receipt. */
export function LeadDetail({ erased, ...props }: Props) {
  const [erasing, setErasing] = useState<Erased>();
  const end = (finished: boolean) => {
    setErasing(undefined);
    if (finished) props.close();
  };
  return (
    <>
      <WholeLead {...props} erase={setErasing} />
      {erasing && <Erase what={erasing} close={end} erased={erased} />}
    </>
  );
}

function WholeLead({ id, close, update, erase }: Omit<Props, "erased"> & { erase: (what: Erased) => void }) {
  const { query, lead, news, change } = useLead(id);
  const now = useNow();
  useEffect(() => {
    if (lead) update(lead);
  }, [lead]);

  if (!query.data) return <Pending query={query} rows={5} />;
  if (!lead) {
    return (
      <Empty title={words.lead.missing} hint={words.lead.missingHint}>
        <button type="button" onClick={close}>{words.lead.back}</button>
      </Empty>
    );
  }
  const { contact } = lead;
  const decided = !undecided(lead);
  const failed = lead.state === "FAILED";
  const deliveries = !!lead.deliveries?.length && (
    <Deliveries lead={lead} now={now} change={change} reload={query.reload} />
  );
  return (
    <article class="lead">
      <div class="bar-top">
        <button type="button" class="plain" onClick={close} aria-label={words.close}><Icon name="back" /></button>
        <span class="muted">{lead.reference}</span>
        {may("SALES") && (
          <Action done={words.lead.pdfSaved} run={() => savePdf(lead.id)}>
            <Icon name="save" /> {words.lead.savePdf}
          </Action>
        )}
      </div>
      {news && <p class="changed" role="status">{words.lead.changed}</p>}
      <Head lead={lead} now={now} />
      <Deletion lead={lead} change={change} />
      {may("SALES") && !decided && <Review lead={lead} change={change} />}
      {failed && deliveries}
      <ContactCard lead={lead} change={change} />
      <RequestCard lead={lead} />
      <Work lead={lead} change={change} />
      {!!lead.consents?.length && <Consents lead={lead} change={change} />}
      {lead.attribution && (
        <Card title={words.origin.title}>
          <Touch touch={lead.attribution} />
          {JSON.stringify(lead.firstAttribution) !== JSON.stringify(lead.attribution) && (
            <Touch touch={lead.firstAttribution} first />
          )}
        </Card>
      )}
      {!failed && deliveries}
      {decided && lead.signals.length > 0 && <Card title={words.lead.noticed}><Reasons lead={lead} /></Card>}
      {!!lead.sameSession?.length && <Others title={words.lead.sameVisit} leads={lead.sameSession} now={now} />}
      {!!lead.sameAddress?.length && <Others title={words.lead.others} leads={lead.sameAddress} now={now} />}
      {!!lead.audit?.length && <Card title={words.lead.history}><History entries={lead.audit} /></Card>}
      {may("ADMIN") && contact && (
        <div class="actions">
          <button type="button" class="plain danger" onClick={() => erase({ lead: lead.reference })}>{words.erase.openLead}</button>
          <button type="button" class="plain danger" onClick={() => erase({ email: contact.email })}>{words.erase.open}</button>
        </div>
      )}
    </article>
  );
}

/** The lead, kept up to date. The flag news is whether a colleague changed it while it is open. */
function useLead(id: string) {
  const query = useQuery(LeadDocument, { id });
  const lead = query.data?.lead;
  const changing = useRef(false);
  const [news, setNews] = useState(false);
  const shown = useRef("");
  useEffect(() => {
    const now = lead ? workOf(lead) : "";
    if (shown.current && now !== shown.current) setNews(!changing.current);
    shown.current = now;
  }, [lead]);
  useChanges(async (changed) => {
    if (!changed || !lead || changed.has(lead.reference)) await query.refresh();
  }, lead?.deliveries?.some(isUnderWay));

  // After a failure the lead is loaded again, since a colleague may have changed it.
  const change: LeadProps["change"] = async (operation, sent) => {
    changing.current = true;
    try {
      const lead = await changedLead(id, (await operation).changed);
      sent?.();
      shown.current = lead ? workOf(lead) : "";
      setNews(false);
      query.update(() => ({ lead }));
    } catch (e) {
      query.reload();
      throw e;
    } finally {
      changing.current = false;
    }
  };
  return { query, lead, news, change };
}

/** Whether the lead waits for a decision or was rejected, so that nothing is delivered. */
const undecided = ({ state }: Lead) => state === "IN_REVIEW" || state === "REJECTED";

const visitorMail = ({ deliveries }: Lead) => deliveries?.find(({ target, event }) => target === "VISITOR_MAIL" && event === "CREATED");

/** The visitor's request for the deletion of the lead, and a button that declines it. */
function Deletion({ lead, change }: LeadProps) {
  const { deletion } = words;
  if (!lead.deletionRequestedAt) return null;
  if (lead.deletionDeclinedAt) {
    return <p class="changed">{deletion.declined(exact(lead.deletionDeclinedAt), lead.deletionReason ?? "")}</p>;
  }
  const decline = async (reason: string) => {
    const response = await ask(DeclineDeletionDocument, { lead: lead.id, reason });
    if (!response.changed.mailed) toast({ text: deletion.notMailed, tone: "bad" });
    return response;
  };
  return (
    <p class="changed">
      {words.lead.deletionAsked(exact(lead.deletionRequestedAt))}{" "}
      {may("ADMIN") && (
        <Action
          question={{ title: deletion.question, text: deletion.hint, confirm: deletion.decline, reason: deletion.reason }}
          done={deletion.done}
          run={(reason) => change(decline(reason))}
        >
          {deletion.decline} …
        </Action>
      )}
    </p>
  );
}

function Head({ lead, now }: { lead: Lead; now: number }) {
  const name = nameOf(lead);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <header>
      <Avatar of={name} />
      <div>
        <h2 tabIndex={-1} ref={heading}><FullName of={name} /></h2>
        <p class="muted">
          {lead.contact?.company && (
            <>
              <bdi>{lead.contact.company}</bdi> ·{" "}
            </>
          )}
          {exact(lead.submittedAt)} · <Time at={lead.submittedAt} now={now} />
        </p>
      </div>
      {asksForDeletion(lead) && <Chip text={words.lead.deletionRequested} tone="bad" />}
      <Chip {...mark(words.leadStates, lead.state)} />
    </header>
  );
}

function ContactCard({ lead, change }: LeadProps) {
  const { contact } = lead;
  const mail = visitorMail(lead);
  const mailTo = mail?.email ?? contact?.email; // an operator may have corrected it
  const subject = encodeURIComponent(`${mailSubject[lead.locale ?? "en"]} ${lead.reference}`);
  const answered = () => {
    if (may("SALES")) change(ask(MarkLeadAnsweredDocument, { id: lead.id })).catch(() => undefined);
  };
  const inCRM = lead.deliveries?.some(({ target, state }) => target === "CRM" && state === "DELIVERED");
  return (
    <Card title={words.lead.contact}>
      {mailTo && (
        <Fact name={words.lead.email}>
          <a data-key="r" href={`mailto:${encodeURIComponent(mailTo)}?subject=${subject}`} onClick={answered}>{mailTo}</a>
        </Fact>
      )}
      {mail?.email && contact && <Fact name={words.lead.typed}><bdi>{contact.email}</bdi></Fact>}
      {contact?.phone && (
        <Fact name={words.lead.phone}>
          {contact.phoneLink ? <a href={contact.phoneLink}>{contact.phone}</a> : contact.phone}
        </Fact>
      )}
      {lead.message && (
        <Fact name={words.lead.message}><p class="message long" dir="auto" tabIndex={0}>{lead.message}</p></Fact>
      )}
      <Fact name={words.list.language}>{languageName(lead.locale)}</Fact>
      {contact && inCRM && (
        <p class="muted">
          {words.lead.inCRM}{" "}
          {lead.crmContactUrl && <a href={lead.crmContactUrl} target="_blank" rel="noreferrer">{words.lead.crmContact}</a>}{" "}
          {lead.crmDealUrl && <a href={lead.crmDealUrl} target="_blank" rel="noreferrer">{words.lead.crmDeal}</a>}
        </p>
      )}
      {lead.noMailReason && (
        <Fact name={words.lead.noMail}>
          <span>{words.lead.noMailBecause(words.noMailReasons[lead.noMailReason])}</span>
          {mail?.state === "NOT_SENT" && mailTo && (
            <Correct
              key={mailTo}
              id={lead.id}
              address={mailTo}
              send={(email) => change(ask(ResendLeadDocument, { id: lead.id, target: mail.target, email }))}
            />
          )}
        </Fact>
      )}
    </Card>
  );
}

function RequestCard({ lead }: { lead: Lead }) {
  const label = useLabel();
  const { selections, price, estimate } = lead;
  const lineOf = (field: string, slug: string) =>
    price?.lines.find((part) => part.field === field && (part.slug ?? "") === slug);
  const amountOf = (field: string, slug: string) => {
    const line = lineOf(field, slug);
    return line ? amount(line.amount, estimate.currency) : price?.unpriced.includes(slug) && words.lead.noPrice;
  };
  const choice = (field: string, slug: string) => {
    const cost = amountOf(field, slug);
    const size = sizeOf(selections, slug);
    const units = size && `${size}${calculation(lineOf(field, slug), estimate.currency)}`;
    return <>{label(field, slug)}{units}{cost && <span translate={false}> · {cost}</span>}</>;
  };
  return (
    <Card title={words.lead.request}>
      <p class="estimate"><Estimate of={lead.estimate} /></p>
      {lead.priceStatus && <Fact name={words.lead.price}><Chip {...mark(words.priceStates, lead.priceStatus)} /></Fact>}
      {lead.sentEstimate && lead.signals.includes("estimate_mismatch") && (
        <Fact name={words.lead.sentAs}><Estimate of={lead.sentEstimate} /></Fact>
      )}
      <Choices selections={selections} choice={choice} />
      {(["minimum", "rounding"] as const).map((field) => {
        const part = amountOf(field, "");
        return part && <Fact key={field} name={words.lead.parts[field]}>{part}</Fact>;
      })}
      {price?.tax && (
        <Fact name={`${rate(price.tax.percent)} ${price.tax.label || words.lead.tax}`}>
          <Estimate of={{ ...estimate, min: price.tax.min, max: price.tax.max }} />
          {price.tax.included && ` · ${words.lead.included}`}
        </Fact>
      )}
      {price?.tax && !price.tax.included && (
        <Fact name={words.lead.total}>
          <Estimate of={{ ...estimate, min: estimate.min + price.tax.min, max: estimate.max + price.tax.max }} />
        </Fact>
      )}
      {price?.taxNote && <p>{price.taxNote}</p>}
    </Card>
  );
}

type Selections = UnfinishedQuery["unfinishedQuotes"]["edges"][number]["node"]["selections"];

interface ChoicesProps {
  selections: Selections;
  /** Shows a choice of a field. */
  choice: (field: string, slug: string) => ComponentChildren;
}

/** The choices of a visitor, by field. */
export function Choices({ selections, choice }: ChoicesProps) {
  const { fields } = words.lead;
  const { projectType, complexity, timeline, features } = selections;
  return (
    <>
      {projectType && <Fact name={fields.projectType}>{choice("projectType", projectType)}</Fact>}
      {complexity && <Fact name={fields.complexity}>{choice("complexity", complexity)}</Fact>}
      {timeline && <Fact name={fields.timeline}>{choice("timeline", timeline)}</Fact>}
      {features.length > 0 && (
        <Fact name={fields.features}>
          <span class="tags">
            {features.map((feature) => (
              <span key={feature}>{choice("features", feature)}</span>
            ))}
          </span>
        </Fact>
      )}
    </>
  );
}

/** The quantity of a choice with its unit, such as ` · 120 m²`; empty if it has none. */
export function sizeOf({ quantities }: Selections, slug: string): string {
  const quantity = quantities.find((part) => part.slug === slug);
  return quantity ? ` · ${decimal(quantity.count)} ${quantity.unit}`.trimEnd() : "";
}

/** How a choice with a quantity is priced, such as ` × €2.50 + €30 − 10%`; empty if its units have different prices. */
function calculation(line: NonNullable<Lead["price"]>["lines"][number] | undefined, currency: string): string {
  if (line?.unitPrice == null) return "";
  const { unitPrice, flat, percent } = line;
  const share = percent && `${percent < 0 ? "−" : "+"} ${rate(Math.abs(percent))}`;
  return [` × ${unitAmount(unitPrice, currency)}`, flat && `+ ${amount(flat, currency)}`, share].filter(Boolean).join(" ");
}

function Consents({ lead, change }: LeadProps) {
  return (
    <Card title={words.consents.title}>
      {lead.consents?.map((consent) => (
        <ConsentFact
          key={consent.purpose}
          consent={consent}
          leads={1 + (lead.sameAddress?.length ?? 0)}
          withdraw={(purpose) => change(ask(WithdrawConsentDocument, { id: lead.id, purpose }))}
        />
      ))}
    </Card>
  );
}

interface ConsentProps {
  consent: Consent;
  /** The number of leads in which it would be withdrawn. */
  leads: number;
  withdraw: (purpose: string) => Promise<void>;
}

/** The visitor's answer to the wording of a consent, which names it, and a button to withdraw the consent. */
export function ConsentFact({ consent, leads, withdraw }: ConsentProps) {
  const { purpose, text } = consent;
  const t = words.consents;
  const question = {
    title: t.question(text || purpose),
    text: t.hint(plural(leads, words.nouns.leads)),
    confirm: t.withdraw,
  };
  return (
    <Fact name={purpose}>
      {text && <><bdi class="message">{text}</bdi> · </>}
      {answerOf(consent)}{" "}
      {isOpen(consent) && (
        <Action question={question} done={t.done} run={() => withdraw(purpose)}>{t.withdraw}</Action>
      )}
    </Fact>
  );
}

/** The deliveries, with the failed ones first. */
function Deliveries({ lead, now, change, reload }: LeadProps & { now: number; reload: () => void }) {
  const { FAILED, ...others } = Object.groupBy(lead.deliveries ?? [], ({ state }) => state);
  const explained = lead.noMailReason && !["FAILED", "REFUSED"].includes(lead.noMailReason) ? visitorMail(lead) : undefined;
  return (
    <Card title={FAILED ? words.leadStates.FAILED : words.views.deliveries}>
      {[FAILED ?? [], ...Object.values(others)].flat().map((delivery) => (
        <DeliveryCard key={delivery.id} delivery={delivery} now={now} explained={delivery === explained}>
          {isSettled(delivery) && delivery.event === "CREATED" ? (
            <Action
              done={words.delivery.sending}
              run={() => change(ask(ResendLeadDocument, { id: lead.id, target: delivery.target }))}
            >
              {words.delivery.sendAgain}
            </Action>
          ) : (
            <Decisions delivery={delivery} changed={reload} />
          )}
        </DeliveryCard>
      ))}
    </Card>
  );
}

/** A form that corrects the address of the mail to the visitor and sends the mail again. */
function Correct({ id, address, send }: { id: string; address: string; send: (email: string) => Promise<void> }) {
  const [email, setEmail] = useDraft(`address ${id}`, address);
  const { busy, act } = useAction(async () => {
    await send(email.trim());
    setEmail(address);
  }, words.delivery.sending);
  return (
    <form class="inline" onSubmit={submits(act)}>
      <input
        {...addressField}
        required
        aria-label={words.lead.email}
        value={email}
        onInput={(e) => setEmail(e.currentTarget.value)}
      />
      <button type="submit" disabled={busy || email.trim() === address}>{words.lead.correct}</button>
    </form>
  );
}

/** The parts of a lead that colleagues change, for comparison. */
const workOf = ({ state, owner, status, notes, outcome, followUpAt }: Lead) =>
  JSON.stringify([state, owner, status, notes?.length, outcome, followUpAt]);

type Consent = NonNullable<Lead["consents"]>[number];

/** Whether a consent was given and not withdrawn. */
export const isOpen = ({ given, withdrawnAt }: Consent) => given && !withdrawnAt;

/** The visitor's answer in words, and whether it was to the site's wording. */
function answerOf({ given, siteWording, withdrawnAt }: Consent): string {
  const { consents } = words;
  const answer = withdrawnAt ? consents.withdrawnOn(exact(withdrawnAt)) : given ? consents.given : consents.notGiven;
  return given && !siteWording ? `${answer}, ${consents.otherWording}` : answer;
}

/** The filters of the list next to a lead. */
const leadParams = () => (readRoute().view === "leads" ? readRoute().params : {});

const touchFields = ["source", "medium", "campaign", "term", "content", "referrer", "landingPage"] as const;

/** An attribution of a visitor. */
function Touch({ touch, first }: { touch: Lead["attribution"]; first?: boolean }) {
  return (
    <>
      {touchFields.map((field) => {
        const name = first ? words.origin.atFirst(words.origin[field]) : words.origin[field];
        return touch?.[field] && <Fact key={field} name={name}><bdi>{touch[field]}</bdi></Fact>;
      })}
    </>
  );
}

interface OthersProps {
  title: string;
  leads: NonNullable<Lead["sameAddress"]>;
  now: number;
}

/** The leads of an address, the newest first. */
export function Others({ title, leads, now }: OthersProps) {
  const label = useLabel();
  return (
    <Card title={title}>
      <ul class="others">
        {leads.map((lead) => (
          <li key={lead.id}>
            <a href={address("leads", { ...leadParams(), lead: lead.reference })}>
              {label("projectType", lead.selections.projectType)}, <Estimate of={lead.estimate} />
            </a>{" "}
            <span class="muted"><Time at={lead.submittedAt} now={now} /></span> <Chip {...mark(words.leadStates, lead.state)} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

async function savePdf(id: string) {
  const { quotePdf } = await ask(LeadPdfDocument, { id });
  if (!quotePdf) return;
  const bytes = Uint8Array.from(atob(quotePdf.content), (letter) => letter.charCodeAt(0));
  save(new Blob([bytes], { type: quotePdf.contentType }), quotePdf.fileName);
}
