import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { AgentMessage, Bind, GatewayMessage, Hello, OtherNode } from '../../../src/tunnel/protocol/messages.ts';
import { ALPN } from '../../../src/tunnel/protocol/protocol.ts';
import { type Issued, issue } from '../../edge/tls/test-authority.ts';

let authority: Promise<Issued> | null = null;
let certificate: Promise<Issued> | null = null;

/**
 * Functions for certificates are async so that each caller awaits a promise of its own. A test file that awaits a
 * promise of an earlier file in its process registers its `after` hooks with that file, which has ended: they would
 * never run.
 */
export async function testAuthority(): Promise<Issued> {
  authority ??= issue({ commonName: 'agent test CA', isCa: true });
  return authority;
}

export async function gatewayCertificate(): Promise<Issued> {
  certificate ??= testAuthority().then((issuer) =>
    issue({ commonName: 'gateway.test', issuer, usages: ['server'], dnsNames: ['gateway.test'] }),
  );
  return certificate;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly trailers: IncomingHttpHeaders;
}

/** One connection of an agent, after its hello. */
export class FakeConnection {
  readonly hello: Hello;
  readonly session: ClientHttp2Session;
  readonly control: ClientHttp2Stream;
  readonly socket: Socket;
  readonly received: AgentMessage[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(hello: Hello, parts: { session: ClientHttp2Session; control: ClientHttp2Stream; socket: Socket }) {
    this.hello = hello;
    this.session = parts.session;
    this.control = parts.control;
    this.socket = parts.socket;
  }

  send(message: GatewayMessage): void {
    if (this.control.writable) this.control.write(`${JSON.stringify(message)}\n`);
  }

  got(message: AgentMessage): void {
    this.received.push(message);
    for (const wake of this.#waiting) wake();
  }

  /** The first message of the type that has arrived or will arrive, after `skip` others. */
  async message<Type extends AgentMessage['t']>(t: Type, skip = 0): Promise<Extract<AgentMessage, { t: Type }>> {
    for (;;) {
      const found = this.received.filter((message) => message.t === t)[skip];
      if (found !== undefined) return found as Extract<AgentMessage, { t: Type }>;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  open(tunnel: string, headers: OutgoingHttpHeaders = {}, endStream = true): ClientHttp2Stream {
    return this.session
      .request(
        {
          ':method': 'GET',
          ':scheme': 'https',
          ':path': '/',
          ':authority': 'app.test',
          'postern-tunnel': tunnel,
          ...headers,
        },
        { endStream },
      )
      .on('error', () => {});
  }

  async request(tunnel: string, headers: OutgoingHttpHeaders = {}, body?: string | Buffer): Promise<Answer> {
    const stream = this.open(tunnel, headers, body === undefined);
    if (body !== undefined) stream.end(body);
    return answerOf(stream);
  }

  connect(tunnel: string): ClientHttp2Stream {
    return this.session
      .request(
        { ':method': 'CONNECT', ':authority': tunnel, 'postern-client-address': '192.0.2.7:4711' },
        { endStream: false },
      )
      .on('error', () => {});
  }

  websocket(tunnel: string, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream {
    return this.open(
      tunnel,
      { ':method': 'CONNECT', ':protocol': 'websocket', 'sec-websocket-version': '13', ...headers },
      false,
    );
  }

  /** Without a clean end. */
  cut(): void {
    this.socket.destroy();
  }

  get isOpen(): boolean {
    return !this.session.destroyed && !this.socket.destroyed;
  }
}

export async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  let trailers: IncomingHttpHeaders = {};
  stream.once('trailers', (found) => {
    trailers = found;
  });
  const chunks: Buffer[] = [];
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return { status: headers[':status'] ?? 0, headers, body: Buffer.concat(chunks).toString(), trailers };
}

export interface FakeGatewayOptions {
  readonly connections?: number;
  readonly certificate?: Issued;
  readonly alpn?: string[];
  /** Id and name of the gateway, if it is one of several nodes. */
  readonly node?: string;
  /** Sessions that it shares with other nodes. */
  readonly sessions?: Set<string>;
  others?(): OtherNode[];
  /** Returns true when it has handled the hello itself. */
  onHello?(connection: FakeConnection): boolean;
  onBind?(connection: FakeConnection, bind: Bind): boolean;
}

/** The server's end of the protocol, as little of it as tests need: it accepts everything. */
export class FakeGateway implements AsyncDisposable {
  readonly connections: FakeConnection[] = [];
  readonly ca: string;
  /** Known sessions; a restarted server has none. */
  readonly sessions: Set<string>;
  accepted = 0;
  isRefusing = false;
  readonly #server: Server;
  readonly #options: FakeGatewayOptions;
  readonly #sockets = new Set<Socket>();
  readonly #waiting = new Set<() => void>();
  #lastId = 0;

  private constructor(options: FakeGatewayOptions, issued: Issued, ca: string) {
    this.#options = options;
    this.sessions = options.sessions ?? new Set();
    this.ca = ca;
    this.#server = createServer({
      cert: issued.certificatePem,
      key: issued.keyPem,
      ALPNProtocols: options.alpn ?? [ALPN],
    });
    this.#server.on('connection', (socket: Socket) => this.#accept(socket));
    this.#server.on('secureConnection', (socket) => this.#greet(socket));
    this.#server.on('tlsClientError', () => {});
  }

  static async start(options: FakeGatewayOptions = {}): Promise<FakeGateway> {
    const issued = options.certificate ?? (await gatewayCertificate());
    const gateway = new FakeGateway(options, issued, (await testAuthority()).certificatePem);
    gateway.#server.listen(0, '127.0.0.1');
    await once(gateway.#server, 'listening');
    return gateway;
  }

  get addr(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The connection with this number, in the order of their hellos. */
  async connection(at: number): Promise<FakeConnection> {
    for (;;) {
      const found = this.connections[at];
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  /** Connections that are open now. */
  get open(): readonly FakeConnection[] {
    return this.connections.filter(({ isOpen }) => isOpen);
  }

  /** For new connections. */
  useCertificate({ certificatePem: cert, keyPem: key }: Issued): void {
    this.#server.setSecureContext({ cert, key });
  }

  welcome(connection: FakeConnection): void {
    const { join, resume } = connection.hello;
    const claim = join ?? resume;
    const isKnown = claim !== undefined && this.sessions.has(claim.session);
    if (join !== undefined && !isKnown) {
      connection.send({ t: 'refused', code: 'ERR_POSTERN_AGENT_SESSION', message: 'unknown session', retry: true });
      return;
    }
    this.#lastId += 1;
    const session = isKnown ? claim.session : `ts_${this.#lastId}`;
    this.sessions.add(session);
    connection.send({
      t: 'welcome',
      session,
      secret: join === undefined ? `secret-${this.#lastId}` : null,
      generation: 1,
      region: 'test',
      connections: this.#options.connections ?? 1,
      resumed: isKnown,
      ...(this.#options.node !== undefined && {
        node: { id: this.#options.node, name: this.#options.node },
        nodes: this.#options.others?.() ?? [],
      }),
    });
  }

  bound(connection: FakeConnection, bind: Bind): string {
    this.#lastId += 1;
    const id = bind.id ?? `tn_${bind.ref}_${this.#lastId}`;
    const url =
      bind.proto === 'tcp'
        ? `tcp://gateway.test:${bind.port ?? 20_000 + bind.ref}`
        : `${bind.proto}://${bind.domain ?? `given-${bind.ref}.gateway.test`}`;
    connection.send({
      t: 'bound',
      ref: bind.ref,
      id,
      ...(bind.proto !== undefined && { public_url: url, proto: bind.proto }),
      region: 'test',
    });
    return id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const { session } of this.connections) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await once(this.#server, 'close');
  }

  #accept(raw: Socket): void {
    this.accepted += 1;
    this.#sockets.add(raw);
    raw.on('error', () => {}).once('close', () => this.#sockets.delete(raw));
    if (this.isRefusing) raw.destroy();
  }

  #greet(socket: TLSSocket): void {
    socket.on('error', () => {});
    const session = connectHttp2('https://agent', {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: 1_048_576 },
      maxSessionMemory: 512,
    });
    session.on('error', () => {});
    session.once('connect', () => {
      const control = session
        .request(
          { ':method': 'POST', ':path': '/control', ':authority': 'gateway', ':scheme': 'https' },
          { endStream: false },
        )
        .on('error', () => {});
      let text = '';
      let connection: FakeConnection | null = null;
      control.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = (text + chunk).split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) {
          const message = JSON.parse(line) as AgentMessage;
          if (connection !== null) this.#message(connection, message);
          else {
            assert.equal(message.t, 'hello');
            connection = new FakeConnection(message as Hello, { session, control, socket });
            this.connections.push(connection);
            if (this.#options.onHello?.(connection) !== true) this.welcome(connection);
            for (const wake of this.#waiting) wake();
          }
        }
      });
    });
  }

  #message(connection: FakeConnection, message: AgentMessage): void {
    if (message.t === 'bind' && this.#options.onBind?.(connection, message) !== true) this.bound(connection, message);
    if (message.t === 'bye') connection.session.close();
    connection.got(message);
  }
}
