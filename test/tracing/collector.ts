import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Cleanup } from '../support/cleanup.ts';
import { eventually } from '../tunnel/support/fault-world.ts';

export interface SeenSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly resource: Readonly<Record<string, string | number>>;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

/** An OpenTelemetry collector: OTLP/HTTP with JSON. */
export class Collector {
  readonly port: number;
  readonly spans: SeenSpan[] = [];
  /** Everything that it was sent. */
  readonly texts: string[] = [];
  readonly heads: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = [];
  answer: (response: ServerResponse) => void = (response) => response.end('{}');

  private constructor(port: number) {
    this.port = port;
  }

  static async open(test: Cleanup): Promise<Collector> {
    const sockets = new Set<Socket>();
    const server = createServer((request, response) => {
      response.on('error', () => {});
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      request.on('end', () => {
        collector.#take(request.url ?? '', request.headers, body);
        collector.answer(response);
      });
    });
    server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    test.after(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
    const collector = new Collector((server.address() as AddressInfo).port);
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The spans of the request, once the first of them has arrived: they come together. */
  async ofRequest(requestId: unknown): Promise<readonly SeenSpan[]> {
    const isIt = ({ attributes }: SeenSpan): boolean => attributes['postern.request_id'] === requestId;
    await eventually(`the spans of ${String(requestId)}`, () => this.spans.some(isIt));
    const edge = this.spans.find(isIt) ?? assert.fail();
    return [edge, ...this.spans.filter((span) => span.traceId === edge.traceId && span !== edge)];
  }

  #take(url: string, headers: IncomingHttpHeaders, text: string): void {
    this.heads.push({ url, headers });
    if (text === '') return;
    this.texts.push(text);
    const { resourceSpans } = JSON.parse(text);
    for (const { resource, scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans)
        for (const span of spans)
          this.spans.push({
            ...span,
            startMs: Number(span.startTimeUnixNano) / 1e6,
            endMs: Number(span.endTimeUnixNano) / 1e6,
            isError: span.status.code === 2,
            attributes: valuesOf(span.attributes),
            resource: valuesOf(resource.attributes),
          });
  }
}

function valuesOf(attributes: readonly OtlpAttribute[]): Readonly<Record<string, string | number>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']));
}
