import Type, { type Static } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { AcceptedForm } from '../contract/agent-form.ts';
import { MAX_HEADERS, MAX_NAME_LENGTH, MAX_VALUE_LENGTH, withLowerCaseNames } from './header-config.ts';

/** In the bind message: lines such as "x-name: value". */
export const headerLinesSchema = Type.Object({
  add: Type.Array(Type.String({ maxLength: MAX_NAME_LENGTH + 2 + MAX_VALUE_LENGTH }), {
    default: [],
    maxItems: MAX_HEADERS,
  }),
  remove: Type.Array(Type.String({ maxLength: MAX_NAME_LENGTH }), { default: [], maxItems: MAX_HEADERS }),
});

export function acceptHeaderLines(form: JsonObject): AcceptedForm | { readonly problem: string } {
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
