import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { LimitTable } from './limit-table.ts';

/** The state of the module in one thread: the table is that of the node. */
export class RateLimitRuntime implements ModuleRuntime {
  readonly table: LimitTable;
  readonly exceeded: (outcome: 'refused' | 'would_refuse') => void;

  private constructor(ports: RuntimePorts) {
    const full = ports.counter({
      name: 'postern_rate_limit_full_total',
      help: 'Requests whose key found no free place in the table of rate limits: another key, which had used less than half of its limit, was forgotten, or the key shares a limit with others that have no place.',
      label: 'effect',
    });
    this.table = new LimitTable(ports.nodeMemory(), full);
    this.exceeded = ports.counter({
      name: 'postern_rate_limit_exceeded_total',
      help: 'Requests beyond a rate limit: refused, or let pass by a rehearsal (would_refuse).',
      label: 'outcome',
    });
  }

  static async open(ports: RuntimePorts): Promise<RateLimitRuntime> {
    return new RateLimitRuntime(ports);
  }

  async close(): Promise<void> {}
}
