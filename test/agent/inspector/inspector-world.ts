import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import {
  type ClientHttp2Session,
  createServer as createHttp2Server,
  connect as http2Connect,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { watchStreamEnd } from '../../../src/kit/http2/stream-end.ts';
import { AgentEvents, type TunnelSpec } from '../../../src/tunnel/agent/handle.ts';
import { type Inspector, type InspectorOptions, startInspector } from '../../../src/tunnel/agent/inspector/index.ts';
import { readRequest, takeRequest } from '../../../src/tunnel/agent/local/served-request.ts';
import { serveStream } from '../../../src/tunnel/agent/serve-stream.ts';
import { Tunnel } from '../../../src/tunnel/agent/tunnel.ts';
import type { Cleanup } from '../../support/cleanup.ts';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly json: unknown;
}

export interface Summary {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  readonly first_byte_ms: number | null;
  readonly duration_ms: number | null;
  readonly problem: string | null;
  readonly replay_of: string | null;
  readonly request_bytes: number;
  readonly response_bytes: number;
}

export interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
}

type Respond = (seen: Seen, response: ServerResponse) => void;

/**
 * A local service, the agent's own code that forwards to it, an HTTP/2 client instead of the gateway, and an inspector
 * that observes.
 */
export class InspectorWorld {
  readonly inspector: Inspector;
  /** What the local service received. */
  readonly seen: Seen[] = [];
  /** The service's response; may be replaced. */
  respond: Respond = (seen, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ hello: seen.url, got: seen.body.length }));
  };
  readonly tunnels: Tunnel[];
  readonly #gateway: ClientHttp2Session;
  readonly #onSeen = new EventEmitter();

  private constructor(inspector: Inspector, tunnels: Tunnel[], gateway: ClientHttp2Session) {
    this.inspector = inspector;
    this.tunnels = tunnels;
    this.#gateway = gateway;
  }

  static async open(
    test: Cleanup,
    options: Partial<InspectorOptions> = {},
    specs: readonly Partial<TunnelSpec>[] = [{}],
  ): Promise<InspectorWorld> {
    let world: InspectorWorld | null = null;
    const service = createServer((message, response) => void world?.serve(message, response));
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    const port = portOf(service.address());
    const tunnels = specs.map((spec, ref) => new Tunnel(ref, { proto: 'https', addr: port, ...spec }));
    const status = {
      status: 'online',
      sessionId: 'ts_1',
      region: 'local',
      nodes: [{ id: 'nd_1', name: 'one' }],
      roundTripMs: 3.2,
      active: 0,
    } as const;
    const inspector = await startInspector({
      listen: { port: 0 },
      tunnels: () => tunnels,
      status: () => status,
      ...options,
    });
    const events = new AgentEvents(undefined);
    const agent = createHttp2Server();
    agent.on('stream', (stream: ServerHttp2Stream, _headers: object, _flags: number, raw: string[]) => {
      const reading = readRequest(raw);
      if (reading?.method === 'CONNECT') watchStreamEnd(stream);
      else takeRequest(stream, () => {});
      const tunnel = tunnels[Number(reading?.tunnelId ?? 0)];
      if (reading !== null && tunnel !== undefined)
        serveStream(tunnel, stream, reading, { events, observe: inspector.observe });
    });
    agent.listen(0, '127.0.0.1');
    await once(agent, 'listening');
    const gateway = http2Connect(`http://127.0.0.1:${portOf(agent.address())}`);
    world = new InspectorWorld(inspector, tunnels, gateway);
    test.after(async () => {
      await inspector.close();
      gateway.destroy();
      await Promise.all(tunnels.map((tunnel) => tunnel.closeUpstream()));
      service.closeAllConnections();
      service.close();
      agent.close();
    });
    return world;
  }

  async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
    const { method = '', url = '', headers, rawHeaders } = message;
    const seen = { method, url, headers, rawHeaders, body: Buffer.concat(chunks) };
    this.seen.push(seen);
    this.#onSeen.emit('seen');
    this.respond(seen, response);
  }

  /**
   * The request with this number, from 1 on, as soon as the service has received it: a page shows a replay before that.
   */
  async seenBy(count: number): Promise<Seen> {
    while (this.seen.length < count) await once(this.#onSeen, 'seen');
    return this.seen[count - 1] as Seen;
  }

  /** A request through the tunnel, as the gateway sends it. */
  async pass(path: string, { method = 'GET', headers = {}, body = '' }: Asking = {}): Promise<number> {
    const bytes = Buffer.from(body);
    const stream = this.#gateway.request(
      {
        ':method': method,
        ':path': path,
        ':authority': 'app.example.com',
        ...(bytes.length > 0 && { 'content-length': bytes.length }),
        ...headers,
      },
      { endStream: bytes.length === 0 },
    );
    if (bytes.length > 0) stream.end(bytes);
    const [head] = (await once(stream, 'response')) as [{ ':status': number }];
    stream.resume();
    if (!stream.closed) await once(stream, 'close');
    return head[':status'];
  }

  async ask(path: string, asking: Asking = {}): Promise<Answer> {
    return ask(this.inspector.address.port, path, asking);
  }

  /** A write as the page makes it. */
  async change(method: 'POST' | 'DELETE', body?: object): Promise<Answer> {
    const headers = { 'content-type': 'application/json', 'postern-inspector-token': await this.token() };
    return this.ask('/api/requests/http', {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async token(): Promise<string> {
    const { body } = await this.ask('/');
    return /name="postern-inspector-token" content="([^"]+)"/.exec(body.toString())?.[1] ?? '';
  }

  async list(query = ''): Promise<readonly Summary[]> {
    const { json } = await this.ask(`/api/requests/http${query}`);
    return (json as { requests: Summary[] }).requests;
  }

  async newest(): Promise<Summary> {
    const [first] = await this.list();
    if (first === undefined) throw new Error('nothing is kept');
    return first;
  }

  /** Resolves once it is over. */
  async finished(id: string): Promise<Summary & Record<string, unknown>> {
    for (;;) {
      const { json } = await this.ask(`/api/requests/http/${id}`);
      const detail = json as Summary & Record<string, unknown>;
      if (detail.duration_ms !== null) return detail;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** Real HTTP, with exactly these headers. */
export async function ask(port: number, path: string, { method = 'GET', headers = {}, body }: Asking): Promise<Answer> {
  const lower = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    method,
    agent: false,
    setHost: false,
    headers: { ...(!lower.has('host') && { host: `127.0.0.1:${port}` }), ...headers } as Record<string, string>,
  });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const isJson = bytes.length > 0 && response.headers['content-type']?.startsWith('application/json') === true;
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: bytes,
    json: isJson ? JSON.parse(bytes.toString()) : null,
  };
}

function portOf(address: AddressInfo | string | null): number {
  return (address as AddressInfo).port;
}
