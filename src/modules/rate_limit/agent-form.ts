import type { AgentForm } from '../contract/agent-form.ts';

export const rateLimitAgentForm: AgentForm = {
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
