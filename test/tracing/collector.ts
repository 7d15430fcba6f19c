import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Cleanup } from '../support/cleanup.ts';
import { eventually } from '../tunnel/support/fault-world.ts';
import { bytesOf, type Message, messages, numberOf, readMessage } from './protobuf.ts';

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

/** An OpenTelemetry collector: OTLP/HTTP with protobuf or JSON. */
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
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        collector.#take(request.url ?? '', request.headers, Buffer.concat(parts));
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

  #take(url: string, headers: IncomingHttpHeaders, body: Buffer): void {
    this.heads.push({ url, headers });
    if (body.length === 0) return;
    this.texts.push(body.toString('latin1'));
    const isJson = headers['content-type'] === 'application/json';
    this.spans.push(...(isJson ? spansOfJson(body.toString()) : spansOfProtobuf(body)));
  }
}

function spansOfJson(text: string): readonly SeenSpan[] {
  const spans: SeenSpan[] = [];
  const { resourceSpans } = JSON.parse(text);
  for (const { resource, scopeSpans } of resourceSpans)
    for (const { spans: found } of scopeSpans)
      for (const span of found)
        spans.push({
          ...span,
          startMs: Number(span.startTimeUnixNano) / 1e6,
          endMs: Number(span.endTimeUnixNano) / 1e6,
          isError: span.status.code === 2,
          attributes: valuesOf(span.attributes),
          resource: valuesOf(resource.attributes),
        });
  return spans;
}

/** opentelemetry/proto/collector/trace/v1/trace_service.proto, and the files that it names. */
function spansOfProtobuf(body: Buffer): readonly SeenSpan[] {
  return messages(readMessage(body), 1).flatMap((ofResource) => {
    const resource = attributesOf(messages(messages(ofResource, 1)[0], 1));
    const found = messages(ofResource, 2).flatMap((ofScope) => messages(ofScope, 2));
    return found.map((span) => {
      const parent = bytesOf(span, 4);
      return {
        traceId: bytesOf(span, 1).toString('hex'),
        spanId: bytesOf(span, 2).toString('hex'),
        ...(parent.length > 0 && { parentSpanId: parent.toString('hex') }),
        name: bytesOf(span, 5).toString(),
        kind: Number(numberOf(span, 6)),
        startMs: Number(numberOf(span, 7)) / 1e6,
        endMs: Number(numberOf(span, 8)) / 1e6,
        isError: numberOf(messages(span, 15)[0], 3) === 2n,
        attributes: attributesOf(messages(span, 9)),
        resource,
      };
    });
  });
}

function attributesOf(pairs: readonly Message[]): Readonly<Record<string, string | number>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const value = messages(pair, 2)[0];
      const isText = value?.has(1) === true;
      return [bytesOf(pair, 1).toString(), isText ? bytesOf(value, 1).toString() : Number(numberOf(value, 3))];
    }),
  );
}

function valuesOf(attributes: readonly OtlpAttribute[]): Readonly<Record<string, string | number>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']));
}
