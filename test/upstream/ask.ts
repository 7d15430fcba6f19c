import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HeaderList } from '../../src/kit/http/header-values.ts';
import { DeadlineTicker } from '../../src/proxy/upstream/deadline-ticker.ts';
import { type OpenUpstreamOptions, openUpstream } from '../../src/proxy/upstream/open-upstream.ts';
import type {
  ResponseHead,
  Upstream,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamLimits,
  UpstreamRequest,
} from '../../src/proxy/upstream/upstream.ts';

export const limits: UpstreamLimits = {
  connectTimeoutMs: 5000,
  responseTimeoutMs: 5000,
  idleTimeoutMs: 5000,
  keepAliveMs: 60_000,
  maxIdleConnections: 10,
  maxHeaderBytes: 16_384,
  maxHeaderCount: 100,
};

/** Records every call to a handler, in order. */
export class Answer implements UpstreamHandler {
  readonly informational: [number, HeaderList][] = [];
  readonly calls: string[] = [];
  head: ResponseHead | null = null;
  trailers: HeaderList | null = null;
  failure: UpstreamFailure | null = null;
  switched: Duplex | null = null;
  bytes = 0;
  body = '';
  /** Called with each piece; returns whether more may come. */
  takes: (chunk: Buffer) => boolean = () => true;
  onCall: (call: string) => void = () => {};
  exchange: UpstreamExchange | null = null;
  readonly over: Promise<this>;
  readonly #resolve: (self: this) => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<this>();
    this.over = promise;
    this.#resolve = resolve;
  }

  onInformational(status: number, headers: HeaderList): void {
    this.informational.push([status, headers]);
    this.#note('informational');
  }

  onHead(head: ResponseHead): void {
    assert.equal(this.head, null);
    this.head = head;
    this.#note('head');
  }

  onSwitch(head: ResponseHead, socket: Duplex): void {
    this.head = head;
    this.switched = socket;
    this.#note('switch');
    this.#resolve(this);
  }

  onData(chunk: Buffer): boolean {
    assert.ok(this.head !== null && this.trailers === null);
    this.bytes += chunk.length;
    if (this.bytes < 1_000_000) this.body += chunk.toString('latin1');
    this.#note('data');
    return this.takes(chunk);
  }

  onEnd(trailers: HeaderList): void {
    assert.ok(this.head !== null && this.trailers === null && this.failure === null);
    this.trailers = trailers;
    this.#note('end');
    this.#resolve(this);
  }

  onBug(error: unknown): void {
    throw error;
  }

  onFailure(failure: UpstreamFailure): void {
    assert.ok(this.trailers === null && this.failure === null);
    this.failure = failure;
    this.#note('failure');
    this.#resolve(this);
  }

  #note(call: string): void {
    this.calls.push(call);
    this.onCall(call);
  }
}

export function requestOf(parts: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    method: 'GET',
    target: '/',
    authority: 'app.test',
    headers: [],
    body: { framing: 'none' },
    switchTo: null,
    ...parts,
  };
}

export function ask(upstream: Upstream, parts: Partial<UpstreamRequest> = {}, answer = new Answer()): Promise<Answer> {
  answer.exchange = upstream.send(requestOf(parts), answer);
  return answer.over;
}

export interface TestUpstream extends AsyncDisposable {
  readonly upstream: Upstream;
  readonly ticker: DeadlineTicker;
}

export type TestUpstreamOptions = Partial<Omit<OpenUpstreamOptions, 'limits'>> & {
  readonly limits?: Partial<UpstreamLimits>;
};

/** Disposing of it drains it and asserts that it released everything. */
export function upstreamTo(port: number, options: TestUpstreamOptions = {}): TestUpstream {
  const ticker = new DeadlineTicker();
  const upstream = openUpstream({
    host: '127.0.0.1',
    port,
    tls: null,
    isAddressAllowed: () => true,
    ticker,
    ...options,
    limits: { ...limits, ...options.limits },
  });
  return {
    upstream,
    ticker,
    [Symbol.asyncDispose]: async () => {
      await upstream.drain();
      assert.deepEqual(upstream.stats(), { idle: 0, active: 0 });
      for (let tries = 0; ticker.size > 0 && tries < 100; tries += 1)
        await new Promise((resolve) => setTimeout(resolve, 10));
      assert.equal(ticker.size, 0, 'a connection is still watched');
    },
  };
}

export interface RawServer extends AsyncDisposable {
  readonly port: number;
  readonly sockets: ReadonlySet<Socket>;
  /** Number of connections made. */
  accepted(): number;
}

/** A server whose connections the test controls. Disposing of it waits until all of them are gone. */
export async function rawServer(onSocket: (socket: Socket, number: number) => void): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server: Server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    onSocket(socket, accepted);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    port: address.port,
    sockets,
    accepted: () => accepted,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** Responds to each request head with the same bytes. */
export function answering(bytes: string, then: 'keep' | 'end' | 'destroy' = 'keep'): Promise<RawServer> {
  return rawServer((socket) => {
    socket.on('data', () => {
      socket.write(bytes, 'latin1');
      if (then === 'end') socket.end();
      if (then === 'destroy') socket.destroySoon();
    });
    socket.on('end', () => socket.end());
  });
}

/** For the end of a test file: no socket or timer may be left that keeps a process alive. */
export async function assertNothingLeft(): Promise<void> {
  const left = (): string[] =>
    process.getActiveResourcesInfo().filter((name) => /TCP|TLS|Timeout|GetAddrInfo/.test(name));
  for (let tries = 0; left().length > 0 && tries < 100; tries += 1)
    await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(left(), []);
}

/** Writes pieces with pauses (in ms) between them. */
export function play(socket: Socket, steps: readonly (string | number)[]): void {
  const next = (at: number): void => {
    const step = steps[at];
    if (step === undefined || socket.destroyed) return;
    if (typeof step === 'number') setTimeout(next, step, at + 1);
    else {
      socket.write(step, 'latin1');
      next(at + 1);
    }
  };
  next(0);
}
