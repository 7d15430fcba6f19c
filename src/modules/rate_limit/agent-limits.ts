import Type, { type Static } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { AcceptedForm } from '../contract/agent-form.ts';
import { MAX_LIMITS } from './limit-table.ts';
import { DEFAULT_KEY, type Limit, MAX_REQUESTS, MAX_WINDOW_SECONDS } from './rate-limit-config.ts';

/** In the bind message: texts such as "100/1m burst 20 by header:x-api-key". */
export const rateLimitAgentSchema = Type.Object({
  limits: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    default: [],
    maxItems: MAX_LIMITS,
    description: 'Limits, each as REQUESTS/TIME, such as "100/1m", and if needed "burst NUMBER" and "by KEY" after it.',
  }),
  enforce: Type.Boolean({ default: true, description: 'false: the limits are rehearsed, and all requests pass.' }),
});

const LIMIT = /^(?<limit>\d{1,7})\/(?<window>\d{1,5})(?<unit>[smh]?)(?: burst (?<burst>\d{1,7}))?(?: by (?<key>\S+))?$/;
const SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600 };

export function acceptAgentLimits(form: JsonObject): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const { limits: texts, enforce } = form as Static<typeof rateLimitAgentSchema>;
  const limits: Limit[] = [];
  for (const text of texts) {
    const limit = limitOf(text);
    if (limit === null)
      return { problem: `limits: write each limit as "100/1m", "100/1m burst 20" or "100/1m by header:x-api-key"` };
    limits.push(limit);
  }
  return { config: { enabled: true, enforce, limits }, records: [] };
}

function limitOf(text: string): Limit | null {
  const { limit, window, unit = '', burst = '0', key = DEFAULT_KEY } = LIMIT.exec(text)?.groups ?? {};
  if (limit === undefined || window === undefined) return null;
  const seconds = Number(window) * (SECONDS[unit] as number);
  const isInRange = (value: number, max: number): boolean => value >= 1 && value <= max;
  if (!isInRange(Number(limit), MAX_REQUESTS) || !isInRange(seconds, MAX_WINDOW_SECONDS)) return null;
  if (Number(burst) > MAX_REQUESTS) return null;
  return { limit: Number(limit), window_seconds: seconds, burst: Number(burst), key };
}
