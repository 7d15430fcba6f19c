import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { type ArrivalProblem, ArrivingClients } from '../../../kit/net/arriving-clients.ts';
import type { DescriptorBudget } from '../../../kit/process/descriptor-budget.ts';
import type { Config } from '../../settings/schema.ts';

/** Names of listeners in metrics and log. `tcp`: the ports of tcp tunnels. */
export type ProxiedListener = 'edge' | 'edge_http' | 'tunnel' | 'tcp';

export interface ProxiedClientsDependencies {
  readonly config: Config;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly descriptors: DescriptorBudget;
}

/** The same as for a ClientHello, and the two share it. */
const HEADER_TIMEOUT_MS = 10_000;
/** As many as there may be pending handshakes. A proxy sends its header first, so few wait at a time. */
const MAX_WAITING = 4096;
const LOG_EVERY_MS = 10_000;
/** Part of normal operation: health checks connect and say nothing. */
const QUIET: ReadonlySet<ArrivalProblem> = new Set(['closed', 'draining']);

/** Who the clients of each listener are, behind the proxies of `proxy_protocol_from`. */
export function proxiedClients({
  config,
  logger,
  registry,
  descriptors,
}: ProxiedClientsDependencies): (listener: ProxiedListener) => ArrivingClients {
  const refusals = new Counter({
    name: 'postern_proxy_protocol_refusals_total',
    help: 'Connections from proxy_protocol_from that were closed for lack of a valid PROXY header, by listener and reason.',
    labelNames: ['listener', 'reason'],
    registers: [registry],
  });
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  return (listener) =>
    new ArrivingClients({
      proxies: config.proxy_protocol_from,
      timeoutMs: HEADER_TIMEOUT_MS,
      maxWaiting: MAX_WAITING,
      hasRoom: () => descriptors.admits(listener === 'tunnel' ? 'agent' : 'visitor'),
      onRefused: ({ proxy, problem, message }) => {
        refusals.labels(listener, problem).inc();
        const nowMs = performance.now();
        const isLoud = !QUIET.has(problem) && nowMs - loggedAtMs >= LOG_EVERY_MS;
        if (isLoud) loggedAtMs = nowMs;
        const fields = { listener, proxy, reason: problem, why: message, setting: 'proxy_protocol_from' };
        logger[isLoud ? 'warn' : 'debug'](fields, 'closed a connection of a proxy: it has no valid PROXY header');
      },
    });
}
