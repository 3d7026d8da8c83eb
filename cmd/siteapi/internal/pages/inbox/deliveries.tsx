// Deliveries that have not arrived: why, when the next try is, and a button to try now.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import {
  DeliveriesDocument,
  type DeliveryState,
  type OneDeliveryFragment as Delivery,
  RetryDeliveryDocument,
} from "../generated/inbox";
import { More } from "./leads";
import { Action, Chip, Empty, FullName, nameOf, Pending, Select, Time, useNow } from "./parts";
import { address } from "./route";
import { ask, useList } from "./service";
import { deliverySentence, deliveryStates, exact, known, plural, targets, texts } from "./words";

const notArrived: DeliveryState[] = ["PENDING", "RUNNING", "RETRYING", "FAILED"];
const stateNames = texts(deliveryStates);
const pageSize = 50;

export function Deliveries({ params, changed }: { params: Record<string, string>; changed: () => void }) {
  const state = known(deliveryStates, params.state);
  const target = known(targets, params.target);
  const variables = { state: state ? [state] : notArrived, target, first: pageSize };
  const list = useList(DeliveriesDocument, variables, (data) => data.deliveries);
  const now = useNow();
  const grown = list.nodes && list.nodes.length > pageSize; // the first page alone would make it short again
  useFollow(grown ? [] : list.nodes, list.refresh);
  const retry = (id: string) => async () => {
    list.replace((await ask(RetryDeliveryDocument, { id })).retryDelivery);
    setTimeout(() => (list.reload(), changed()), 2000);
  };
  return (
    <main class="page">
      <div class="heading">
        <div>
          <h1>Deliveries</h1>
          <p class="muted">Every lead goes to the CMS and the CRM. What has not arrived yet is here.</p>
        </div>
        <div class="filters">
          <Select name="state" label="State" all="Not arrived" options={stateNames} params={params} />
          <Select name="target" label="Target" all="Any target" options={targets} params={params} />
        </div>
      </div>
      <Pending query={list} rows={5} />
      {list.nodes?.length === 0 && (
        <Empty title={state || target ? "No delivery fits" : "Everything has arrived"}>
          {!state && !target && <p class="muted">Nothing waits, and nothing has failed.</p>}
        </Empty>
      )}
      <div class="stack" aria-busy={list.loading}>
        {list.nodes?.map((delivery) => (
          <section class="card" key={delivery.id}>
            <h2>
              {delivery.lead ? (
                <a href={address("leads", { lead: delivery.lead.reference })}>
                  <FullName of={nameOf(delivery.lead)} />
                </a>
              ) : (
                "A lead that was erased"
              )}
              {delivery.lead?.contact?.company && <bdi class="muted"> {delivery.lead.contact.company}</bdi>}
            </h2>
            <DeliveryCard delivery={delivery} now={now}>
              {delivery.state !== "DELIVERED" && delivery.state !== "NOT_SENT" && delivery.state !== "RUNNING" && (
                <Action done="It is being tried right now." run={retry(delivery.id)}>Try now</Action>
              )}
            </DeliveryCard>
          </section>
        ))}
      </div>
      {list.hasMore && <More load={list.more} />}
    </main>
  );
}

/** Looks again every three seconds, while the page is visible, as long as a delivery is about to change. */
export function useFollow(deliveries: readonly Delivery[] = [], refresh: () => Promise<void>) {
  useEffect(() => {
    let asking = false;
    const timer = setInterval(async () => {
      if (asking || document.hidden || !deliveries.some(changesSoon)) return;
      asking = true;
      await refresh();
      asking = false;
    }, 3000);
    return () => clearInterval(timer);
  });
}

const changesSoon = ({ state, nextAttemptAt }: Delivery) =>
  state === "PENDING" ||
  state === "RUNNING" ||
  (state === "RETRYING" && (!nextAttemptAt || Date.parse(nextAttemptAt) <= Date.now()));

/** A delivery in words, with the attempts that failed and what can be done. */
export function DeliveryCard({ delivery, now, children }: { delivery: Delivery; now: number; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const { attempts } = delivery;
  return (
    <div class="delivery">
      <div class="status">
        <strong>{targets[delivery.target]}</strong>
        <Chip {...deliveryStates[delivery.state]} />
        <span class="muted"><Time at={delivery.deliveredAt ?? delivery.createdAt} now={now} /></span>
        {children}
      </div>
      <p>{deliverySentence(delivery, now)}</p>
      {attempts.length > 0 && (
        <details open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
          <summary>{plural(attempts.length, "failed attempt")}</summary>
          <ol>
            {attempts.slice(-20).map((attempt) => (
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
