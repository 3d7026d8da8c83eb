import { GraphiQL } from "graphiql";
import { HISTORY_PLUGIN } from "@graphiql/plugin-history";
import { newFetcher } from "./fetcher";
import { newOperationList } from "./list";
import type { Page } from "./page";

/** Scalars that accept any JSON value, for the validation of variables. */
const anyJSON = { JSON: {} };

/**
 * Restores the prepared tabs. Because headers contain tokens, all input is stored in the sessionStorage of the browser
 * tab, and clearing it is sufficient.
 */
function startOver() {
  sessionStorage.clear();
  location.reload();
}

/** GraphiQL below a bar with the endpoint and a hint about tokens. It is rendered once. */
export function Playground({ page }: { page: Page }) {
  const tabs = page.operations.map(({ query, variables, token }) => ({
    query,
    variables,
    headers: token ? JSON.stringify({ Authorization: `Bearer ${token}` }, null, 2) : "",
  }));
  return (
    <div className="playground">
      <header className="playground-bar">
        <h1>siteapi</h1>
        <code>{page.graphqlPath}</code>
        <span className="playground-hint">
          Guarded operations need a bearer token in <b>Headers</b>, below the operation.
        </span>
        <button type="button" onClick={startOver} title="Forget what was typed in this browser tab">
          Restore the examples
        </button>
      </header>
      {!page.introspection && (
        <p className="playground-notice" role="status">
          Introspection is disabled (<code>GRAPHQL_INTROSPECTION=off</code>). Operations run as usual;
          documentation, completion and checks while typing need it enabled.
        </p>
      )}
      <main>
        <GraphiQL
          fetcher={newFetcher(page.graphqlPath)}
          schema={page.introspection ? undefined : null}
          defaultTabs={tabs}
          plugins={[HISTORY_PLUGIN, newOperationList(page.operations)]}
          defaultEditorToolsVisibility
          customScalarSchemas={anyJSON}
          schemaDescription
          inputValueDeprecation
          storage={sessionStorage}
          shouldPersistHeaders
          showPersistHeadersSettings={false}
        >
          <GraphiQL.Logo>
            <a className="graphiql-logo-link" href={page.licensesPath} target="_blank" rel="noreferrer">
              Graph<em>i</em>QL
            </a>
          </GraphiQL.Logo>
        </GraphiQL>
      </main>
    </div>
  );
}
