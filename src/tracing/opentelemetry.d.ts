/**
 * The parts of the OpenTelemetry SDK that are used here. The packages' own declarations would make the type check depend on
 * packages that most installations never load.
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

declare module '@opentelemetry/exporter-trace-otlp-http' {
  import type { Agent } from 'node:http';
  import type { ExportResult, ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';

  export class OTLPTraceExporter implements SpanExporter {
    constructor(options: {
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly timeoutMillis: number;
      readonly concurrencyLimit: number;
      readonly httpAgentOptions: (protocol: string) => Agent;
    });
    export(spans: ReadableSpan[], done: (result: ExportResult) => void): void;
    shutdown(): Promise<void>;
  }
}
