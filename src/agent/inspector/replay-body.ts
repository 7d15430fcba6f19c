import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { parseUniqueJson } from '../../lib/text/json-shape.ts';
import { InspectorRefusal } from './inspector-refusal.ts';

/** Parts of the request that the replay changes. */
export interface ReplayEdit {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
  readonly body?: Buffer;
}

export interface ReplayOrder {
  readonly id: string;
  /** Null: the tunnel of the original request. */
  readonly tunnelName: string | null;
  readonly edit: ReplayEdit;
}

/** Reads `{"id", "tunnel_name"?, "edit"?: {"method"?, "path"?, "headers"?, "body"?}}`. Throws `InspectorRefusal`. */
export function parseReplayOrder(text: string): ReplayOrder {
  const order = fieldsOf(parsed(text), 'the request', ['id', 'tunnel_name', 'edit']);
  const id = stringIn(order, 'id');
  if (id === undefined) throw bad('"id" is missing');
  return { id, tunnelName: stringIn(order, 'tunnel_name') ?? null, edit: editIn(order['edit'] ?? {}) };
}

function editIn(value: JsonValue): ReplayEdit {
  const edit = fieldsOf(value, '"edit"', ['method', 'path', 'headers', 'body']);
  const method = stringIn(edit, 'method');
  const path = stringIn(edit, 'path');
  const body = stringIn(edit, 'body');
  return {
    ...(method !== undefined && { method }),
    ...(path !== undefined && { path }),
    ...(edit['headers'] !== undefined && { headers: headersIn(edit['headers']) }),
    ...(body !== undefined && { body: base64In(body) }),
  };
}

function headersIn(value: JsonValue): readonly { readonly name: string; readonly value: string }[] {
  if (!Array.isArray(value)) throw bad('"headers" must be a list');
  return (value as readonly JsonValue[]).map((item) => {
    // `masked` is accepted and ignored, so that a list can be sent back as it was read.
    const header = fieldsOf(item, 'a header', ['name', 'value', 'masked']);
    const name = stringIn(header, 'name');
    const text = stringIn(header, 'value');
    if (name === undefined || text === undefined) throw bad('a header needs "name" and "value"');
    return { name, value: text };
  });
}

function base64In(text: string): Buffer {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) throw bad('"body" must be base64');
  return Buffer.from(text, 'base64');
}

function parsed(text: string): unknown {
  try {
    return parseUniqueJson(text);
  } catch {
    throw bad('the body is not JSON');
  }
}

function fieldsOf(value: unknown, what: string, known: readonly string[]): JsonObject {
  if (!isJsonObject(value)) throw bad(`${what} must be an object`);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw bad(`${what} has an unknown field ${JSON.stringify(unknown.slice(0, 64))}`);
  return value;
}

function stringIn(object: JsonObject, field: string): string | undefined {
  const value = object[field];
  if (value === undefined || typeof value === 'string') return value;
  throw bad(`"${field}" must be a string`);
}

function bad(message: string): InspectorRefusal {
  return new InspectorRefusal(400, 'bad_request', message);
}
