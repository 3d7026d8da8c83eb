// The list of prepared operations next to the editors: public ones, and those that need a token.
import type { GraphiQLPlugin } from "@graphiql/react";
import { useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import type { Page } from "./page";

type Operation = Page["operations"][number];

/** Returns a plug-in for GraphiQL's sidebar that lists the operations. */
export function newOperationList(operations: Operation[]): GraphiQLPlugin {
  return {
    title: "Operations",
    icon: () => (
      <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
        <path d="M9 6h11M9 12h11M9 18h11M4 6h1M4 12h1M4 18h1" />
      </svg>
    ),
    content: () => (
      <nav className="playground-list" aria-label="Operations">
        <Group title="Anyone may send" operations={operations.filter(({ guard }) => !guard)} />
        <Group title="Operators, with the cache token" operations={operations.filter(({ guard }) => guard === "cache")} />
        <Group title="The CMS, with the webhook's secret" operations={operations.filter(({ guard }) => guard === "webhook")} />
        <p>
          Fields of leads and deliveries are only for operators, with a token of <code>ADMIN_API_TOKEN</code>, on{" "}
          <code>ADMIN_ADDR</code>, or here with <code>ADMIN_PAGE=on</code>.
        </p>
      </nav>
    ),
  };
}

/** A group of operations. A click shows the tab of an operation; "Restore the examples" reopens closed tabs. */
function Group({ title, operations }: { title: string; operations: Operation[] }) {
  const tabs = useGraphiQL((state) => state.tabs);
  const { changeTab } = useGraphiQLActions();
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {operations.map((operation) => {
          const place = tabs.findIndex((tab) => tab.operationName === operation.name);
          return (
            <li key={operation.name}>
              <button type="button" disabled={place < 0} onClick={() => changeTab(place)}>
                {operation.title}
              </button>
            </li>
          );
        })}
      </ul>
    </>
  );
}
