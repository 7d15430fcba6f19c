import { Agent, request } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON; null when there was no body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  readonly body: any;
}

/**
 * Kept sockets to a server process, closed together. Uses Node's own client, which never repeats a request by itself.
 */
export class ApiConnection {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #host: string;
  readonly #port: number;
  readonly #key: string;

  /** `address` as in the ready line. */
  constructor(address: string, key: string) {
    const separator = address.lastIndexOf(':');
    this.#host = address.slice(0, separator);
    this.#port = Number(address.slice(separator + 1));
    this.#key = key;
  }

  /** Rejects when no complete response arrived: then the outcome is unknown. */
  send(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? null : JSON.stringify(body);
      const sent = request(
        {
          agent: this.#agent,
          host: this.#host,
          port: this.#port,
          method,
          path,
          headers: {
            authorization: `Bearer ${this.#key}`,
            'service-version': '2',
            ...(text !== null && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const received = Buffer.concat(chunks).toString();
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: received === '' ? null : JSON.parse(received),
            });
          });
        },
      );
      sent.on('error', reject);
      sent.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
