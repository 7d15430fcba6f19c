import { declared, duration } from '../../kit/settings/setting.ts';

export const circuitBreakerSettings = {
  alert_circuit_open: declared(duration('seconds', 0, 10_000_000), {
    group: 'Alerts',
    default: '30s',
    description: 'Time after which an open circuit breaker of a route raises an alert. 0: no such alert.',
  }),
};
