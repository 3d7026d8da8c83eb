// What `siteapi doctor` says, how old the content is, and the cache.
import type { ComponentChildren } from "preact";
import { HealthDocument } from "../generated/inbox";
import { languageName, plural, slugWords } from "./format";
import { Chip, Commands, Pending, Time, useNow } from "./parts";
import { useQuery } from "./service";
import { healthMark, healthTones } from "./states";
import { words } from "./words";

export function Health() {
  const query = useQuery(HealthDocument, {});
  const now = useNow();
  const health = query.data?.serviceHealth;
  const found = health?.checks.map((check) => check.state) ?? [];
  const worst = (["FAILED", "WARNING"] as const).find((state) => found.includes(state)) ?? "OK";
  return (
    <main class="page">
      <div class="heading">
        <div>
          <h1>{words.views.health}</h1>
          <p class="muted">{health ? words.health.version(health.version) : words.health.looking}</p>
        </div>
        <button type="button" onClick={query.reload} disabled={query.loading}>{words.health.again}</button>
      </div>
      <Pending query={query} rows={6} />
      {health && (
        <div class="charts" aria-busy={query.loading}>
          <section class={`card headline ${healthTones[worst]}`}>
            <h2>{words.health.headlines[worst]}</h2>
          </section>
          <Lines title={words.health.checks}>
            {health.checks.map((check, i) => (
              <Line key={i} name={check.name} mark={<Chip {...healthMark(check.state)} />}>
                <Commands text={check.detail ?? ""} />
                {check.advice && (
                  <p>
                    → <Commands text={check.advice} />
                  </p>
                )}
              </Line>
            ))}
          </Lines>
          <Lines title={words.health.content}>
            {health.content.map(({ locale, documents, fetchedAt }) => (
              <Line key={locale} name={languageName(locale)} mark={plural(documents, words.nouns.documents)}>
                {fetchedAt ? `${words.health.fetched} ` : words.health.notFetched}
                {fetchedAt && <Time at={fetchedAt} now={now} />}
              </Line>
            ))}
          </Lines>
          <Lines title={words.health.cache}>
            <Line name={health.cache.type} mark={<Chip {...healthMark(health.cache.available ? "OK" : "FAILED")} />}>
              {plural(health.cache.size, words.nouns.entries)}
            </Line>
          </Lines>
        </div>
      )}
    </main>
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
