import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import type { AskOptions, EdgeAnswer, EdgeClients } from './edge-clients.ts';

/** A client that speaks HTTP/2 alone, with one connection per host. */
export class Http2Clients implements Pick<EdgeClients, 'ask'> {
  readonly #edge: Pick<EdgeClients, 'http2'>;
  readonly #sessions = new Map<string, ClientHttp2Session>();

  constructor(edge: Pick<EdgeClients, 'http2'>) {
    this.#edge = edge;
  }

  async ask(host: string, path = '/', { body, method = 'GET', headers = {} }: AskOptions = {}): Promise<EdgeAnswer> {
    const { host: authority = host, ...fields } = headers as Readonly<Record<string, string>>;
    const session = await this.#session(host);
    const head = { ':method': method, ':path': path, ':authority': authority, ...fields };
    return new Promise((resolve, reject) => {
      const stream = session.request(head, { endStream: body === undefined });
      const chunks: Buffer[] = [];
      let answered: IncomingHttpHeaders = {};
      stream.on('response', (given) => {
        answered = given;
      });
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('end', () => {
        const whole = Buffer.concat(chunks);
        const status = Number((answered as Readonly<Record<string, unknown>>)[':status']);
        resolve({ status, headers: answered, body: whole, text: whole.toString() });
      });
      if (body !== undefined) stream.end(body);
    });
  }

  async #session(host: string): Promise<ClientHttp2Session> {
    const known = this.#sessions.get(host);
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const session = await this.#edge.http2(host);
    this.#sessions.set(host, session);
    return session;
  }
}
