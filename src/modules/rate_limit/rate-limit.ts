import type { Static } from 'typebox';
import Type from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import type { AcceptedForm, AgentForm } from '../contract/agent-form.ts';
import { defineModule } from '../contract/module.ts';
import { rateLimitErrors } from './errors.ts';
import { limitRequests, RateLimitRuntime } from './limit-requests.ts';
import { LimitTable, MAX_LIMITS } from './limit-table.ts';
import {
  checkLimits,
  DEFAULT_KEY,
  type Limit,
  MAX_REQUESTS,
  MAX_WINDOW_SECONDS,
  normalizeLimits,
  rateLimitConfig,
} from './rate-limit-config.ts';
import { rateLimitSettings } from './settings.ts';

const rateLimitAgentForm: AgentForm = {
  order: 8.5,
  key: 'rate_limit',
  shape: 'map',
  protocols: ['https', 'http'],
  fields: [
    {
      name: 'limits',
      example: '["100/1m"]',
      isRepeated: true,
      flag: {
        name: 'rate-limit',
        hint: 'LIMIT',
        description: 'Limit requests, such as 100/1m or "10/1s burst 20 by header:x-api-key".',
      },
    },
    { name: 'enforce', example: 'false' },
  ],
  whenEmpty: 'rate_limit has no limits: write limits, such as ["100/1m"], or remove it',
  summary: ['limit {limits}'],
};

/** In the bind message: texts such as "100/1m burst 20 by header:x-api-key". */
const rateLimitAgentSchema = Type.Object({
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

/** Refuses requests that come too fast. */
export const rateLimit = defineModule({
  name: 'rate_limit',
  on: ['requests'],
  decidesAccess: false,
  readsPath: false,
  title: 'Rate limit module',
  description:
    'Refuses requests beyond limits by address, person, program, header or route with 429. Each node counts for itself.',
  config: rateLimitConfig,
  example: { limits: [{ limit: 100, window_seconds: 60, burst: 20, key: 'address' }] },
  settings: rateLimitSettings,
  nodeMemory: {
    create: ({ rate_limit_keys }) => LimitTable.memory(rate_limit_keys),
    threadEnded: (memory, thread) => LimitTable.threadEnded(memory, thread),
  },
  createRuntime: (ports) => RateLimitRuntime.open(ports),
  check: checkLimits,
  normalize: normalizeLimits,
  agent: { form: rateLimitAgentForm, schema: rateLimitAgentSchema, accept: acceptAgentLimits },
  judgesAgainAfter: 'access',
  reasons: { within_limits: 'All limits have room for it.' },
  errors: { title: 'Traffic: rate limits', rows: rateLimitErrors.rows },
  prepare: (config, ports) => ({ ok: true, prepared: limitRequests(config, ports) }),
});
