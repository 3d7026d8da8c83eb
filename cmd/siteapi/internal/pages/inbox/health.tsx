// What `siteapi doctor` says, how old the content is, and the cache.
import type { ComponentChildren } from "preact";
import { HealthDocument, type HealthState } from "../generated/inbox";
import { Chip, Commands, Pending, Time, useNow } from "./parts";
import { useQuery } from "./service";
import { languageName, plural, slugWords, type Tone } from "./words";

const states: Record<HealthState, { text: string; tone: Tone }> = {
  OK: { text: "Fine", tone: "good" },
  WARNING: { text: "Look at this", tone: "warn" },
  FAILED: { text: "Broken", tone: "bad" },
};

const headlines: Record<HealthState, string> = {
  OK: "Everything is fine",
  WARNING: "Working, with something to look at",
  FAILED: "Something is broken",
};

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
          <h1>Health</h1>
          <p class="muted">{health ? `Version ${health.version}` : "Looking at every part of the service …"}</p>
        </div>
        <button type="button" onClick={query.reload} disabled={query.loading}>Check again</button>
      </div>
      <Pending query={query} rows={6} />
      {health && (
        <div class="charts" aria-busy={query.loading}>
          <section class={`card headline ${states[worst].tone}`}>
            <h2>{headlines[worst]}</h2>
          </section>
          <Lines title="Checks">
            {health.checks.map((check, i) => (
              <Line key={i} name={check.name} mark={<Chip {...states[check.state]} />}>
                <Commands text={check.detail ?? ""} />
                {check.advice && (
                  <p>
                    → <Commands text={check.advice} />
                  </p>
                )}
              </Line>
            ))}
          </Lines>
          <Lines title="Content of the site">
            {health.content.map(({ locale, documents, fetchedAt }) => (
              <Line key={locale} name={languageName(locale)} mark={plural(documents, "document")}>
                {fetchedAt ? "fetched " : "not fetched yet"}
                {fetchedAt && <Time at={fetchedAt} now={now} />}
              </Line>
            ))}
          </Lines>
          <Lines title="Cache">
            <Line name={health.cache.type} mark={<Chip {...states[health.cache.available ? "OK" : "FAILED"]} />}>
              {plural(health.cache.size, "entry", "entries")}
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
