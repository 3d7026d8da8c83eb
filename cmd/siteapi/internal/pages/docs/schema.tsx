// The fields of a request or response as a table. Fields of nested objects follow with their paths.
import { Code, Inline } from "./markdown";
import { type Content, type Description, mayBeNull, type Response, resolve, type Schema as JSONSchema } from "./openapi";

interface Field {
  name: string;
  schema: JSONSchema;
  required?: boolean | undefined;
  description?: string | undefined;
  where?: string;
}

/** Describes the type of a value, such as `string, at most 100 characters`. */
function kind(description: Description, schema: JSONSchema): string {
  const s = resolve(description, schema);
  const type = [s.type ?? "any"].flat().filter((t) => t !== "null").join(" or ");
  const orNull = mayBeNull(schema) ? " or null" : "";
  if (s.items) {
    return `list of ${kind(description, s.items)}${s.maxItems ? `, at most ${s.maxItems}` : ""}${orNull && ", or null"}`;
  }
  const bounds = [
    s.const !== undefined && `always ${JSON.stringify(s.const)}`,
    s.enum && s.enum.length <= 6 && `one of ${s.enum.join(", ")}`,
    s.format,
    s.minimum !== undefined && `at least ${s.minimum}`,
    s.maximum !== undefined && `at most ${s.maximum}`,
    s.maxLength !== undefined && `at most ${s.maxLength} characters`,
    s.default !== undefined && `${JSON.stringify(s.default)} if left out`,
  ].filter(Boolean);
  return [type + orNull, ...bounds].join(", ");
}

/** Lists the fields of an object and its nested objects, with their paths. */
function fieldsOf(description: Description, schema: JSONSchema, path = "", depth = 0): Field[] {
  const s = resolve(description, schema);
  const object = s.items ? resolve(description, s.items) : s;
  const prefix = s.items && path ? `${path}[].` : path && `${path}.`;
  return Object.entries(object.properties ?? {}).flatMap(([name, value]) => {
    const inner = resolve(description, value);
    const field: Field = {
      name: prefix + name,
      schema: value,
      required: object.required?.includes(name),
      description: value.description ?? inner.description,
    };
    return [field, ...(depth < 3 ? fieldsOf(description, value, field.name, depth + 1) : [])];
  });
}

interface Props {
  title: string;
  description: Description;
  schema?: JSONSchema;
  fields?: Field[];
}

export function Schema({ title, description, schema, fields = fieldsOf(description, schema ?? {}) }: Props) {
  if (!fields.length) return null;
  return (
    <div class="table" tabIndex={0} role="group" aria-label={title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{title}</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          {fields.map((field) => (
            <tr key={field.name}>
              <th scope="row">
                <code>{field.name}</code>
                <small>
                  {field.where && `${field.where}, `}
                  {field.required ? "required" : "optional"}
                </small>
              </th>
              <td>
                <Inline text={firstParagraph(field.description)} />
                <small>{kind(description, field.schema)}</small>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const firstParagraph = (text = "") => text.split("\n\n")[0] ?? "";

const example = (content?: Record<string, Content>) => Object.values(content ?? {})[0]?.example;

export function Responses({ description, responses }: { description: Description; responses: Record<string, Response> }) {
  const success = Object.entries(responses).find(([status]) => status.startsWith("2"));
  const schema = Object.values(success?.[1].content ?? {})[0]?.schema;
  const sample = example(success?.[1].content);
  return (
    <>
      {schema && <Schema title={`Response ${success![0]}`} description={description} schema={schema} />}
      {sample !== undefined && <Code text={JSON.stringify(sample, null, 2)} label="Example of the response" />}
      <details>
        <summary>Other responses</summary>
        <dl>
          {Object.entries(responses)
            .filter(([status]) => !status.startsWith("2"))
            .map(([status, response]) => (
              <div key={status}>
                <dt>{status}</dt>
                <dd>
                  <Inline text={resolve(description, response).description} />
                </dd>
              </div>
            ))}
        </dl>
      </details>
    </>
  );
}
