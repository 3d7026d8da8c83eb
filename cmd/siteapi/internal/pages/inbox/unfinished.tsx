// Visitors who agreed that the firm contacts them about their choices, typed an address, and left.
import { UnfinishedDocument } from "../generated/inbox";
import { languageName } from "./format";
import { useLabel } from "./labels";
import { Choices, sizeOf } from "./lead";
import { Card, Empty, Estimate, Fact, More, Page, Pending, Time, useNow } from "./parts";
import { useList } from "./service";
import { words } from "./words";

export function Unfinished() {
  const list = useList(UnfinishedDocument, { first: 50 }, (data) => data.unfinishedQuotes);
  const label = useLabel();
  const now = useNow();
  const { unfinished, lead } = words;
  return (
    <Page view="unfinished" intro={unfinished.intro}>
      <Pending query={list} rows={5} />
      {list.nodes?.length === 0 && <Empty title={unfinished.none} hint={unfinished.noneHint} />}
      <div class="stack" aria-busy={list.loading}>
        {list.nodes?.map(({ id, email, firstName, lastSeen, locale, consent, selections, min, max, currency }) => (
          <Card key={id} title={firstName || email || ""}>
            {email && <Fact name={lead.email}><a href={`mailto:${encodeURIComponent(email)}`}>{email}</a></Fact>}
            <Fact name={unfinished.left}><Time at={lastSeen} now={now} /></Fact>
            <Fact name={words.list.language}>{languageName(locale)}</Fact>
            <Choices selections={selections} choice={(field, slug) => label(field, slug) + sizeOf(selections, slug)} />
            {min !== null && currency && (
              <Fact name={lead.price}>
                <Estimate of={{ min, max: max ?? min, currency, toBeAgreed: !max }} />
              </Fact>
            )}
            {consent?.text && <Fact name={words.consents.title}><bdi class="message">{consent.text}</bdi></Fact>}
          </Card>
        ))}
      </div>
      {list.hasMore && <More load={list.more} />}
    </Page>
  );
}
