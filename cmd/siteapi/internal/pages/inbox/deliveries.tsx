// Deliveries that have not arrived, with the reason, the time of the next try, and a button to try now.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import {
  DeliveriesDocument,
  type DeliveriesQuery,
  type DeliveryState,
  type DeliveryTarget,
  DismissDeliveryDocument,
  type OneDeliveryFragment as Delivery,
  RetryDeliveryDocument,
} from "../generated/inbox";
import { useChanges } from "./changes";
import { clock, count, day, exact, plural } from "./format";
import { Action, Chip, Empty, FullName, More, nameOf, Page, Pending, Select, Time, useNow } from "./parts";
import { typed } from "./filters";
import { address } from "./route";
import { ask, useList } from "./service";
import { deliverySentence, isSettled, isUnderWay, mark, reasonWords } from "./states";
import { words } from "./words";

const notArrived: DeliveryState[] = ["PENDING", "RUNNING", "RETRYING", "FAILED"];
const pageSize = 50;

export function Deliveries({ params }: { params: Record<string, string> }) {
  const state = typed<DeliveryState>(params.state);
  const target = typed<DeliveryTarget>(params.target);
  const variables = { state: state ? [state] : notArrived, target, first: pageSize };
  const list = useList(DeliveriesDocument, variables, (data) => data.deliveries);
  const now = useNow();
  const waits = list.nodes?.some(isUnderWay);
  useChanges(() => list.renew(), waits);
  const atLeast = list.hasMore ? "≥ " : "";
  const nodes = list.nodes ?? [];
  const groups = [...Map.groupBy(nodes, cause)].filter(([why, waiting]) => why && waiting.length > 1);
  const card = (delivery: Listed) => (
    <section class="card" key={delivery.id}>
      <h2>
        {delivery.lead ? (
          <a href={address("leads", { lead: delivery.lead.reference })}><FullName of={nameOf(delivery.lead)} /></a>
        ) : (
          <>{words.deliveries.erased} · {delivery.reference}</>
        )}
        {delivery.lead?.contact?.company && <bdi class="muted"> {delivery.lead.contact.company}</bdi>}
      </h2>
      <DeliveryCard delivery={delivery} now={now}>
        <Decisions delivery={delivery} changed={list.replace} />
      </DeliveryCard>
    </section>
  );
  return (
    <Page
      view="deliveries"
      intro={words.deliveries.intro}
      tools={
        <div class="filters">
          <Select
            name="state"
            label={words.list.state}
            all={words.deliveries.notArrived}
            options={words.deliveryStates}
          />
          <Select
            name="target"
            label={words.deliveries.target}
            all={words.deliveries.anyTarget}
            options={words.targets}
          />
        </div>
      }
    >
      {list.news > 0 && (
        <button type="button" class="newer" onClick={list.reload}>{words.deliveries.news(count(list.news))}</button>
      )}
      <Pending query={list} rows={5} />
      {list.nodes?.length === 0 && (
        state || target
          ? <Empty title={words.deliveries.noneFits} />
          : <Empty title={words.deliveries.none} hint={words.deliveries.noneHint} />
      )}
      <div class="stack" aria-busy={list.loading}>
        {groups.map(([why, waiting]) => (
          <details class="card unreachable" key={why}>
            <summary>
              {words.deliveries.waiting(why, since(waiting, now), atLeast + plural(leadsOf(waiting), words.nouns.leads))}
            </summary>
            {waiting.map(card)}
          </details>
        ))}
        {nodes.filter((delivery) => !groups.some(([why]) => why === cause(delivery))).map(card)}
      </div>
      {list.hasMore && <More load={list.more} />}
    </Page>
  );
}

type Listed = DeliveriesQuery["deliveries"]["edges"][number]["node"];

/**
 * The target and its problem, in words, if a delivery waits because its target is unavailable. Several with one cause are
 * shown as one line. A target that has a problem with some leads may accept others.
 */
const cause = (d: Delivery) =>
  d.state === "RETRYING" && /\bunavailable\b/.test(d.reason ?? "") ? `${words.targets[d.target]}: ${reasonWords(d)}` : "";

/** The number of leads of some deliveries. A lead may have several to one target, such as one for each event. */
const leadsOf = (waiting: readonly Delivery[]) => new Set(waiting.map(({ reference }) => reference)).size;

const keptAttempts = 20; // failed attempts that the service keeps of a delivery

/** The number of failed attempts of a delivery, also of those that are no longer kept. */
function failedAttempts({ attempts, attemptCount, state }: Delivery): number {
  if (attempts.length < keptAttempts) return attempts.length;
  const others = ["RUNNING", "DELIVERED", "UNCONFIRMED"].includes(state) ? 1 : 0;
  return Math.max(attempts.length, attemptCount - others);
}

/** The time of the first failure of some deliveries. If it is no longer kept, the delivery was created just before it. */
function since(waiting: readonly Delivery[], now: number): string {
  const firstOf = (d: Delivery) => (failedAttempts(d) > d.attempts.length ? d.createdAt : d.attempts[0]?.at) ?? "";
  const first = waiting.map(firstOf).sort()[0] ?? "";
  return day(first, now) === words.today ? clock(first) : exact(first);
}

interface DecisionsProps {
  delivery: Delivery;
  changed: (delivery: Delivery) => void;
}

/** Buttons that try a delivery now, and that dismiss one that failed. */
export function Decisions({ delivery, changed }: DecisionsProps) {
  const { id, state } = delivery;
  if (isSettled(delivery) || state === "RUNNING") return null;
  const t = words.delivery;
  const dismiss = async (reason: string) => changed((await ask(DismissDeliveryDocument, { id, reason })).dismissDelivery.delivery);
  const tryNow = async () => (await ask(RetryDeliveryDocument, { id })).retryDeliveries.deliveries.forEach(changed);
  return (
    <>
      <Action done={t.trying} run={tryNow}>
        {t.tryNow}
      </Action>
      {state === "FAILED" && (
        <Action
          question={{ title: t.dismissQuestion, text: t.dismissHint, confirm: t.dismiss, reason: t.dismissReason }}
          done={t.dismissDone}
          run={dismiss}
        >
          {t.dismiss} …
        </Action>
      )}
    </>
  );
}

interface CardProps {
  delivery: Delivery;
  now: number;
  /** Whether the page shows the reason elsewhere. */
  explained?: boolean;
  children: ComponentChildren;
}

/** A delivery in words, with its failed attempts and its actions. */
export function DeliveryCard({ delivery, now, explained, children }: CardProps) {
  const [open, setOpen] = useState(false);
  const { attempts } = delivery;
  return (
    <div class="delivery">
      <div class="status">
        <strong>{words.targets[delivery.target]}</strong>
        {delivery.event !== "CREATED" && <span>{words.events[delivery.event]}</span>}
        <Chip {...mark(words.deliveryStates, delivery.state)} />
        <span class="muted"><Time at={delivery.deliveredAt ?? delivery.createdAt} now={now} /></span>
        {children}
      </div>
      {!explained && <p>{deliverySentence(delivery, now)}</p>}
      {attempts.length > 0 && (
        <details open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
          <summary>{plural(failedAttempts(delivery), words.nouns.attempts)}</summary>
          <ol>
            {attempts.map((attempt) => (
              <li key={attempt.at}>
                <time dateTime={attempt.at}>{exact(attempt.at)}</time> <code>{attempt.error}</code>
              </li>
            ))}
          </ol>
        </details>
      )}
    </div>
  );
}
