import Type, { type Static } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { AcceptedForm, AgentAccess } from '../contract/agent-form.ts';
import { MAX_HEADERS, MAX_NAME_LENGTH, MAX_VALUE_LENGTH, withLowerCaseNames } from './header-config.ts';

/** The form of a module that changes the headers of requests or responses. */
export function headerAgent(what: 'request' | 'response', order: number): AgentAccess {
  const key = `${what}_header`;
  const flag = `${what}-header`;
  return {
    form: {
      order,
      key,
      shape: 'map',
      protocols: ['https', 'http'],
      fields: [
        {
          name: 'add',
          example: '["x-name: value"]',
          isRepeated: true,
          flag: { name: `${flag}-add`, hint: '"NAME: VALUE"', description: `Add this header to ${what}s.` },
        },
        {
          name: 'remove',
          example: '["x-name"]',
          flag: { name: `${flag}-remove`, hint: 'NAME', description: `Remove this header from ${what}s.` },
        },
      ],
      whenEmpty: `${key} has no headers: write add or remove, or remove it`,
      summary: ['add {add}', 'remove {remove}'],
    },
    schema: headerLinesSchema,
    accept: acceptHeaderLines,
  };
}

/** In the bind message: lines such as "x-name: value". */
const headerLinesSchema = Type.Object({
  add: Type.Array(Type.String({ maxLength: MAX_NAME_LENGTH + 2 + MAX_VALUE_LENGTH }), {
    default: [],
    maxItems: MAX_HEADERS,
    description: 'Headers to add, each as NAME: VALUE.',
  }),
  remove: Type.Array(Type.String({ maxLength: MAX_NAME_LENGTH }), {
    default: [],
    maxItems: MAX_HEADERS,
    description: 'Names of headers to remove.',
  }),
});

function acceptHeaderLines(form: JsonObject): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const { add, remove } = form as Static<typeof headerLinesSchema>;
  const headers = new Map<string, string>();
  for (const line of add) {
    const at = line.indexOf(':');
    const name = line.slice(0, at).trim().toLowerCase();
    if (at < 1) return { problem: 'add: write each header as "name: value"' };
    if (headers.has(name)) return { problem: `add: has "${name.slice(0, 80)}" twice` };
    headers.set(name, line.slice(at + 1).trim());
  }
  const config = { enabled: true, add: Object.fromEntries(headers), remove };
  return { config: withLowerCaseNames(config), records: [] };
}
