import { RepeatedWarnings } from '../lib/repeated-warnings.ts';
import { collectorAgent } from './collector-agent.ts';
import { tracingErrors } from './errors.ts';
import { MAX_SPANS, SpanQueue } from './span-queue.ts';
import { Tracing } from './tracing.ts';

export interface TracingOptions {
  readonly endpoint: string;
  /** NAME=VALUE pairs, separated by commas. */
  readonly headers: string | null;
  readonly sampleRatio: number;
  /** Shared by all nodes. */
  readonly samplingKey: string;
  readonly node: string;
  readonly version: string;
  readonly log: { warn(fields: object, message: string): void };
}

const TRACES_PATH = '/v1/traces';
const BATCH_SPANS = 256;
const BATCH_EVERY_MS = 1_000;
const TIMEOUT_MS = 5_000;
/** Longer than the attempts of the exporter together: see `collector-agent.ts`. */
const BATCH_TIMEOUT_MS = 30_000;
const MAX_PROBLEM_LENGTH = 200;

/** Loads the SDK, which no server without a collector does. */
export async function openTracing(options: TracingOptions): Promise<Tracing> {
  const { BatchSpanProcessor, OTLPTraceExporter } = await loadSdk();
  const { endpoint, node, version } = options;
  const warnings = new RepeatedWarnings(options.log, 'failed to send spans to the collector');
  const queue = new SpanQueue({
    exporter: new OTLPTraceExporter({
      url: endpoint.endsWith(TRACES_PATH) ? endpoint : `${endpoint}${TRACES_PATH}`,
      headers: headersOf(options.headers),
      timeoutMillis: TIMEOUT_MS,
      concurrencyLimit: 2,
      httpAgentOptions: (protocol) => collectorAgent(protocol),
    }),
    resource: { attributes: { 'service.name': 'postern', 'service.version': version, 'service.instance.id': node } },
    version,
    createProcessor: (exporter) =>
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: MAX_SPANS,
        maxExportBatchSize: BATCH_SPANS,
        scheduledDelayMillis: BATCH_EVERY_MS,
        exportTimeoutMillis: BATCH_TIMEOUT_MS,
      }),
    // One key: what a collector writes must not make a warning another one.
    onFailure: (error) => warnings.warn({ endpoint, problem: problemOf(error) }, endpoint),
  });
  return new Tracing(queue, options);
}

async function loadSdk() {
  try {
    // Awaited one by one: then a bundle can be made where the packages are missing.
    const { BatchSpanProcessor } = await import('@opentelemetry/sdk-trace');
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
    return { BatchSpanProcessor, OTLPTraceExporter };
  } catch (cause) {
    throw tracingErrors.create(
      'ERR_POSTERN_TRACING',
      `otel_endpoint is set, but the OpenTelemetry packages cannot be loaded (${String(cause).slice(0, MAX_PROBLEM_LENGTH)}): install them with npm ci, or unset otel_endpoint`,
      { cause },
    );
  }
}

function headersOf(text: string | null): Readonly<Record<string, string>> {
  const pairs = text === null ? [] : text.split(',').map((pair) => pair.trim());
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')).trim(), pair.slice(pair.indexOf('=') + 1).trim()]),
  );
}

/** A status as a number: its text, like the body, is the collector's. */
function problemOf(error: Error | undefined): string {
  const code: unknown = error !== undefined && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `HTTP status ${code}`;
  return (error?.message ?? 'unknown').slice(0, MAX_PROBLEM_LENGTH);
}
