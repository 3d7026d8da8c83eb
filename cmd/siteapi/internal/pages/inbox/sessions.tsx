// Who is signed in with an account, for admins.
import { EndLoginDocument, LoginsDocument } from "../generated/inbox";
import { clock, exact } from "./format";
import { Action, Empty, Pending } from "./parts";
import { ask, useQuery } from "./service";
import { words } from "./words";

export function Sessions() {
  const query = useQuery(LoginsDocument, {});
  const sessions = query.data?.logins;
  const end = async (id: string) => {
    await ask(EndLoginDocument, { id });
    query.reload();
  };
  return (
    <main class="page">
      <div class="heading">
        <div>
          <h1>{words.views.sessions}</h1>
          <p class="muted">{words.sessions.intro}</p>
        </div>
        <button type="button" onClick={query.reload} disabled={query.loading}>{words.sessions.again}</button>
      </div>
      <Pending query={query} rows={4} />
      {sessions?.length === 0 && <Empty title={words.sessions.none} />}
      {!!sessions?.length && (
        <section class="card" aria-busy={query.loading}>
          <ul class="lines sessions">
            {sessions.map(({ id, actor, role, startedAt, expiresAt }) => (
              <li key={id}>
                <strong><bdi>{actor}</bdi></strong>
                <span>{words.sessions.roles[role]}</span>
                <span class="muted">
                  {words.sessions.time(exact(startedAt), clock(expiresAt))}{" "}
                  <Action run={() => end(id)} done={words.sessions.ended}>{words.sessions.end}</Action>
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </main>
  );
}
