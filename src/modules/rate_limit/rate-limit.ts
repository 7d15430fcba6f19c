import { defineModule } from '../contract/module.ts';
import { rateLimitAgentForm } from './agent-form.ts';
import { acceptAgentLimits, rateLimitAgentSchema } from './agent-limits.ts';
import { rateLimitErrors } from './errors.ts';
import { limitRequests } from './limit-requests.ts';
import { LimitTable } from './limit-table.ts';
import { checkLimits, normalizeLimits, rateLimitConfig } from './rate-limit-config.ts';
import { RateLimitRuntime } from './rate-limit-runtime.ts';
import { rateLimitSettings } from './settings.ts';

/** Refuses requests that come too fast. */
export const rateLimit = defineModule({
  name: 'rate_limit',
  level: 'route',
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
