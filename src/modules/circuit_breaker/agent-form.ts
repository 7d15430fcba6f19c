import type { AgentForm } from '../contract/agent-form.ts';

export const circuitBreakerAgentForm: AgentForm = {
  order: 12,
  key: 'circuit_breaker',
  shape: 'map',
  protocols: ['https', 'http'],
  fields: [
    {
      name: 'error_threshold_percentage',
      example: '0.5',
      isNeeded: true,
      flag: {
        name: 'circuit-breaker',
        hint: 'SHARE',
        description: 'Refuse requests while this share of them fails, from 0 to 1.',
      },
    },
    { name: 'tripped_duration', example: '10s', unit: 'seconds' },
    { name: 'rolling_window', example: '10s', unit: 'seconds' },
    { name: 'num_buckets', example: '10' },
    { name: 'volume_threshold', example: '20' },
  ],
  summary: ['circuit breaker at {error_threshold_percentage}'],
};
