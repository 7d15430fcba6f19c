import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import type { Store } from '../store.ts';
import type { Replica } from './replica.ts';

/** Counters and sizes of the store and the replica; read when the metrics are scraped. */
export function addStoreMetrics(registry: Registry, store: Store, replica: Replica): void {
  collectDefaultMetrics({ register: registry });
  // Gauges whose names claim to be counters; those without "_total" have the same data by type.
  for (const kind of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  const registers = [registry];
  new Gauge({
    name: 'postern_revision',
    help: 'Revision of the configuration that this node serves.',
    registers,
    collect() {
      this.set(replica.revision);
    },
  });
  new Gauge({
    name: 'postern_records',
    help: 'Configuration records, by kind.',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset();
      for (const [kind, count] of replica.counts()) this.set({ kind }, count);
    },
  });
  new Gauge({
    name: 'postern_store_up',
    help: '1 while the store can be read and written, 0 while it is degraded or has failed.',
    registers,
    collect() {
      this.set(store.health().state === 'ok' ? 1 : 0);
    },
  });
  countersOf(store, registers);
}

function countersOf(store: Store, registers: Registry[]): void {
  new Counter({
    name: 'postern_store_write_sets_total',
    help: 'Writes applied by this node.',
    registers,
    collect() {
      this.reset();
      this.inc(store.stats().writeSets);
    },
  });
  new Counter({
    name: 'postern_store_resets_total',
    help: 'Full reloads of this node after the database lost commits.',
    registers,
    collect() {
      this.reset();
      this.inc(store.stats().resets);
    },
  });
  new Counter({
    name: 'postern_store_commits_total',
    help: 'Transactions, each with one fsync, that contained those writes.',
    registers,
    collect() {
      this.reset();
      this.inc(store.stats().commits);
    },
  });
}
