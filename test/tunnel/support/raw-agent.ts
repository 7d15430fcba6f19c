import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream, type Settings } from 'node:http2';
import { connect, type TLSSocket } from 'node:tls';
import type { GatewayMessage, Hello } from '../../../src/tunnel/protocol/messages.ts';
import { ALPN } from '../../../src/tunnel/protocol/protocol.ts';

type MessageOf<Type extends GatewayMessage['t']> = Extract<GatewayMessage, { t: Type }>;

export interface DialledGateway {
  readonly port: number;
  readonly token: string;
  readonly edge: { readonly ca: readonly string[] };
  /** Default: its address. */
  readonly servername?: string;
}

/** A TLS connection to the gateway that has sent nothing yet. */
export function dial(world: Omit<DialledGateway, 'token'>): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: world.port, ca: [...world.edge.ca], ALPNProtocols: [ALPN] };
    const { servername } = world;
    const socket = connect({ ...options, ...(servername !== undefined && { servername }) }, () => {
      socket.off('error', reject).on('error', () => {});
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

/** Resolves when the peer has closed; fails when it does not. */
export function closed(socket: TLSSocket, withinMs = 15_000): Promise<void> {
  return new Promise((resolve, reject) => {
    if (socket.destroyed || socket.readableEnded) {
      resolve();
      return;
    }
    const timer = setTimeout(() => reject(new Error(`the gateway did not close within ${withinMs} ms`)), withinMs);
    const over = (): void => {
      clearTimeout(timer);
      resolve();
    };
    socket.once('close', over).once('end', over);
    socket.resume();
  });
}

/** An agent that does anything the test requests, however wrong. */
export class RawAgent {
  readonly socket: TLSSocket;
  readonly session: ServerHttp2Session;
  readonly control: ServerHttp2Stream;
  readonly received: GatewayMessage[] = [];
  /** Streams that are not the control stream. */
  onStream: (stream: ServerHttp2Stream) => void = (stream) => stream.respond({ ':status': 200 }, { endStream: true });
  #text = '';
  readonly #waiting = new Set<() => void>();

  private constructor(socket: TLSSocket, session: ServerHttp2Session, control: ServerHttp2Stream) {
    this.socket = socket;
    this.session = session;
    this.control = control;
    control.on('error', () => {}).setEncoding('utf8');
    control.on('data', (chunk: string) => this.#read(chunk));
    control.once('close', () => this.#wake());
    session.on('stream', (stream) => {
      stream.on('error', () => {});
      this.onStream(stream);
    });
  }

  static async open(world: Omit<DialledGateway, 'token'>, settings: Settings = {}): Promise<RawAgent> {
    const socket = await dial(world);
    const session = performServerHandshake(socket, { settings });
    session.on('error', () => {});
    const control = await new Promise<ServerHttp2Stream>((resolve, reject) => {
      session.once('stream', resolve);
      session.once('close', () => reject(new Error('the gateway closed before it opened a control stream')));
    });
    control.respond({ ':status': 200 });
    return new RawAgent(socket, session, control);
  }

  /** One that was welcomed. */
  static async greeted(world: DialledGateway, fields: Partial<Hello> = {}, settings: Settings = {}): Promise<RawAgent> {
    const agent = await RawAgent.open(world, settings);
    agent.say(helloOf(fields.token ?? world.token, fields));
    await agent.message('welcome');
    return agent;
  }

  say(message: unknown): void {
    this.write(`${JSON.stringify(message)}\n`);
  }

  write(text: string | Buffer): void {
    if (this.control.writable) this.control.write(text);
  }

  /** The first of the type, after `skip` others; fails when the connection ends without it. */
  async message<Type extends GatewayMessage['t']>(t: Type, skip = 0): Promise<MessageOf<Type>> {
    for (;;) {
      const found = this.received.filter((message) => message.t === t)[skip];
      if (found !== undefined) return found as MessageOf<Type>;
      if (this.control.destroyed) throw new Error(`it ended without ${t}: ${JSON.stringify(this.received)}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** The response to a bind. */
  async bind(fields: Readonly<Record<string, unknown>>): Promise<MessageOf<'bound'> | MessageOf<'unbound'>> {
    const ref = (fields['ref'] as number | undefined) ?? 0;
    this.say({ t: 'bind', ref, metadata: '', forwards_to: 'nowhere', ...fields });
    for (;;) {
      const found = this.received.findLast(
        (message) => (message.t === 'bound' || message.t === 'unbound') && message.ref === ref,
      );
      if (found !== undefined) return found as MessageOf<'bound'>;
      if (this.control.destroyed) throw new Error('it ended without an answer');
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  closed(withinMs?: number): Promise<void> {
    return closed(this.socket, withinMs);
  }

  destroy(): void {
    this.session.destroy();
    this.socket.destroy();
  }

  #read(chunk: string): void {
    const lines = (this.#text + chunk).split('\n');
    this.#text = lines.pop() ?? '';
    this.received.push(...lines.map((line) => JSON.parse(line) as GatewayMessage));
    this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}

export function helloOf(token: string, fields: Partial<Hello> = {}): Hello {
  return {
    t: 'hello',
    version: 1,
    agent_version: 'raw',
    os: 'test',
    metadata: '',
    remote_management: false,
    ...fields,
    token,
  };
}
