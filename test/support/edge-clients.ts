import { type ClientHttp2Session, type ClientSessionOptions, connect as connectHttp2 } from 'node:http2';
import { Agent, type RequestOptions, request as requestHttps } from 'node:https';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';

/** A response as node:https received it. */
export interface EdgeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly text: string;
}

export interface AskOptions extends RequestOptions {
  readonly body?: string | Buffer;
}

export interface EdgePlace {
  /** IP address that every host resolves to. */
  readonly address: string;
  readonly port: number;
  /** Certificates of the authorities that issued the edge's own. */
  readonly ca: readonly string[];
}

/** Clients that find every host at one edge. */
export class EdgeClients {
  readonly address: string;
  readonly port: number;
  readonly #ca: readonly string[];
  readonly #sockets = new Set<TLSSocket>();
  readonly #sessions = new Set<ClientHttp2Session>();

  constructor({ address, port, ca }: EdgePlace) {
    this.address = address;
    this.port = port;
    this.#ca = ca;
  }

  get ca(): readonly string[] {
    return this.#ca;
  }

  tlsOptions(host: string): ConnectionOptions {
    return { host: this.address, port: this.port, servername: host, ca: [...this.ca] };
  }

  /** A socket after its handshake. */
  connect(host: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connectTls({ ALPNProtocols: ['http/1.1'], ...this.tlsOptions(host), ...options });
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        reject(new Error('closed before the handshake ended'));
      });
      socket.once('secureConnect', () => {
        socket.off('error', reject);
        socket.on('error', () => {});
        resolve(socket);
      });
      socket.once('error', reject);
    });
  }

  http2(host: string, options: ClientSessionOptions & ConnectionOptions = {}): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      const tls = { ALPNProtocols: ['h2'], ...this.tlsOptions(host), ...options };
      const session = connectHttp2(`https://${host}`, { ...options, createConnection: () => connectTls(tls) });
      this.#sessions.add(session);
      session.once('close', () => {
        this.#sessions.delete(session);
        // Without this, a test whose session the edge closed immediately (an idle timeout of a second on a busy
        // machine) hangs.
        reject(new Error('closed before its settings came'));
      });
      session.once('error', reject);
      // Extended CONNECT may be used once the server's settings have arrived.
      session.once('remoteSettings', () => {
        session.off('error', reject);
        session.on('error', () => {});
        resolve(session);
      });
    });
  }

  /** One node:https request on its own connection, unless an agent is given. */
  ask(host: string, path = '/', { body, ...options }: AskOptions = {}): Promise<EdgeAnswer> {
    return new Promise((resolve, reject) => {
      const sent = requestHttps(
        {
          agent: false,
          ...this.tlsOptions(host),
          path,
          ...options,
          headers: { host, ...(options.headers as Readonly<Record<string, string>>) },
        } as RequestOptions,
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const whole = Buffer.concat(chunks);
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: whole,
              text: whole.toString(),
            });
          });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async status(host: string, path = '/', options: AskOptions = {}): Promise<number> {
    return (await this.ask(host, path, options)).status;
  }

  /** An agent that keeps its connections to the edge. */
  agent(options: ConnectionOptions = {}): Agent {
    return new Agent({ keepAlive: true, maxSockets: 1, ...(options as object) });
  }

  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const session of this.#sessions) session.destroy();
  }
}
