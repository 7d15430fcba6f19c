import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../lib/clock.ts';
import type { Replica } from '../replica/replica.ts';
import type { JobOutcome } from './orders/certificate-job.ts';
import { MANAGED_CERTIFICATE, type ManagedCertificateDoc, managedStatus } from './records.ts';

export interface AcmeMetricsOptions {
  readonly registry: Registry;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly runningCount: () => number;
}

/** Returns the counter of finished attempts. Registered with ACME off too: a dashboard finds the same series. */
export function addAcmeMetrics({
  registry,
  replica,
  clock,
  runningCount,
}: AcmeMetricsOptions): (outcome: JobOutcome) => void {
  const registers = [registry];
  const documents = (): ManagedCertificateDoc[] =>
    Array.from(replica.all(MANAGED_CERTIFICATE), ({ doc }) => doc as ManagedCertificateDoc);
  new Gauge({
    name: 'postern_managed_certificates',
    help: 'Names whose certificates come from ACME servers, by status.',
    labelNames: ['status'],
    registers,
    collect() {
      for (const status of ['issued', 'pending', 'failed']) this.set({ status }, 0);
      for (const doc of documents()) this.inc({ status: managedStatus(doc, clock.nowMs()) });
    },
  });
  new Gauge({
    name: 'postern_managed_certificates_next_expiry_timestamp_seconds',
    help: 'Unix time at which the first of the managed certificates expires; absent without any.',
    registers,
    collect() {
      let first = Number.POSITIVE_INFINITY;
      for (const { not_after: end } of documents()) if (end !== null) first = Math.min(first, Date.parse(end));
      if (Number.isFinite(first)) this.set(first / 1000);
      else this.remove();
    },
  });
  new Gauge({
    name: 'postern_acme_orders_in_progress',
    help: 'Certificate orders that this node works on.',
    registers,
    collect() {
      this.set(runningCount());
    },
  });
  const attempts = new Counter({
    name: 'postern_acme_attempts_total',
    help: 'Finished attempts of this node to get a certificate, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  attempts.inc({ outcome: 'issued' }, 0);
  attempts.inc({ outcome: 'failed' }, 0);
  return (outcome) => attempts.inc({ outcome });
}
