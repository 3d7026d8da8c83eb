// The logins with an account and the assistants with access, for admins.
import { EndLoginDocument, LoginsDocument } from "../generated/inbox";
import { clock, exact } from "./format";
import { Action, Again, Empty, Page, Pending } from "./parts";
import { ask, useQuery } from "./service";
import { words } from "./words";

export function Logins() {
  const query = useQuery(LoginsDocument, {});
  const logins = query.data?.logins;
  const end = async (id: string) => {
    await ask(EndLoginDocument, { id });
    query.reload();
  };
  return (
    <Page view="logins" intro={words.logins.intro} tools={<Again run={query.reload} busy={query.loading} />}>
      <Pending query={query} rows={4} />
      {logins?.length === 0 && <Empty title={words.logins.none} />}
      {!!logins?.length && (
        <section class="card" aria-busy={query.loading}>
          <ul class="lines logins">
            {logins.map(({ id, name, role, client, startedAt, expiresAt }) => (
              <li key={id}>
                <strong><bdi>{name}</bdi></strong>
                {client && <span>{words.logins.by} <bdi>{client}</bdi></span>}
                <span>{words.logins.roles[role]}</span>
                <span class="muted">
                  {words.logins.time(exact(startedAt), client ? exact(expiresAt) : clock(expiresAt))}{" "}
                  <Action run={() => end(id)} done={words.logins.ended}>{words.logins.end}</Action>
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Page>
  );
}
