/**
 * The parts of the OpenTelemetry SDK that are used here. The packages' own declarations would make the type check
 * depend on packages that most installations never load.
 */
declare module '@opentelemetry/sdk-trace' {
  export interface SpanContext {
    readonly traceId: string;
    readonly spanId: string;
    readonly traceFlags: number;
    readonly isRemote?: boolean;
  }

  /** Seconds and nanoseconds. */
  export type HrTime = [number, number];

  export interface ReadableSpan {
    readonly name: string;
    readonly kind: number;
    readonly spanContext: () => SpanContext;
    readonly parentSpanContext?: SpanContext | undefined;
    readonly startTime: HrTime;
    readonly endTime: HrTime;
    readonly duration: HrTime;
    readonly ended: boolean;
    readonly status: { readonly code: number };
    readonly attributes: Readonly<Record<string, string | number>>;
    readonly links: readonly never[];
    readonly events: readonly never[];
    readonly resource: { readonly attributes: Readonly<Record<string, string>> };
    readonly instrumentationScope: { readonly name: string; readonly version: string };
    readonly droppedAttributesCount: number;
    readonly droppedEventsCount: number;
    readonly droppedLinksCount: number;
  }

  export interface ExportResult {
    readonly code: number;
    readonly error?: Error;
  }

  export interface SpanExporter {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void): void;
    shutdown(): Promise<void>;
  }

  export class BatchSpanProcessor {
    constructor(options: {
      readonly exporter: SpanExporter;
      readonly maxQueueSize: number;
      readonly maxExportBatchSize: number;
      readonly scheduledDelayMillis: number;
      readonly exportTimeoutMillis: number;
    });
    onEnd(span: ReadableSpan): void;
    shutdown(): Promise<void>;
  }
}

declare module '@opentelemetry/otlp-exporter-base/node-http' {
  import type { Agent } from 'node:http';
  import type { Serializer } from '@opentelemetry/otlp-transformer';
  import type { SpanExporter } from '@opentelemetry/sdk-trace';

  export function createOtlpHttpExportDelegate(
    options: {
      readonly url: string;
      readonly headers: () => Promise<Record<string, string>>;
      readonly timeoutMillis: number;
      readonly concurrencyLimit: number;
      readonly compression: 'none' | 'gzip';
      readonly agentFactory: (scheme: string) => Promise<Agent>;
    },
    serializer: Serializer,
    component: string,
    metrics: object,
  ): SpanExporter;
}

declare module '@opentelemetry/otlp-transformer' {
  /** Makes a request of spans, and reads its response. */
  export interface Serializer {
    readonly serializeRequest: (spans: never) => Uint8Array | undefined;
  }
  export const JsonTraceSerializer: Serializer;
  export const ProtobufTraceSerializer: Serializer;
  export const TraceExporterMetricsHelper: object;
}
