// The API reference: the routes of the service's own description, a form to try each of them, and the chapters of the
// manual for clients. A generic renderer is forty times as large and takes seconds to load on a phone.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import graphQL from "../../../../../resolvers/graphqlhttp/README.md";
import rest from "../../../../../rest/README.md";
import { Code, Markdown } from "./markdown";
import { resolve, type Description, type Operation } from "./openapi";
import { Responses, Schema } from "./schema";
import { Try } from "./try";
import { separateTexts } from "../translation";
import "./docs.css";

const root = document.getElementById("docs")!;
const tokens = { cacheToken: root.dataset.cacheToken ?? "", webhookToken: root.dataset.webhookToken ?? "" };
const playground = root.dataset.playground !== "hidden";

/** The chapters of the manual to show, by their headings. */
const chapters = [
  { id: "graphql", title: "GraphQL", html: graphQL, headings: ["The GraphQL endpoint", "HTTP", "Types for clients"] },
  { id: "caching", title: "Caching", html: graphQL, headings: ["Caching", "Persisted operations"] },
  { id: "limits", title: "Limits", html: graphQL, headings: ["Limits"] },
  { id: "errors", title: "Errors, codes and rate limits", html: rest, headings: ["Errors"] },
] as const;

const anchor = (operation: Operation) => `route-${operation.operationId}`;

function Navigation({ description }: { description: Description }) {
  return (
    <nav aria-label="Contents">
      <a class="home" href="/">
        All pages
      </a>
      {playground && <a href="/playground">Playground</a>}
      <h2>Guide</h2>
      <a href="#start">Start here</a>
      {chapters.map(({ id, title }) => (
        <a key={id} href={`#${id}`}>
          {title}
        </a>
      ))}
      {description.tags.map(({ name }) => (
        <div key={name}>
          <h2>{name}</h2>
          {routes(description, name).map(({ operation, method, path }) => (
            <a key={anchor(operation)} href={`#${anchor(operation)}`}>
              <b class={method}>{method}</b> {path.replace("/api/", "")}
            </a>
          ))}
        </div>
      ))}
    </nav>
  );
}

function routes(description: Description, tag: string) {
  return Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags.includes(tag))
      .map(([method, operation]) => ({ path, method, operation })),
  );
}

function Start({ description }: { description: Description }) {
  const settings = `curl -s ${location.origin}/graphql -H 'Content-Type: application/json' \\
  -d '{"query":"{ SiteSettings(id: \\"siteSettings\\") { contactEmail contactPhones { number } } }"}'`;
  return (
    <section aria-labelledby="start">
      <h1 id="start">{description.info.title}</h1>
      <Markdown text={description.info.description} />
      <p>
        <strong>Site settings and content are in GraphQL only</strong>, at <code>/graphql</code>; the calculator, the cache and
        the CMS's webhook are available in both. {playground && <a href="/playground">The playground</a>}
        {playground && " has every operation prepared. "}
        Tools read <a href="/api/openapi.json">/api/openapi.json</a> and{" "}
        <a href="/docs/schema.graphql">/docs/schema.graphql</a>.
      </p>
      <Code text={settings} label="Reading the settings" />
    </section>
  );
}

function Route({ description, path, method, operation }: {
  description: Description;
  path: string;
  method: string;
  operation: Operation;
}) {
  const id = anchor(operation);
  const body = Object.values(operation.requestBody?.content ?? {})[0];
  const token = operation.security?.flatMap(Object.keys)[0] as keyof typeof tokens | undefined;
  const parameters = (operation.parameters ?? []).map((p) => resolve(description, p));
  return (
    <section class="route" aria-labelledby={id}>
      <h3 id={id}>{operation.summary}</h3>
      <p class="address">
        <b class={method}>{method}</b> <code>{path}</code>
      </p>
      <Markdown text={operation.description} />
      {token && <p>Needs <code>Authorization: Bearer …</code>: {description.components.securitySchemes[token]!.description}</p>}
      {parameters.length > 0 && (
        <Schema
          title="Parameters"
          description={description}
          fields={parameters.map((p) => ({ ...p, where: p.in }))}
        />
      )}
      {body && <Schema title="Body" description={description} schema={body.schema} />}
      <Responses description={description} responses={operation.responses} />
      <Try {...{ path, method, parameters, example: body?.example }} token={token && tokens[token]} />
    </section>
  );
}

function Reference() {
  const [description, setDescription] = useState<Description | null>();
  useEffect(() => {
    fetch("/api/openapi.json").then(
      async (response) => setDescription(await response.json()),
      () => setDescription(null),
    );
  }, []);

  // The URL may point to a section that did not exist yet when the page was loaded.
  useEffect(() => {
    if (description) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [description]);

  if (description === null) return <p role="alert">The description of the routes can't be loaded. Reload the page to try again.</p>;
  if (!description) return <p role="status">Loading …</p>;
  return (
    <div class="page">
      <Navigation description={description} />
      <main>
        <Start description={description} />
        {chapters.map(({ id, title, html, headings }) => (
          <section key={id} aria-labelledby={id}>
            <h2 id={id}>{title}</h2>
            {headings.map((heading) => (
              <Manual key={heading} html={html[heading] ?? ""} />
            ))}
          </section>
        ))}
        {description.tags.map((tag) => (
          <section key={tag.name} aria-labelledby={`tag-${tag.name}`}>
            <h2 id={`tag-${tag.name}`} class="tag">
              {tag.name}
            </h2>
            <p>{tag.description}</p>
            {routes(description, tag.name).map((route) => (
              <Route key={anchor(route.operation)} description={description} {...route} />
            ))}
          </section>
        ))}
      </main>
    </div>
  );
}

/** A chapter of the manual, which the build converted to HTML. */
const Manual = ({ html }: { html: string }) => <div class="manual" dangerouslySetInnerHTML={{ __html: html }} />;

separateTexts();
render(<Reference />, root);
