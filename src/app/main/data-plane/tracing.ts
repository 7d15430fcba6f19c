import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { openTracing } from '../../../proxy/tracing/open-tracing.ts';
import type { Tracing } from '../../../proxy/tracing/tracing.ts';
import type { Store } from '../../../store/store.ts';
import type { Config } from '../../settings/schema.ts';
import { programVersion } from '../version.ts';

const TRACES_PATH = '/v1/traces';
/** The collector may not answer, and must not delay the stop. */
export const SEND_REST_WITHIN_MS = 2_000;

export interface TracingDependencies {
  readonly config: Config;
  readonly store: Pick<Store, 'mac'>;
  readonly registry: Registry;
  readonly logger: Logger;
  readonly node: string;
}

/** Null without a collector. */
export async function openServerTracing(deps: TracingDependencies): Promise<Tracing | null> {
  const { config, store, registry, logger, node } = deps;
  const url = tracesUrl(config);
  const tracing =
    url === null
      ? null
      : await openTracing({
          url,
          protocol: config.otel_protocol,
          headers: config.otel_headers ?? [],
          resource: resourceOf(config, node),
          sampleRatio: config.otel_sample_ratio,
          samplingKey: store.mac('trace-sampling', ''),
          version: programVersion(),
          log: logger,
        });
  addTracingMetrics(registry, tracing);
  return tracing;
}

/** Where spans are sent; null: nowhere. */
export function tracesUrl({ otel_endpoint: base, otel_traces_endpoint: whole }: Config): string | null {
  if (whole !== null || base === null) return whole;
  return base.endsWith(TRACES_PATH) ? base : `${base}${TRACES_PATH}`;
}

/** What the operator says comes last, and replaces the rest. */
function resourceOf(config: Config, node: string): Readonly<Record<string, string>> {
  return {
    'service.name': 'postern',
    'service.version': programVersion(),
    'service.instance.id': node,
    ...Object.fromEntries(config.otel_resource_attributes ?? []),
    ...(config.otel_service_name !== null && { 'service.name': config.otel_service_name }),
  };
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
