import type { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { closing, guarded, ignoreErrors, listen, listenOnce } from '../../kit/guarded-listeners.ts';
import { Agent as HttpAgent } from '../../kit/http/node-http.ts';
import { RepeatedWarnings } from '../../kit/repeated-warnings.ts';
import { tracingErrors } from './errors.ts';
import { MAX_SPANS, SpanQueue } from './span-queue.ts';
import { Tracing } from './tracing.ts';

interface TracingOptions {
  /** With its path. */
  readonly url: string;
  readonly protocol: 'http/protobuf' | 'http/json';
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Attributes of the resource. */
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
/** Longer than the attempts of the exporter together: see `collectorAgent`. */
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

/** From the lookup of the name to the end of the response. */
const MAX_MS = 10_000;
/** A collector answers with a few bytes (OTLP, "partial success"). */
const MAX_BYTES = 65_536;

/**
 * One connection per batch, with limits that the SDK lacks: its time limit begins with the connection and ends with any
 * byte, and it parses responses of 4 MiB.
 */
export function collectorAgent(protocol: string, maxMs = MAX_MS): Agent {
  const agent = protocol === 'https:' ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options) => new CollectorConnection(connect(options) as Socket, maxMs);
  return agent;
}

/**
 * The HTTP client of the runtime adds properties of its own to the stream that it gets. Added to a socket, they make
 * one more shape of sockets than compiled code distinguishes, and from the first batch on every read and write of every
 * socket costs more.
 */
class CollectorConnection extends Duplex {
  readonly #socket: Socket;
  readonly #owner = closing(this, 'collector');
  readonly #timer: NodeJS.Timeout;
  #answerTimer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, maxMs: number) {
    super();
    this.#socket = socket;
    this.#timer = setTimeout(() => this.destroy(new Error('the collector took too long')), maxMs).unref();
    const owner = this.#owner;
    let bytes = 0;
    listen(socket, 'data', owner, (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) this.destroy(new Error('the collector sent too long a response'));
      else this.push(chunk);
    });
    listenOnce(socket, 'end', owner, () => this.push(null));
    listenOnce(socket, 'error', owner, (error: Error) => this.destroy(error));
    // The end of the data is read first.
    listenOnce(socket, 'close', owner, () => setImmediate(() => this.destroy()));
  }

  /** The limit of bytes makes back-pressure unnecessary. */
  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#answerTimer);
    ignoreErrors(this.#socket).destroy();
    done(error);
  }

  /** Called by the HTTP client, as the next one. A time limit adds a property to a socket, too, so it is kept here. */
  setTimeout(ms: number): this {
    clearTimeout(this.#answerTimer);
    const tell = guarded(this.#owner, () => this.emit('timeout'));
    if (ms > 0) this.#answerTimer = setTimeout(tell, ms).unref();
    return this;
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }
}
