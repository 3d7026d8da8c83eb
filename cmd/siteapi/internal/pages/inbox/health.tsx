// The age of the content, for editors; the checks of `siteapi doctor` and the cache, for admins.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ContentHealthDocument, type ContentHealthQuery, HealthDocument } from "../generated/inbox";
import { languageName, plural, slugWords } from "./format";
import { Again, Chip, Commands, Page, Pending, Time, useNow } from "./parts";
import { may, useQuery } from "./service";
import { mark, tones } from "./states";
import { words } from "./words";

export function Health() {
  const content = useQuery(ContentHealthDocument, {});
  const [round, setRound] = useState(0);
  const again = () => {
    content.reload();
    setRound(round + 1);
  };
  return (
    <Page view="health" tools={<Again run={again} busy={content.loading} />}>
      <div class="charts">
        <Pending query={content} rows={6} />
        {content.data && <Content health={content.data.contentHealth} />}
        {may("ADMIN") && <Checks key={round} />}
      </div>
    </Page>
  );
}

/** The last change of each type of document, and whether visitors get the current content. */
function Content({ health }: { health: ContentHealthQuery["contentHealth"] }) {
  const now = useNow();
  const types = new Map<string, { at: string | null; live: boolean }>();
  for (const { fetchedAt, types: found } of health) {
    for (const { type, updatedAt } of found) {
      const { at, live } = types.get(type) ?? { at: null, live: true };
      types.set(type, { at: [at ?? "", updatedAt ?? ""].sort().at(-1) || null, live: live && fetchedAt !== null });
    }
  }
  return (
    <Lines title={words.health.content}>
      {[...types].map(([type, { at, live }]) => (
        <Line
          key={type}
          name={type}
          mark={<Chip text={live ? words.health.live : words.health.copy} tone={live ? "good" : "warn"} />}
        >
          {at && (
            <>
              {words.health.changed} <Time at={at} now={now} />
            </>
          )}
        </Line>
      ))}
      {health.map(({ locale, documents, fetchedAt }) => (
        <Line key={locale} name={languageName(locale)} mark={plural(documents, words.nouns.documents)}>
          {fetchedAt ? `${words.health.fetched} ` : words.health.notFetched}
          {fetchedAt && <Time at={fetchedAt} now={now} />}
        </Line>
      ))}
    </Lines>
  );
}

/** The checks of `siteapi doctor`, for admins. */
function Checks() {
  const query = useQuery(HealthDocument, {});
  const health = query.data?.serviceHealth;
  if (!health) return <Pending query={query} rows={6} />;

  const found = health.checks.map((check) => check.state);
  const worst = (["FAILED", "WARNING"] as const).find((state) => found.includes(state)) ?? "OK";
  return (
    <>
      <section class={`card headline ${tones[worst]}`}>
        <h2>{words.health.headlines[worst]}</h2>
        <p class="muted">{words.health.version(health.version)}</p>
      </section>
      <Lines title={words.health.checks}>
        {health.checks.map((check, i) => (
          <Line key={i} name={check.name} mark={<Chip {...mark(words.health.states, check.state)} />}>
            <Commands text={check.detail ?? ""} />
            {check.advice && (
              <p>
                → <Commands text={check.advice} />
              </p>
            )}
          </Line>
        ))}
      </Lines>
      <Lines title={words.health.cache}>
        <Line name={health.cache.type} mark={<Chip {...mark(words.health.states, health.cache.available ? "OK" : "FAILED")} />}>
          {plural(health.cache.size, words.nouns.entries)}
        </Line>
      </Lines>
    </>
  );
}

function Lines({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <ul class="lines">{children}</ul>
    </section>
  );
}

interface LineProps {
  name: string;
  mark: ComponentChildren;
  children: ComponentChildren;
}

function Line({ name, mark, children }: LineProps) {
  return (
    <li>
      <strong>{name.length < 4 ? name.toUpperCase() : slugWords(name)}</strong>
      <span>{mark}</span>
      <span class="muted">{children}</span>
    </li>
  );
}
