import type { IncomingMessage, ServerResponse } from 'node:http';
import { closing, listenOnce } from '../../../kit/guarded-listeners.ts';
import type { ExchangeStore, KeptExchange } from './exchange-store.ts';
import { detailOf, summaryOf } from './exchange-view.ts';
import type { InspectorOptions } from './options.ts';
import { parseReplayOrder, type Replays } from './replays.ts';
import { InspectorRefusal } from './request-guard.ts';
import { shownHeaders } from './sensitive-headers.ts';

/** A reader that falls this far behind is disconnected. A browser reconnects and reads the list again. */
const MAX_BEHIND_BYTES = 1_048_576;
const HEARTBEAT_MS = 15_000;

/** Server-sent events for the stored exchanges: `request` when one starts, is answered, or ends, and `cleared`. */
function streamEvents(store: ExchangeStore, response: ServerResponse): void {
  const send = (text: string): void => {
    if (response.writableLength > MAX_BEHIND_BYTES) response.destroy();
    else response.write(text);
  };
  const listener = {
    onExchange: (exchange: KeptExchange): void => {
      send(`event: request\ndata: ${JSON.stringify(summaryOf(exchange))}\n\n`);
    },
    onCleared: (): void => send('event: cleared\ndata: {}\n\n'),
  };
  const heartbeat = setInterval(() => send(': still here\n\n'), HEARTBEAT_MS).unref();
  store.listen(listener);
  listenOnce(response, 'close', closing(response, 'inspector'), () => {
    clearInterval(heartbeat);
    store.unlisten(listener);
  });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  send('retry: 1000\n\n');
}

type Term = (exchange: KeptExchange) => boolean;

/**
 * Terms that must all match: `method:post`, `status:404`, `status:4xx`, `status:failed`, `status:open`, `path:/api`,
 * `tunnel:web`, `body:text`. Any other term is searched for in method, path, host, status, problem and the headers as
 * displayed.
 */
function parseFilter(text: string, isUnmasked: boolean): Term {
  const terms = text
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => termOf(word, isUnmasked));
  return (exchange) => terms.every((term) => term(exchange));
}

function termOf(word: string, isUnmasked: boolean): Term {
  const [, field = '', wanted = ''] = /^(method|status|path|tunnel|body):(.+)$/i.exec(word) ?? [];
  const lower = wanted.toLowerCase();
  switch (field.toLowerCase()) {
    case 'method':
      return ({ method }) => method.toLowerCase() === lower;
    case 'status':
      return (exchange) => hasStatus(exchange, lower);
    case 'path':
      return ({ request }) => request.target.toLowerCase().includes(lower);
    case 'tunnel':
      return ({ request }) => request.tunnel.name.toLowerCase() === lower;
    case 'body':
      return ({ requestBody, responseBody }) =>
        requestBody.bytes.includes(wanted) || responseBody.bytes.includes(wanted);
    default:
      return (exchange) => hasText(exchange, word.toLowerCase(), isUnmasked);
  }
}

function hasStatus({ status, problem, isOver }: KeptExchange, wanted: string): boolean {
  if (wanted === 'failed') return problem !== null;
  if (wanted === 'open') return !isOver;
  if (status === null) return false;
  return /^[1-5]xx$/.test(wanted) ? String(status)[0] === wanted[0] : String(status) === wanted;
}

function hasText(exchange: KeptExchange, wanted: string, isUnmasked: boolean): boolean {
  const { request, responseHeaders, method, status, problem } = exchange;
  const has = (text: string): boolean => text.toLowerCase().includes(wanted);
  if (has(request.target) || has(request.authority) || has(method) || has(String(status ?? '')) || has(problem ?? '')) {
    return true;
  }
  // Matches the displayed value: otherwise a hidden value could be guessed letter by letter.
  return [request.headers, responseHeaders].some((headers) =>
    shownHeaders(headers, isUnmasked).some(({ name, value }) => has(`${name}: ${value}`)),
  );
}

interface ApiParts {
  readonly store: ExchangeStore;
  readonly replays: Replays;
  readonly options: InspectorOptions;
  readonly startedAt: string;
}

interface ApiRequest {
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
