// A form that sends a route's example, which can be edited, and shows the response.
import { useState } from "preact/hooks";
import { Code } from "./markdown";
import type { Parameter } from "./openapi";

interface Props {
  path: string;
  method: string;
  parameters: Parameter[];
  example: unknown;
  token: string | undefined;
}

interface Result {
  status: string;
  text: string;
  file?: string;
}

export function Try({ path, method, parameters, example, token }: Props) {
  const [result, setResult] = useState<Result>();
  const [busy, setBusy] = useState(false);
  const body = JSON.stringify(example, null, 2); // undefined: the route takes none
  const id = `${method}${path}`.replace(/\W/g, "-");

  async function send(event: SubmitEvent) {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const given = (name: string) => String(form.get(name) ?? "").trim();
    const query = new URLSearchParams();
    const headers = new Headers();
    for (const { name, in: where } of parameters) {
      if (!given(name)) continue;
      if (where === "query") query.set(name, given(name));
      else headers.set(name, given(name));
    }
    if (example !== undefined) headers.set("Content-Type", "application/json");
    if (token !== undefined) headers.set("Authorization", `Bearer ${given("token")}`);

    setBusy(true);
    try {
      const address = path + (query.size ? `?${query}` : "");
      setResult(await read(await fetch(address, { method: method.toUpperCase(), headers, body: example === undefined ? null : given("body") })));
    } catch (error) {
      setResult({ status: "No response", text: String(error) });
    }
    setBusy(false);
  }

  return (
    <details class="try">
      <summary>Try it</summary>
      <form onSubmit={send} aria-busy={busy}>
        {token !== undefined && <Field id={`${id}-token`} name="token" label="Token" value={token} />}
        {parameters.map((p) => (
          <Field key={p.name} id={`${id}-${p.name}`} name={p.name} label={`${p.name} (${p.in})`} value={p.required ? String(p.example ?? "") : ""} />
        ))}
        {example !== undefined && (
          <p>
            <label for={`${id}-body`}>Body</label>
            <textarea id={`${id}-body`} name="body" rows={Math.min(body.split("\n").length, 24)} spellcheck={false}>
              {body}
            </textarea>
          </p>
        )}
        <button disabled={busy}>Send</button>
        <div role="status">
          {result && <strong>{result.status}</strong>}
          {result?.text && <Code text={result.text} label="The response" />}
          {result?.file && (
            <a href={result.file} download="">
              Save the file
            </a>
          )}
        </div>
      </form>
    </details>
  );
}

function Field({ id, name, label, value }: { id: string; name: string; label: string; value: string }) {
  return (
    <p>
      <label for={id}>{label}</label>
      <input id={id} name={name} defaultValue={value} autocomplete="off" spellcheck={false} />
    </p>
  );
}

async function read(response: Response): Promise<Result> {
  const status = `${response.status} ${response.statusText}`;
  if (!/json/.test(response.headers.get("Content-Type") ?? "")) {
    return { status, text: "", file: URL.createObjectURL(await response.blob()) };
  }
  return { status, text: JSON.stringify(await response.json(), null, 2) };
}
