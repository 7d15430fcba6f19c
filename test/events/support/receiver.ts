import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import type { Cleanup } from '../../support/cleanup.ts';

export interface Received {
  readonly id: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events field by field
  readonly event: any;
}

export type Behaviour = (received: Received, response: ServerResponse, request: IncomingMessage) => void;

const accept: Behaviour = (_received, response) => response.writeHead(204).end();

/** A real HTTP server that receives events; the test controls its responses at any time. */
export class Receiver {
  readonly received: Received[] = [];
  readonly #behaviours = new Map<string, Behaviour>();
  readonly #waiting = new Set<() => void>();
  #url = '';

  static async open(test: Cleanup): Promise<Receiver> {
    const receiver = new Receiver();
    const server = createServer((request, response) => void receiver.#take(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    receiver.#url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    test.after(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return receiver;
  }

  url(path = '/'): string {
    return `${this.#url}${path}`;
  }

  /** For requests to this path from now on; default 204. */
  behave(path: string, behaviour: Behaviour | number): void {
    const answer: Behaviour =
      typeof behaviour === 'number' ? (_received, response) => response.writeHead(behaviour).end() : behaviour;
    this.#behaviours.set(path, answer);
  }

  at(path: string): readonly Received[] {
    return this.received.filter((each) => each.path === path);
  }

  /** Resolves when this many requests have arrived at the path. */
  async until(path: string, count: number, patienceMs = 20_000): Promise<readonly Received[]> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const found = this.at(path);
      if (found.length >= count) return found;
      if (Date.now() > deadline) throw new Error(`${found.length} of ${count} requests came to ${path}`);
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
        setTimeout(resolve, 500);
      });
    }
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    request.on('error', () => {});
    response.on('error', () => {});
    try {
      for await (const chunk of request) body += String(chunk);
    } catch {
      return;
    }
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const path = request.url ?? '';
    const received = { id: headers['webhook-id'] ?? '', path, headers, body, event: JSON.parse(body) };
    this.received.push(received);
    (this.#behaviours.get(path) ?? accept)(received, response, request);
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** What a careful receiver does first; throws when the signature does not match the secret. */
export function verify({ body, headers }: Received, secret: string): unknown {
  return new Webhook(secret).verify(body, { ...headers });
}
