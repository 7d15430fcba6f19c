import type { IncomingMessage, ServerResponse } from 'node:http';
import { closing, listenOnce } from '../../lib/guarded-listeners.ts';
import { streamEvents } from './event-stream.ts';
import type { ExchangeStore } from './exchange-store.ts';
import { detailOf, summaryOf } from './exchange-view.ts';
import { parseFilter } from './filter.ts';
import { InspectorRefusal } from './inspector-refusal.ts';
import type { KeptExchange } from './kept-exchange.ts';
import type { InspectorOptions } from './options.ts';
import { parseReplayOrder } from './replay-body.ts';
import type { Replays } from './replays.ts';

export interface ApiParts {
  readonly store: ExchangeStore;
  readonly replays: Replays;
  readonly options: InspectorOptions;
  readonly startedAt: string;
}

export interface ApiRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

type Handler = (request: ApiRequest, id: string) => void | Promise<void>;

const MAX_FILTER_LENGTH = 1_024;
const MAX_EVENT_READERS = 32;
/** Room beside the body of an edit for headers, path and JSON. */
const ORDER_OVERHEAD_BYTES = 262_144;

/** The JSON API. `RequestGuard` has already admitted the request. */
export class InspectorApi {
  readonly #parts: ApiParts;
  readonly #routes: readonly (readonly [RegExp, Readonly<Record<string, Handler>>])[];
  #eventReaders = 0;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.#routes = [
      [/^\/api\/status$/, { GET: (request) => this.#status(request) }],
      [/^\/api\/tunnels$/, { GET: (request) => this.#tunnels(request) }],
      [/^\/api\/events$/, { GET: (request) => this.#events(request) }],
      [
        /^\/api\/requests\/http$/,
        {
          GET: (request) => this.#list(request),
          POST: (request) => this.#replay(request),
          DELETE: (request) => this.#clear(request),
        },
      ],
      [/^\/api\/requests\/http\/([^/]+)$/, { GET: (request, id) => this.#detail(request, id) }],
      [/^\/api\/requests\/http\/([^/]+)\/body$/, { GET: (request, id) => this.#body(request, id) }],
    ];
  }

  /** Throws `InspectorRefusal`. */
  async handle(request: ApiRequest): Promise<void> {
    for (const [pattern, handlers] of this.#routes) {
      const match = pattern.exec(request.path);
      if (match === null) continue;
      const method = request.message.method ?? '';
      const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
      if (handler === undefined) throw methodRefused(Object.keys(handlers));
      await handler(request, match[1] ?? '');
      return;
    }
    throw new InspectorRefusal(404, 'not_found', 'not found');
  }

  #status({ response }: ApiRequest): void {
    const { store, options, startedAt } = this.#parts;
    const agent = options.status();
    sendJson(response, 200, {
      agent: agent === null ? null : agentView(agent),
      inspector: {
        started_at: startedAt,
        requests: store.size,
        dropped: store.dropped,
        kept_bytes: store.keptBytes,
        max_requests: store.limits.maxRequests,
        max_body_bytes: store.limits.maxBodyBytes,
        max_total_bytes: store.limits.maxTotalBytes,
        is_masked: options.unmask !== true,
      },
    });
  }

  #tunnels({ response }: ApiRequest): void {
    const tunnels = this.#parts.options.tunnels().map((tunnel) => ({
      name: tunnel.name,
      id: tunnel.id,
      url: tunnel.publicUrl,
      proto: tunnel.proto,
      labels: tunnel.labels,
      forwards_to: tunnel.forwardsTo,
      status: tunnel.status,
      problem: tunnel.problem,
    }));
    sendJson(response, 200, { tunnels });
  }

  #events({ response }: ApiRequest): void {
    if (this.#eventReaders >= MAX_EVENT_READERS) {
      throw new InspectorRefusal(503, 'too_many', 'too many pages follow the requests: close some');
    }
    this.#eventReaders += 1;
    listenOnce(response, 'close', closing(response, 'inspector'), () => {
      this.#eventReaders -= 1;
    });
    streamEvents(this.#parts.store, response);
  }

  #list({ query, response }: ApiRequest): void {
    const { store, options } = this.#parts;
    const limit = limitIn(query, store.limits.maxRequests);
    const filter = query.get('filter') ?? '';
    if (filter.length > MAX_FILTER_LENGTH) throw new InspectorRefusal(400, 'bad_request', 'the filter is too long');
    const isWanted = parseFilter(filter, options.unmask === true);
    const tunnel = query.get('tunnel');
    const requests = store
      .newestFirst()
      .filter((one) => (tunnel === null || one.request.tunnel.name === tunnel) && isWanted(one))
      .slice(0, limit)
      .map(summaryOf);
    sendJson(response, 200, { requests });
  }

  async #detail({ response }: ApiRequest, id: string): Promise<void> {
    sendJson(response, 200, await detailOf(this.#exchange(id), this.#parts.options.unmask === true));
  }

  /** Served as received but never under its declared type: a foreign page must not run under this origin. */
  #body({ query, response }: ApiRequest, id: string): void {
    const side = query.get('side');
    if (side !== 'request' && side !== 'response') {
      throw new InspectorRefusal(400, 'bad_request', '"side" must be request or response');
    }
    const exchange = this.#exchange(id);
    const { bytes } = side === 'request' ? exchange.requestBody : exchange.responseBody;
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${exchange.id}-${side}.bin"`,
      'content-length': bytes.length,
    });
    response.end(bytes);
  }

  async #replay({ message, response }: ApiRequest): Promise<void> {
    const { store, replays } = this.#parts;
    const maxBytes = Math.ceil((store.limits.maxBodyBytes * 4) / 3) + ORDER_OVERHEAD_BYTES;
    const exchange = replays.start(parseReplayOrder(await textOf(message, maxBytes)));
    sendJson(response, 202, summaryOf(exchange), { location: `/api/requests/http/${exchange.id}` });
  }

  #clear({ response }: ApiRequest): void {
    this.#parts.store.clear();
    response.writeHead(204).end();
  }

  #exchange(id: string): KeptExchange {
    const exchange = this.#parts.store.get(id);
    if (exchange !== null) return exchange;
    throw new InspectorRefusal(404, 'not_found', 'this request is not stored, or no longer');
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(value);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

export function methodRefused(allowed: readonly string[]): InspectorRefusal {
  const allow = allowed.join(', ');
  return new InspectorRefusal(405, 'method', `the method must be ${allow}`, { allow });
}

function agentView(agent: NonNullable<ReturnType<InspectorOptions['status']>>): object {
  const { status, sessionId, region, nodes, roundTripMs, active } = agent;
  const names = nodes.map(({ name }) => name);
  return { status, session: sessionId, region, nodes: names, round_trip_ms: roundTripMs, active };
}

function limitIn(query: URLSearchParams, max: number): number {
  const given = query.get('limit');
  if (given === null) return max;
  if (!/^[1-9]\d{0,8}$/.test(given)) throw new InspectorRefusal(400, 'bad_request', '"limit" must be a number from 1');
  return Math.min(Number(given), max);
}

async function textOf(message: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Ending the loop early must not destroy the message: the response uses the same connection, and the server then
  // discards the rest.
  for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new InspectorRefusal(413, 'too_large', `more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
