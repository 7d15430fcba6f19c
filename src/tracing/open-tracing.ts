import { RepeatedWarnings } from '../lib/repeated-warnings.ts';
import { collectorAgent } from './collector-agent.ts';
import { tracingErrors } from './errors.ts';
import { MAX_SPANS, SpanQueue } from './span-queue.ts';
import { Tracing } from './tracing.ts';

export interface TracingOptions {
  /** With its path. */
  readonly url: string;
  readonly protocol: 'http/protobuf' | 'http/json';
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Its attributes. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampleRatio: number;
  /** Shared by all nodes. */
  readonly samplingKey: string;
  readonly version: string;
  readonly log: { warn(fields: object, message: string): void };
}

const BATCH_SPANS = 256;
const BATCH_EVERY_MS = 1_000;
const TIMEOUT_MS = 5_000;
/** Longer than the attempts of the exporter together: see `collector-agent.ts`. */
const BATCH_TIMEOUT_MS = 30_000;
const MAX_PROBLEM_LENGTH = 200;

/** Loads the SDK, which no server without a collector does. */
export async function openTracing(options: TracingOptions): Promise<Tracing> {
  const { BatchSpanProcessor, createOtlpHttpExportDelegate, ...forms } = await loadSdk();
  const { url, protocol, version } = options;
  const isJson = protocol === 'http/json';
  const warnings = new RepeatedWarnings(options.log, 'failed to send spans to the collector');
  const queue = new SpanQueue({
    exporter: createOtlpHttpExportDelegate(
      {
        url,
        headers: async () => ({
          ...Object.fromEntries(options.headers),
          'content-type': isJson ? 'application/json' : 'application/x-protobuf',
        }),
        timeoutMillis: TIMEOUT_MS,
        concurrencyLimit: 2,
        compression: 'none',
        agentFactory: async (scheme) => collectorAgent(scheme),
      },
      isJson ? forms.JsonTraceSerializer : forms.ProtobufTraceSerializer,
      'otlp_http_span_exporter',
      forms.TraceExporterMetricsHelper,
    ),
    resource: { attributes: options.resource },
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
    onFailure: (error) => warnings.warn({ endpoint: url, problem: problemOf(error) }, url),
  });
  return new Tracing(queue, options);
}

async function loadSdk() {
  try {
    // Awaited one by one: then a bundle can be made where the packages are missing.
    const { BatchSpanProcessor } = await import('@opentelemetry/sdk-trace');
    // Not the exporters: they also take headers from variables, whatever the settings say.
    const { createOtlpHttpExportDelegate } = await import('@opentelemetry/otlp-exporter-base/node-http');
    const forms = await import('@opentelemetry/otlp-transformer');
    return { BatchSpanProcessor, createOtlpHttpExportDelegate, ...forms };
  } catch (cause) {
    throw tracingErrors.create(
      'ERR_POSTERN_TRACING',
      `traces are on, but the OpenTelemetry packages cannot be loaded (${String(cause).slice(0, MAX_PROBLEM_LENGTH)}): install them with npm ci, or unset otel_endpoint`,
      { cause },
    );
  }
}

/** A status as a number: its text, like the body, is the collector's. */
function problemOf(error: Error | undefined): string {
  const code: unknown = error !== undefined && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `HTTP status ${code}`;
  return (error?.message ?? 'unknown').slice(0, MAX_PROBLEM_LENGTH);
}
