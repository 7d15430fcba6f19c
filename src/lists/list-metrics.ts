import { Counter, Gauge, type Registry } from 'prom-client';
import type { ListState } from './list-state.ts';

const MS_PER_SECOND = 1000;

/** Figures of the lists of this node, by their ids. Returns what counts a failure. */
export function addListMetrics(
  registry: Registry,
  all: () => readonly { readonly id: string; readonly state: ListState }[],
): (id: string) => void {
  const registers = [registry];
  new Gauge({
    name: 'postern_ip_policy_list_entries',
    help: 'Addresses and ranges of an IP policy list that are in use; 0: it was never loaded. The list "countries" is the country database.',
    labelNames: ['list'],
    registers,
    collect() {
      this.reset();
      for (const { id, state } of all()) this.labels(id).set(state.entries);
    },
  });
  new Gauge({
    name: 'postern_ip_policy_list_last_read_timestamp_seconds',
    help: 'Unix time at which the source of an IP policy list was last read without an error.',
    labelNames: ['list'],
    registers,
    collect() {
      this.reset();
      for (const { id, state } of all()) {
        const readAtMs = state.checkedAtMs ?? state.loadedAtMs;
        if (readAtMs !== null) this.labels(id).set(readAtMs / MS_PER_SECOND);
      }
    },
  });
  const failures = new Counter({
    name: 'postern_ip_policy_list_failures_total',
    help: 'Failed attempts to read the source of an IP policy list.',
    labelNames: ['list'],
    registers,
  });
  return (id) => failures.labels(id).inc();
}
