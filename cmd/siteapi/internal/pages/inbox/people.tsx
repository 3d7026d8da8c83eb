// All data about one person, with or without a lead: find it by the address, save it, withdraw consents, erase it.
import { useState } from "preact/hooks";
import { PersonDocument, WithdrawConsentDocument } from "../generated/inbox";
import { Erase } from "./erase";
import { savePerson } from "./export";
import type { Params } from "./filters";
import { exact, plural } from "./format";
import { ConsentFact, isOpen, Others } from "./lead";
import { Action, addressField, Card, Empty, Fact, Icon, Pending, submits, useNow } from "./parts";
import { setParams } from "./route";
import { ask, may, useQuery } from "./service";
import { words } from "./words";

export function People({ params: { email } }: { params: Params }) {
  return (
    <main class="page">
      <h1>{words.views.people}</h1>
      <p class="muted">{words.people.intro}</p>
      <form class="inline" onSubmit={submits((value) => setParams({ email: value("email") }))}>
        <input
          {...addressField}
          name="email"
          required
          aria-label={words.lead.email}
          placeholder={words.lead.email}
          key={email}
          defaultValue={email}
        />
        <button type="submit" class="primary">{words.people.find}</button>
      </form>
      {email && <Found key={email} email={email} />}
    </main>
  );
}

function Found({ email }: { email: string }) {
  const query = useQuery(PersonDocument, { email });
  const [erasing, setErasing] = useState(false);
  const now = useNow();
  const person = query.data?.person;
  if (!person) return <Pending query={query} rows={4} />;

  const { leads, consents, sessions } = person;
  const answers = [
    ...leads.flatMap((lead) => lead.consents ?? []),
    ...consents.map(({ consent }) => consent),
    ...sessions.flatMap(({ consent }) => consent ?? []),
  ];
  // Of several answers for one purpose, a consent that was given and not withdrawn takes precedence.
  const purposes = new Map(answers.map((answer) => [answer.purpose, answer]));
  for (const answer of answers.filter(isOpen)) purposes.set(answer.purpose, answer);
  const withdraw = async (purpose: string) => {
    await ask(WithdrawConsentDocument, { id: email, purpose });
    query.reload();
  };
  const corrected = new Set(leads.flatMap((lead) => lead.deliveries ?? []).flatMap((delivery) => delivery.email ?? []));
  const nothing = leads.length + consents.length + sessions.length === 0;
  return (
    <div class="stack">
      <h2><bdi>{email}</bdi></h2>
      {nothing && <Empty title={words.people.nothing} hint={words.people.nothingHint} />}
      {leads.length > 0 && <Others title={words.views.leads} leads={leads} now={now} />}
      {corrected.size > 0 && (
        <Card title={words.people.corrected}>
          {[...corrected].map((address) => <p key={address}><bdi>{address}</bdi></p>)}
        </Card>
      )}
      {purposes.size > 0 && (
        <Card title={words.consents.title}>
          {[...purposes].map(([purpose, answer]) => (
            <ConsentFact key={purpose} consent={answer} leads={leads.length} withdraw={withdraw} />
          ))}
        </Card>
      )}
      {sessions.length > 0 && (
        <Card title={words.people.sessions}>
          {sessions.map((session) => (
            <Fact key={session.id} name={exact(session.lastSeen)}>
              {plural(session.count, words.nouns.states)}
              {session.email && `, ${words.people.typed([session.firstName, session.email].filter(Boolean).join(", "))}`}
            </Fact>
          ))}
        </Card>
      )}
      <div class="actions">
        {!nothing && (
          <Action run={() => savePerson(email)} done={words.people.saved}>
            <Icon name="save" /> {words.people.save}
          </Action>
        )}
        {may("ADMIN") && (
          <button type="button" class="plain danger" onClick={() => setErasing(true)}>{words.erase.open}</button>
        )}
      </div>
      {erasing && <Erase what={{ email }} close={() => setErasing(false)} erased={query.reload} />}
    </div>
  );
}
