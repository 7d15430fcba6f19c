import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { MAX_HEAD_FIELDS, sendRequest } from '../../../src/kit/http2/heads.ts';
import { SHARED_SESSION } from '../../../src/kit/http2/sessions.ts';
import { cancelStream } from '../../../src/kit/http2/stream-end.ts';
import type { AgentLink, OnlineTunnel, OnlineTunnels } from '../../../src/proxy/edge/tunnels/online-tunnels.ts';
import { TunnelUse } from '../../../src/proxy/edge/tunnels/tunnel-use.ts';
import type { Cleanup } from '../../support/cleanup.ts';

/** As real agents and gateways have it. */

export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

export interface SeenStream {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A gateway's connection to an agent, as the edge sees it. */
class TestLink implements AgentLink {
  readonly session: ClientHttp2Session;
  active = 0;
  isRetired = false;

  constructor(session: ClientHttp2Session) {
    this.session = session;
  }

  get hasRoom(): boolean {
    return !this.isRetired && !this.session.closed && !this.session.destroyed;
  }

  request(
    headers: readonly string[],
    options: { readonly endStream: boolean; readonly waitForTrailers: boolean },
  ): ClientHttp2Stream {
    const stream = sendRequest(this.session, headers, options);
    this.active += 1;
    return stream;
  }

  reset(stream: ClientHttp2Stream): void {
    cancelStream(stream);
  }

  release(): void {
    this.active -= 1;
  }

  retire(): void {
    this.isRetired = true;
  }
}

/** The agent's end: a real HTTP/2 server on a real socket, whose streams the test answers. */
export class FakeAgent {
  readonly name: string;
  readonly links: TestLink[] = [];
  readonly seen: SeenStream[] = [];
  readonly sockets = new Set<Socket>();
  handle: StreamHandler;

  private constructor(name: string) {
    this.name = name;
    this.handle = (stream, headers) => this.answer(stream, headers);
  }

  static async open(test: Cleanup, name = 'agent', connections = 1): Promise<FakeAgent> {
    const agent = new FakeAgent(name);
    const server = createServer({
      ...SHARED_SESSION,
      maxSendHeaderBlockLength: 1_048_576,
      maxHeaderListPairs: MAX_HEAD_FIELDS,
      settings: { enableConnectProtocol: true, initialWindowSize: 1_048_576 },
    });
    server.on('connection', (socket: Socket) => {
      agent.sockets.add(socket);
      socket.once('close', () => agent.sockets.delete(socket));
    });
    server.on('sessionError', () => {});
    server.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      agent.handle(stream as ServerHttp2Stream, headers);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    for (let at = 0; at < connections; at += 1) await agent.#connect(port);
    test.after(async () => {
      agent.disconnect();
      await new Promise((resolve) => server.close(resolve));
    });
    return agent;
  }

  async #connect(port: number): Promise<void> {
    const session = connect(`http://127.0.0.1:${port}`, {
      ...SHARED_SESSION,
      maxHeaderListPairs: MAX_HEAD_FIELDS,
      settings: { initialWindowSize: 1_048_576 },
    });
    session.on('error', () => {});
    await once(session, 'remoteSettings');
    this.links.push(new TestLink(session));
  }

  /** The one with the fewest streams, as the gateway picks it. */
  link(): AgentLink | null {
    const [best] = this.links.filter((link) => link.hasRoom).toSorted((a, b) => a.active - b.active);
    return best ?? null;
  }

  get active(): number {
    return this.links.reduce((sum, link) => sum + link.active, 0);
  }

  disconnect(): void {
    for (const { session } of this.links) session.destroy();
    for (const socket of this.sockets) socket.destroy();
  }

  /** Responds with its name and the request. */
  answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    let body = '';
    stream.setEncoding('latin1');
    stream.on('data', (text: string) => {
      body += text;
    });
    stream.on('end', () => {
      // A request that was reset also ends.
      if (stream.destroyed || stream.closed) return;
      this.seen.push({ headers, body });
      stream.respond({ ':status': 200, 'content-type': 'application/json', 'x-agent': this.name });
      stream.end(JSON.stringify({ name: this.name, headers, body }));
    });
  }

  /** Like an agent whose service cannot be reached. */
  failWith(reason: string, address = 'localhost:3000'): void {
    this.handle = (stream, headers) => {
      this.seen.push({ headers, body: '' });
      stream.respond({ ':status': 502, 'postern-tunnel-error': reason, 'postern-tunnel-address': address });
      stream.end('the agent says so');
    };
  }
}

interface TestTunnel extends OnlineTunnel {
  readonly labels: Readonly<Record<string, string>>;
}

/** The gateway's online tunnels. */
export class FakeTunnels implements OnlineTunnels {
  generation = 0;
  /** False: this node is cut off from the others. */
  mayServe = true;
  /** True: this node is not linked with all others. */
  isUnsettled = false;
  /** Number of searches by labels. */
  searches = 0;
  readonly #tunnels = new Map<string, TestTunnel>();

  add(id: string, agent: FakeAgent, labels: Readonly<Record<string, string>> = {}): OnlineTunnel {
    const tunnel: TestTunnel = {
      id,
      labels,
      forwardsTo: 'http://localhost:3000',
      inFlight: 0,
      use: new TunnelUse(),
      link: () => agent.link(),
    };
    this.#tunnels.set(id, tunnel);
    this.generation += 1;
    return tunnel;
  }

  remove(id: string): void {
    this.#tunnels.delete(id);
    this.generation += 1;
  }

  get(tunnelId: string): OnlineTunnel | undefined {
    return this.#tunnels.get(tunnelId);
  }

  matching(wanted: Readonly<Record<string, string>>): readonly OnlineTunnel[] {
    this.searches += 1;
    return [...this.#tunnels.values()].filter(({ labels }) =>
      Object.entries(wanted).every(([name, value]) => labels[name] === value),
    );
  }
}
