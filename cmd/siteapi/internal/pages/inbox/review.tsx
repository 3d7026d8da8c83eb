// The review of a lead that a bot may have sent.
import { RejectLeadDocument, ReleaseLeadDocument, type WholeLeadFragment as Lead } from "../generated/inbox";
import { plural } from "./format";
import { Action, type Question } from "./parts";
import { ask } from "./service";
import { words } from "./words";
import type { LeadProps } from "./work";

export function Review({ lead, change }: LeadProps) {
  const rejected = lead.state === "REJECTED";
  const decision = { id: lead.id, expected: lead.state }; // fails if a colleague decided first
  return (
    <section class={rejected ? "card" : "card review"} aria-label={words.review.label}>
      <h3>{rejected ? words.review.rejected : words.review.question}</h3>
      <p>{rejected ? words.review.rejectedHint : words.review.hint}</p>
      <Reasons lead={lead} />
      <div class="actions">
        <Action
          kind="primary"
          done={words.review.released}
          run={() => change(ask(ReleaseLeadDocument, decision))}
        >
          {rejected ? words.review.releaseAfterAll : words.review.release}
        </Action>
        {!rejected && (
          <Action
            question={decisionQuestion("reject", 1)}
            done={words.review.done}
            run={() => change(ask(RejectLeadDocument, decision))}
          >
            {words.review.reject}
          </Action>
        )}
      </div>
    </section>
  );
}

/** The question before some leads are released or rejected. */
export const decisionQuestion = (action: "release" | "reject", n: number): Question => ({
  title: words.selection.questions[action](plural(n, words.nouns.leads)),
  text: words.selection.hints[action],
  confirm: words.selection[action],
});

export const Reasons = ({ lead }: { lead: Lead }) => (
  <ul class="reasons">
    {lead.signals.map((signal) => (
      <li key={signal}>{words.signals[signal]}</li>
    ))}
  </ul>
);
