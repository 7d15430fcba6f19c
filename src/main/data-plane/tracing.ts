import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Config } from '../../config/schema.ts';
import type { Store } from '../../store/store.ts';
import { openTracing } from '../../tracing/open-tracing.ts';
import type { Tracing } from '../../tracing/tracing.ts';
import { programVersion } from '../version.ts';

/** The collector may not answer, and must not delay the stop. */
export const SEND_REST_WITHIN_MS = 2_000;

export interface TracingDependencies {
  readonly config: Config;
  readonly store: Pick<Store, 'mac'>;
  readonly registry: Registry;
  readonly logger: Logger;
  readonly node: string;
}

/** Null without `otel_endpoint`. */
export async function openServerTracing(deps: TracingDependencies): Promise<Tracing | null> {
  const { config, store, registry, logger, node } = deps;
  const { otel_endpoint: endpoint } = config;
  const tracing =
    endpoint === null
      ? null
      : await openTracing({
          endpoint,
          headers: config.otel_headers,
          sampleRatio: config.otel_sample_ratio,
          samplingKey: store.mac('trace-sampling', ''),
          node,
          version: programVersion(),
          log: logger,
        });
  addTracingMetrics(registry, tracing);
  return tracing;
}

function addTracingMetrics(registry: Registry, tracing: Tracing | null): void {
  new Counter({
    name: 'postern_otel_spans_total',
    help: 'Spans for the OpenTelemetry collector by result: sent, failed (the collector did not accept them), dropped (the queue was full).',
    labelNames: ['result'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [result, count] of Object.entries(tracing?.counts ?? {})) this.inc({ result }, count);
    },
  });
  new Gauge({
    name: 'postern_otel_queued_spans',
    help: 'Spans that wait for the OpenTelemetry collector.',
    registers: [registry],
    collect() {
      this.set(tracing?.queued ?? 0);
    },
  });
}
