import { Counter, Gauge, type Registry } from 'prom-client';
import type { EventRecorder } from './event-recorder.ts';

export interface RecordingMetricsOptions {
  readonly registry: Registry;
  readonly recorders: readonly EventRecorder[];
  /** Events caused by configuration changes, by type. */
  readonly changeEvents: () => ReadonlyMap<string, number>;
}

/** Events recorded by this process, whichever process delivers them. */
export function addRecordingMetrics({ registry, recorders, changeEvents }: RecordingMetricsOptions): void {
  const registers = [registry];
  const perType = (name: string, help: string, read: () => readonly ReadonlyMap<string, number>[]): void => {
    new Counter({
      name,
      help,
      labelNames: ['type'],
      registers,
      collect() {
        this.reset();
        for (const counts of read()) for (const [type, count] of counts) this.inc({ type }, count);
      },
    });
  };
  perType('postern_events_recorded_total', 'Events recorded by this node, by type.', () => [
    changeEvents(),
    ...recorders.map(({ recorded }) => recorded),
  ]);
  perType(
    'postern_events_dropped_total',
    'Agent and traffic events dropped because their queue was full, by type.',
    () => recorders.map(({ dropped }) => dropped),
  );
  new Gauge({
    name: 'postern_events_queued',
    help: 'Agent and traffic events that wait to be written.',
    registers,
    collect() {
      this.set(recorders.reduce((sum, { queued }) => sum + queued, 0));
    },
  });
}
