// One lead: who asks for what, where it has got to, and what can be done about it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import {
  EraseLeadsDocument,
  type EraseLeadsMutation,
  LeadDocument,
  LeadPdfDocument,
  OtherLeadsDocument,
  RejectLeadDocument,
  ReleaseLeadDocument,
  ResendLeadDocument,
  RetryDeliveryDocument,
  WithdrawConsentDocument,
  type WholeLeadFragment as Lead,
} from "../generated/inbox";
import { History } from "./audit";
import { DeliveryCard, useFollow } from "./deliveries";
import { save } from "./export";
import { useLabel } from "./labels";
import { Action, Avatar, Chip, Empty, FullName, Icon, nameOf, Pending, Skeleton, Time, Trouble, useNow } from "./parts";
import { address, readRoute } from "./route";
import { ask, type Failure, may, useQuery } from "./service";
import { exact, items, languageName, leadStates, mailSubject, money, places, priceStates, signals } from "./words";

interface Props {
  id: string;
  close: () => void;
  /** Called with the lead after each change. */
  update: (lead: Lead) => void;
  changed: () => void;
  erased: () => void;
}

export function LeadDetail({ id, close, update, changed, erased }: Props) {
  const query = useQuery(LeadDocument, { id });
  const [erasing, setErasing] = useState(false);
  const now = useNow();
  const label = useLabel();
  const heading = useRef<HTMLHeadingElement>(null);
  const lead = query.data?.lead;
  useEffect(() => heading.current?.focus({ preventScroll: true }), [!lead]);
  useEffect(() => {
    if (lead) update(lead);
  }, [lead]);
  useFollow(lead?.deliveries ?? [], query.refresh);
  /** Does something with the lead; where that fails it may have been changed elsewhere, so look again. */
  const change = async (operation: Promise<{ lead: Lead }>) => {
    try {
      const next = await operation;
      query.update(() => next);
      changed();
    } catch (e) {
      query.reload();
      throw e;
    }
  };

  if (!query.data) return <Pending query={query} rows={5} />;
  if (!lead) {
    return (
      <Empty title="There is no such lead">
        <p class="muted">It may have been erased.</p>
        <button type="button" onClick={close}>Back to the list</button>
      </Empty>
    );
  }
  const { contact, selections } = lead;
  const name = nameOf(lead);
  const subject = encodeURIComponent(`${mailSubject[lead.locale ?? "en"]} ${lead.reference}`);
  return (
    <article class="lead">
      <div class="bar-top">
        <button type="button" class="plain" onClick={close} aria-label="Close"><Icon name="back" /></button>
        <span class="muted">{lead.reference}</span>
        {may("SALES") && (
          <Action done="The PDF is saved." run={() => savePdf(lead.id)}><Icon name="save" /> PDF</Action>
        )}
      </div>
      <header>
        <Avatar of={name} />
        <div>
          <h2 tabIndex={-1} ref={heading}><FullName of={name} /></h2>
          <p class="muted">
            {contact?.company && (
              <>
                <bdi>{contact.company}</bdi> ·{" "}
              </>
            )}
            <Time at={lead.submittedAt} now={now} />
          </p>
        </div>
        <Chip {...leadStates[lead.state]} />
      </header>

      {may("SALES") && (lead.state === "IN_REVIEW" || lead.state === "REJECTED") && <Review lead={lead} change={change} />}

      <Card title="Contact">
        {contact && (
          <Fact name="E-mail">
            <a href={`mailto:${encodeURIComponent(contact.email)}?subject=${subject}`}>{contact.email}</a>
          </Fact>
        )}
        {contact?.phone && (
          <Fact name="Phone"><a href={`tel:${contact.phone.replace(/[^\d+]/g, "")}`}>{contact.phone}</a></Fact>
        )}
        <Fact name="Language">{languageName(lead.locale)}</Fact>
        <Fact name="Asked on">{exact(lead.submittedAt)}</Fact>
        {lead.noMailReason && <Fact name="No mail">{`The visitor got none: ${lead.noMailReason}.`}</Fact>}
      </Card>

      <Card title="Request">
        <p class="estimate">{money(lead.estimate)}</p>
        {lead.priceStatus && <Fact name="Price"><Chip {...priceStates[lead.priceStatus]} /></Fact>}
        {lead.sentEstimate && lead.signals.includes("estimate_mismatch") && (
          <Fact name="Sent as">{money(lead.sentEstimate)}</Fact>
        )}
        <Fact name="Project">{label("projectType", selections.projectType)}</Fact>
        {selections.complexity && <Fact name="Complexity">{label("complexity", selections.complexity)}</Fact>}
        {selections.timeline && <Fact name="Timeline">{label("timeline", selections.timeline)}</Fact>}
        {selections.features.length > 0 && (
          <Fact name="Features">
            <span class="tags">
              {selections.features.map((feature) => (
                <span key={feature}>{label("features", feature)}</span>
              ))}
            </span>
          </Fact>
        )}
      </Card>

      {lead.message && (
        <Card title="Message">
          <p class="message" dir="auto">{lead.message}</p>
        </Card>
      )}
      {!!lead.consents?.length && (
        <Card title="Consents">
          {lead.consents.map((consent) => (
            <Fact key={consent.purpose} name={consent.purpose}>
              {consent.withdrawnAt ? `Withdrawn ${exact(consent.withdrawnAt)}` : consent.given ? "Given" : "Not given"}
              {consent.given && !consent.siteWording && ", not the site's wording"}
              {consent.text && <bdi class="muted small message"> {consent.text}</bdi>}
              {consent.given && !consent.withdrawnAt && (
                <Action
                  done="Withdrawn: the CMS and the CRM are being told."
                  run={() => change(ask(WithdrawConsentDocument, { id: lead.id, purpose: consent.purpose }))}
                >
                  Withdraw
                </Action>
              )}
            </Fact>
          ))}
        </Card>
      )}
      {lead.attribution && (
        <Card title="Came from">
          <Touch touch={lead.attribution} />
          {JSON.stringify(lead.firstAttribution) !== JSON.stringify(lead.attribution) && (
            <Touch touch={lead.firstAttribution} at="at first" />
          )}
        </Card>
      )}

      {!!lead.deliveries?.length && (
        <Card title="Deliveries">
          {lead.deliveries.map((delivery) => (
            <DeliveryCard key={delivery.id} delivery={delivery} now={now}>
              {delivery.state === "DELIVERED" || delivery.state === "NOT_SENT" ? (
                <Action
                  done="It is being sent once more."
                  run={() => change(ask(ResendLeadDocument, { id: lead.id, target: delivery.target }))}
                >
                  Send again
                </Action>
              ) : (
                delivery.state !== "RUNNING" && (
                  <Action
                    done="It is being tried right now."
                    run={() => ask(RetryDeliveryDocument, { id: delivery.id }).then(query.reload)}
                  >
                    Try now
                  </Action>
                )
              )}
            </DeliveryCard>
          ))}
        </Card>
      )}
      {lead.state !== "IN_REVIEW" && lead.state !== "REJECTED" && lead.signals.length > 0 && (
        <Card title="What was noticed"><Reasons lead={lead} /></Card>
      )}

      {contact && <Others email={contact.email} reference={lead.reference} now={now} />}
      {!!lead.audit?.length && <Card title="History"><History entries={lead.audit} /></Card>}

      {may("ADMIN") && (
        <button type="button" class="plain danger" onClick={() => setErasing(true)}>Erase this person …</button>
      )}
      {erasing && contact && <Erase email={contact.email} close={() => setErasing(false)} erased={erased} />}
    </article>
  );
}

function Card({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <dl class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </dl>
  );
}

/** Where a visitor came from. */
function Touch({ touch, at }: { touch: Lead["attribution"]; at?: string }) {
  const facts = { Source: touch?.source, Medium: touch?.medium, Campaign: touch?.campaign, "Search term": touch?.term };
  const pages = { Variant: touch?.content, "Linked from": touch?.referrer, "First page": touch?.landingPage };
  return (
    <>
      {Object.entries({ ...facts, ...pages }).map(([name, value]) => {
        return value && <Fact key={name} name={at ? `${name} ${at}` : name}><bdi>{value}</bdi></Fact>;
      })}
    </>
  );
}

/** The other leads of an address, the newest first. */
function Others({ email, reference, now }: { email: string; reference: string; now: number }) {
  const { data } = useQuery(OtherLeadsDocument, { email });
  const label = useLabel();
  const others = (data?.leads.edges ?? [])
    .map(({ node }) => node)
    .filter((lead) => lead.reference !== reference && lead.contact?.email.toLowerCase() === email.toLowerCase());
  if (!others.length) return null;
  return (
    <Card title="Other requests from this address">
      <ul class="others">
        {others.map((lead) => (
          <li key={lead.reference}>
            <a href={address("leads", { ...readRoute().params, lead: lead.reference })}>
              {label("projectType", lead.selections.projectType)}, {money(lead.estimate)}
            </a>{" "}
            <span class="muted"><Time at={lead.submittedAt} now={now} /></span> <Chip {...leadStates[lead.state]} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

interface ReviewProps {
  lead: Lead;
  change: (operation: Promise<{ lead: Lead }>) => Promise<void>;
}

function Review({ lead, change }: ReviewProps) {
  const rejected = lead.state === "REJECTED";
  const decision = { id: lead.id, expected: lead.state }; // if somebody else was faster, it fails
  return (
    <section class={rejected ? "card" : "card review"} aria-label="Review">
      <h3>{rejected ? "Rejected in review" : "Is this a person?"}</h3>
      <p>
        {rejected ? "It is delivered nowhere." : "A program may have sent it, so it waits for you before anything else happens."}
      </p>
      <Reasons lead={lead} />
      <div class="actions">
        <Action
          kind="primary"
          done="Released: it is on its way."
          run={() => change(ask(ReleaseLeadDocument, decision))}
        >
          {rejected ? "Release it after all" : "Release it"}
        </Action>
        {!rejected && (
          <Action done="Rejected: it is delivered nowhere." run={() => change(ask(RejectLeadDocument, decision))}>
            Reject it
          </Action>
        )}
      </div>
    </section>
  );
}

const Reasons = ({ lead }: { lead: Lead }) => (
  <ul class="reasons">
    {lead.signals.map((signal) => (
      <li key={signal}>{signals[signal]}</li>
    ))}
  </ul>
);

/** Erases all that is stored about an address, after showing what that is. */
function Erase({ email, close, erased }: { email: string; close: () => void; erased: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [receipt, setReceipt] = useState<EraseLeadsMutation["eraseLeads"]>();
  const [failure, setFailure] = useState<Failure>();
  const [busy, setBusy] = useState(true);
  const erase = async (dryRun: boolean) => {
    setBusy(true);
    setFailure(undefined);
    try {
      setReceipt((await ask(EraseLeadsDocument, { email, dryRun })).eraseLeads);
    } catch (e) {
      setFailure(e as Failure);
    }
    setBusy(false);
  };
  useEffect(() => {
    dialog.current?.showModal();
    void erase(true);
  }, []);
  const finished = receipt && !receipt.dryRun;
  const shown = receipt?.places.filter(({ found, erased, detail }) => found !== 0 || erased > 0 || detail);
  const end = () => {
    close();
    if (finished) erased();
  };
  return (
    <dialog ref={dialog} onClose={end} aria-labelledby="erase">
      <h2 id="erase">{finished ? (receipt.complete ? "Erased" : "Not everything could be erased") : "Erase this person?"}</h2>
      <p>
        {finished ? "This is what was erased about " : "This erases all that is stored here and in the connected systems about "}
        <strong>{email}</strong>.{!finished && " It can't be undone."}
      </p>
      {busy && !receipt && <Skeleton rows={3} />}
      {failure && <Trouble failure={failure} retry={() => erase(!receipt || receipt.dryRun)} />}
      {receipt && shown && (
        <table class="receipt">
          <thead>
            <tr>
              <th>Where</th>
              <th>{finished ? "Erased" : "Found"}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((place) => (
              <tr key={`${place.place} ${place.unit}`}>
                <td>{places[place.place] ?? place.place}</td>
                <td>
                  {items(finished ? place.erased : place.found, place.unit)}
                  {place.detail && <span class="muted small"> {place.detail}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {receipt && receipt.remains.length > 0 && (
        <div class="small">
          <p>Still to be done by hand:</p>
          <ul>
            {receipt.remains.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </div>
      )}
      <div class="actions">
        {!finished && (
          <button type="button" class="primary danger" disabled={busy || !receipt} onClick={() => erase(false)}>
            {busy && receipt ? "Erasing …" : "Erase for good"}
          </button>
        )}
        <button type="button" onClick={() => dialog.current?.close()}>{finished ? "Close" : "Cancel"}</button>
      </div>
    </dialog>
  );
}

async function savePdf(id: string) {
  const { quotePdf } = await ask(LeadPdfDocument, { id });
  if (!quotePdf) return;
  const bytes = Uint8Array.from(atob(quotePdf.content), (letter) => letter.charCodeAt(0));
  save(new Blob([bytes], { type: quotePdf.contentType }), quotePdf.fileName);
}
