import type { onRequestHookHandler } from 'fastify';
import { listenOnce, reporting } from '../lib/guarded-listeners.ts';
import { apiErrors } from './errors.ts';

/** Bodies up to this size are not counted. */
export const LARGE_BODY_BYTES = 1_048_576;
/** Each may take 64 MiB while it arrives, and its response as much while it is read. */
const MAX_LARGE_BODIES = 4;
/** One key must not take all of them. */
const MAX_PER_KEY = 2;
/** For the turn of a body that has arrived: a changeset of 50,000 operations may be running. */
const MAX_WAIT_MS = 60_000;
const RETRY_AFTER_SECONDS = '10';

/** A large body that was admitted, until its response and its turn have ended. */
export interface LargeBody {
  /** Resolves when no other large body is being parsed or run. */
  turn(): Promise<void>;
  /** The next one may go on. */
  endTurn(): void;
}

interface Waiting {
  readonly body: LargeBody;
  readonly timer: NodeJS.Timeout;
  readonly resume: () => void;
}

/** Bounds the memory that large bodies take, and runs one at a time: each is parsed into several times its size. */
export class LargeBodies {
  readonly #perKey = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  readonly #maxWaitMs: number;
  #admitted = 0;
  #running: LargeBody | null = null;
  /** The client of the running one has gone. */
  #leaveAfterTurn: (() => void) | null = null;

  constructor(maxWaitMs = MAX_WAIT_MS) {
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * Before a byte of the body is read; `leave` when its response has ended. Work goes on for a client that has gone, and
   * keeps its place until `endTurn`.
   */
  admit(apiKeyId: string): { readonly body: LargeBody; readonly leave: () => void } {
    const ofKey = this.#perKey.get(apiKeyId) ?? 0;
    if (ofKey >= MAX_PER_KEY) throw tooMany(`this API key has ${MAX_PER_KEY} requests`);
    if (this.#admitted >= MAX_LARGE_BODIES) throw tooMany(`the server has ${MAX_LARGE_BODIES} requests`);
    this.#admitted += 1;
    this.#perKey.set(apiKeyId, ofKey + 1);
    const body: LargeBody = { turn: () => this.#turn(body), endTurn: () => this.#endTurn(body) };
    const leave = (): void => {
      this.#giveUp(body);
      if (this.#running === body) this.#leaveAfterTurn = () => this.#leave(apiKeyId);
      else this.#leave(apiKeyId);
    };
    return { body, leave };
  }

  #leave(apiKeyId: string): void {
    this.#admitted -= 1;
    const left = (this.#perKey.get(apiKeyId) ?? 1) - 1;
    if (left === 0) this.#perKey.delete(apiKeyId);
    else this.#perKey.set(apiKeyId, left);
  }

  #turn(body: LargeBody): Promise<void> {
    if (this.#running === null) {
      this.#running = body;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#giveUp(body);
        reject(tooMany('the server is still running other requests'));
      }, this.#maxWaitMs);
      this.#waiting.push({ body, timer, resume: resolve });
    });
  }

  #endTurn(body: LargeBody): void {
    this.#giveUp(body);
    if (this.#running !== body) return;
    this.#leaveAfterTurn?.();
    this.#leaveAfterTurn = null;
    const next = this.#waiting.shift();
    this.#running = next?.body ?? null;
    clearTimeout(next?.timer);
    next?.resume();
  }

  /** A client that has gone waits for nothing. */
  #giveUp(body: LargeBody): void {
    const at = this.#waiting.findIndex((waiting) => waiting.body === body);
    if (at === -1) return;
    const [given] = this.#waiting.splice(at, 1);
    clearTimeout(given?.timer);
  }
}

/** Runs after the gate, which has authenticated the key. A body of unknown length counts as large. */
export function largeBodyGate(bodies: LargeBodies): onRequestHookHandler {
  return (request, reply, proceed) => {
    const { headers, postern } = request;
    const isSmall =
      headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= LARGE_BODY_BYTES;
    if (isSmall) {
      proceed();
      return;
    }
    try {
      const { body, leave } = bodies.admit(postern.apiKeyId ?? '');
      postern.largeBody = body;
      listenOnce(reply.raw, 'close', reporting('API'), leave);
    } catch (error) {
      proceed(error as Error);
      return;
    }
    proceed();
  };
}

function tooMany(what: string): Error {
  return apiErrors.create(
    'ERR_POSTERN_TOO_MANY_LARGE_BODIES',
    `${what} with bodies of more than ${LARGE_BODY_BYTES} bytes: send this one again after the time in Retry-After`,
    { headers: { 'retry-after': RETRY_AFTER_SECONDS } },
  );
}
