import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { DescriptorBudget, descriptorLimit, openDescriptors } from '../../../kit/process/descriptor-budget.ts';

export interface Descriptors {
  readonly budget: DescriptorBudget;
  close(): void;
}

const CHECK_EVERY_MS = 1_000;
const SCARCE =
  'file descriptors are running out: new connections are refused until others close. Raise the limit with LimitNOFILE= of the systemd unit, --ulimit nofile= of the container, or ulimit -n. edge_connections_per_address limits a single client';

export interface DescriptorOptions {
  readonly registry: Registry;
  /** Null: another thread says when they run out, and when it is over. */
  readonly logger: Logger | null;
  readonly isOneOfSeveral: boolean;
}

/** The budget of file descriptors of this process. The log has one line when they run out, and one when it is over. */
export function openDescriptorBudget({ registry, logger, isOneOfSeveral }: DescriptorOptions): Descriptors {
  const refusals = new Counter({
    name: 'postern_descriptor_refusals_total',
    help: 'Connections refused because file descriptors run out, by their use: visitor, agent or upstream.',
    labelNames: ['use'],
    registers: [registry],
  });
  const limit = descriptorLimit();
  const budget = new DescriptorBudget({
    limit,
    count: openDescriptors,
    nowMs: () => performance.now(),
    isOneOfSeveral,
    onRefused: (use) => refusals.labels(use).inc(),
    onChange: (isScarce) => {
      const fields = { open: budget.open, limit, reserve: budget.reserve };
      if (isScarce) logger?.error(fields, SCARCE);
      else logger?.info(fields, 'there are enough file descriptors again: new connections are accepted');
    },
  });
  const timer = limit === Number.POSITIVE_INFINITY ? undefined : setInterval(() => budget.check(), CHECK_EVERY_MS);
  timer?.unref();
  return { budget, close: () => clearInterval(timer) };
}
