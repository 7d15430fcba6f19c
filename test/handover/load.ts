import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { WebSocket } from 'ws';
import { isLong } from '../support/share-of-cases.ts';
import type { HandoverWorld } from './handover-world.ts';

/** Seven clients without a pause take both cores from the servers that replace each other, and from other tests. */
const PAUSE_MS = isLong ? 0 : 25;

/** Clients that never repeat a request: each failure counts. */
export class Load {
  readonly counts = new Map<string, number>();
  readonly failures: string[] = [];
  /** Ids of acknowledged writes. */
  readonly written: string[] = [];
  readonly #world: HandoverWorld;
  readonly #runs: Promise<void>[] = [];
  readonly #mayFail: boolean;
  #isOver = false;

  constructor(world: HandoverWorld, { mayFail = false } = {}) {
    this.#world = world;
    this.#mayFail = mayFail;
  }

  start(): this {
    const { host, tunnelHost } = this.#world;
    const kept = new Agent({ keepAlive: true, maxSockets: 2 });
    for (let n = 0; n < 2; n += 1) this.#repeat('kept', () => this.#get(host, kept));
    this.#repeat('fresh', () => this.#get(host, false));
    this.#repeat('tunnel', () => this.#get(tunnelHost, false));
    this.#repeat('tcp', () => this.#tcp());
    const api = this.#world.api();
    this.#repeat('write', async () => {
      const { status, body } = await api.send('POST', '/ip_policies', { description: 'under load' });
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
      this.written.push(body.id);
    });
    const http2 = new Http2Loop(() =>
      connectHttp2(`https://${host}`, { createConnection: () => this.#tls('h2', host) }),
    );
    this.#repeat('http2', () => http2.get());
    this.#runs.push(this.#webSocket());
    return this;
  }

  /** Waits until every kind of client has been served this often from now on. */
  async more(times: number): Promise<void> {
    const before = new Map(this.counts);
    const isDone = (): boolean => [...before.keys()].every((kind) => this.#of(kind) - (before.get(kind) ?? 0) >= times);
    while (!isDone() && (this.#mayFail || this.failures.length === 0))
      await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#runs);
  }

  #of(kind: string): number {
    return this.counts.get(kind) ?? 0;
  }

  #repeat(kind: string, once: () => Promise<void>): void {
    this.counts.set(kind, 0);
    const run = async (): Promise<void> => {
      while (!this.#isOver) {
        try {
          await once();
          this.counts.set(kind, this.#of(kind) + 1);
        } catch (error) {
          const { code } = error as { readonly code?: string };
          const atMs = Math.round(performance.timeOrigin + performance.now());
          this.failures.push(`${kind}: ${code ?? ''} ${(error as Error).message} at ${atMs}`);
        }
        await sleep(PAUSE_MS);
      }
    };
    this.#runs.push(run());
  }

  #get(host: string, agent: Agent | false): Promise<void> {
    const { edgePort: port, ca } = this.#world;
    return new Promise((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port, servername: host, ca: [...ca], headers: { host }, agent },
        (response) => {
          response.on('error', reject).resume();
          response.on('end', () => {
            if (response.statusCode === 200) resolve();
            else reject(new Error(`status ${response.statusCode} ${String(response.headers['postern-error-code'])}`));
          });
        },
      );
      sent.on('error', reject).end();
    });
  }

  #tls(protocol: string, host: string) {
    const { edgePort: port, ca } = this.#world;
    return connectTls({ host: '127.0.0.1', port, servername: host, ca: [...ca], ALPNProtocols: [protocol] });
  }

  async #tcp(): Promise<void> {
    const socket = connectTcp(this.#world.tcpPort, '127.0.0.1');
    try {
      socket.write('ping');
      // A process that is killed ends its connections without an error.
      const ended = once(socket, 'end').then(() => [Buffer.from('the end of the connection')]);
      const [data] = (await Promise.race([once(socket, 'data'), ended])) as [Buffer];
      if (data.toString() !== 'ping') throw new Error(`got ${data.toString()}`);
    } finally {
      socket.destroy();
    }
  }

  /** Going away is no failure: the client connects again. Every message sent before that is answered. */
  async #webSocket(): Promise<void> {
    const { edgePort, host, ca } = this.#world;
    this.counts.set('websocket', 0);
    while (!this.#isOver) {
      const options = { servername: host, ca: [...ca], headers: { host } };
      const socket = new WebSocket(`wss://127.0.0.1:${edgePort}/`, options);
      const closed = new Promise<number>((resolve) => socket.once('close', resolve));
      socket.on('error', (error) => this.failures.push(`websocket: ${error.message}`));
      socket.on('open', () => socket.send('ping'));
      socket.on('message', () => {
        this.counts.set('websocket', this.#of('websocket') + 1);
        if (this.#isOver) socket.close(1000);
        else setTimeout(() => socket.readyState === WebSocket.OPEN && socket.send('ping'), 5);
      });
      const code = await closed;
      if (code !== 1001 && code !== 1000) this.failures.push(`websocket: closed with ${code}`);
    }
  }
}

/** One request at a time on a connection, until the server asks to leave it. */
class Http2Loop {
  readonly #connect: () => ClientHttp2Session;
  #session: ClientHttp2Session | null = null;

  constructor(connect: () => ClientHttp2Session) {
    this.#connect = connect;
  }

  get(): Promise<void> {
    if (this.#session === null || this.#session.closed || this.#session.destroyed) {
      // A connection may also be reset between two requests.
      this.#session = this.#connect().on('error', () => {});
    }
    const session = this.#session;
    return new Promise((resolve, reject) => {
      session.once('error', reject);
      const stream = session.request({ ':path': '/' });
      let status = 0;
      stream.on('response', (headers) => {
        status = Number(headers[':status']);
      });
      stream.on('error', reject).resume();
      stream.on('close', () => {
        session.off('error', reject);
        if (status === 200 && stream.rstCode === 0) resolve();
        else reject(new Error(`status ${status}, reset ${stream.rstCode}`));
      });
    });
  }
}
