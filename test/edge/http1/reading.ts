import { duplexPair } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { isAllowedInTrailers } from '../../../src/kit/http1/header-block.ts';
import { headRules } from '../../../src/proxy/edge/edge-settings.ts';
import type { RequestHead } from '../../../src/proxy/edge/http/request-head.ts';
import type { HttpLimits } from '../../../src/proxy/edge/http/sweep.ts';

/** A request that was accepted. */
export interface AcceptedRequest {
  readonly head: RequestHead;
  body: string;
  trailers: readonly string[];
  /**
   * `broken`: its body cannot be read to its end. `open`: more of it is expected. `switched`: no request follows it.
   */
  state: 'whole' | 'open' | 'broken' | 'switched';
}

/** What a connection made of some bytes. */
export interface Reading {
  readonly accepted: AcceptedRequest[];
  /** Something was refused, and nothing after it may be read. */
  isRefused: boolean;
}

export const LIMITS: HttpLimits = {
  maxHeaderBytes: 16_384,
  maxHeaderCount: 100,
  headersTimeoutMs: 600_000,
  requestTimeoutMs: 600_000,
  keepAliveTimeoutMs: 600_000,
  sendTimeoutMs: 600_000,
  maxConcurrentStreams: 100,
};

export const RULES = headRules({ droppedHeaders: [], hostPorts: [] }, { headers: [] });

/** Sends pieces one by one. Nothing in between waits for anything but the event loop. */
export async function send(pieces: readonly Buffer[], accept: (socket: ReturnType<typeof duplexPair>[0]) => void) {
  const [near, far] = duplexPair();
  accept(far);
  near.on('error', () => {}).resume();
  for (const piece of pieces) {
    if (near.destroyed || !near.writable) break;
    near.write(piece);
    await turn();
  }
  for (let at = 0; at < 6; at += 1) await turn();
  near.destroy();
  far.destroy();
}

/** Trailers that may reach an upstream. */
export function forwardable(trailers: readonly string[], method: string): readonly string[] {
  const kept = RULES.dropped.forwardableTrailers(trailers, method);
  return kept.filter((_, at) => isAllowedInTrailers(kept[at - (at % 2)] as string));
}
