import { required } from '../lib/settings/setting.ts';
import { duration, integer } from '../lib/settings/setting-kinds.ts';

/** How long history stays, and from when something that is wrong raises an alert. */
export const upkeepSettings = {
  history_max_age: required(duration('days', 0, 100_000), {
    description: 'Time for which changes stay in the history. 0: no limit.',
  }),
  history_max_entries: required(integer(0, 100_000_000), {
    description: 'Number of changes that stay in the history. 0: no limit.',
  }),
  alert_agent_away: required(duration('seconds', 0, 10_000_000), {
    description: 'Time after which an agent that was connected and is away raises an alert. 0: no such alert.',
  }),
  alert_backend_failing: required(duration('seconds', 0, 10_000_000), {
    description: 'Time after which a backend raises an alert, if at least half of its requests fail. 0: no such alert.',
  }),
  alert_certificate_days: required(duration('days', 0, 10_000), {
    description:
      'Time before its expiry from which a certificate raises an alert. 0: no alerts about certificates, also not about those that an ACME server does not issue.',
  }),
  alert_circuit_open: required(duration('seconds', 0, 10_000_000), {
    description: 'Time after which an open circuit breaker of a route raises an alert. 0: no such alert.',
  }),
  alert_delivery_stuck: required(duration('seconds', 0, 10_000_000), {
    description: 'Time after which events that wait for a destination raise an alert. 0: no such alert.',
  }),
  alert_descriptor_percent: required(integer(0, 100), {
    description:
      'Share of the file descriptors that the process may open, in percent, from which it raises an alert. 0: no such alert.',
  }),
  alert_disk_percent: required(integer(0, 100), {
    description: "Share of the data directory's disk, in percent, from which it raises an alert. 0: no such alert.",
  }),
  alert_node_lost: required(duration('seconds', 0, 500), {
    description:
      'Time after which a node that ended without a farewell raises an alert. 0: no such alert. Nodes that are stopped raise none.',
  }),
};
