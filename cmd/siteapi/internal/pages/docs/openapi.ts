// The parts of an OpenAPI 3.1 description that the service generates and the page reads.
export interface Reference {
  $ref?: string;
}

export interface Schema extends Reference {
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  anyOf?: Schema[];
  default?: unknown;
}

export interface Parameter extends Reference {
  name: string;
  in: string;
  description?: string;
  required?: boolean;
  schema: Schema;
  example?: unknown;
}

export interface Content {
  schema: Schema;
  example?: unknown;
}

export interface Response extends Reference {
  description?: string;
  content?: Record<string, Content>;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security?: Record<string, unknown>[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, Response>;
}

export interface Description {
  info: { title: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, Response>;
    securitySchemes: Record<string, { description: string }>;
  };
}

/**
 * Follows a reference into the description's components. For a reference or null, it follows
 * the reference; mayBeNull reports the null.
 */
export function resolve<T extends Reference & { anyOf?: Schema[] }>(description: Description, value: T): T {
  if (value.anyOf && mayBeNull(value)) {
    const [other, ...more] = value.anyOf.filter((s) => s.type !== "null");
    if (other && !more.length) return resolve(description, other) as T;
  }

  const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(value.$ref ?? "") ?? [];
  if (!kind || !name) return value;
  const components = description.components as unknown as Record<string, Record<string, T>>;
  return components[kind]?.[name] ?? value;
}

/** Reports whether a schema also accepts null. */
export const mayBeNull = (s: Schema): boolean =>
  [s.type].flat().includes("null") || (s.anyOf?.some((one) => one.type === "null") ?? false);
