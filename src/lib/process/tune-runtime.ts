import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BYTES_PER_COLLECTION_OF_AGENTS, collectPassedBuffers } from '../net/passing-buffers.ts';
import { RestCollector } from './rest-collector.ts';

export interface TuningOptions {
  /** An agent, not a server. */
  readonly isAgent?: boolean;
  /** For tests. */
  readonly quietMs?: number;
}

export interface TunedRuntime {
  /** Frees all that can be freed, now. */
  collectAll(): void;
  /** For tests: a program keeps it until it ends. */
  stop(): void;
}

/**
 * For long-running programs with short-lived objects that forward bytes. What each setting gains:
 * bench/tunnel/README.md.
 */
export function tuneRuntime({ isAgent = false, quietMs }: TuningOptions = {}): TunedRuntime {
  // V8 records which allocation sites create objects that survive, and allocates later ones directly in the old space.
  // While a program is young, request objects look like that. Once there, each keeps everything that it refers to
  // (request, response, headers, streams) until the next full garbage collection, which looks like survival again: a
  // third of all that is allocated.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // V8 begins to reduce memory after eight idle seconds and throws compiled code away: the next thousands of requests cost
  // up to three times as much. `RestCollector` frees the same memory, but only when a process has really come to rest.
  setFlagsFromString('--memory-reducer-delay-ms=60000');
  const collect = collector();
  if (collect === null) return { collectAll: () => {}, stop: () => {} };
  collectPassedBuffers(() => collect({ type: 'minor' }), isAgent ? BYTES_PER_COLLECTION_OF_AGENTS : undefined);
  // The only flavor that shrinks the young generation.
  const atRest = new RestCollector(() => collect({ type: 'major', flavor: 'last-resort' }), quietMs);
  return {
    collectAll: () => collect({ type: 'major' }),
    stop: () => {
      collectPassedBuffers(null);
      atRest.stop();
    },
  };
}

type Collector = (options: { readonly type: 'minor' | 'major'; readonly flavor?: 'last-resort' }) => void;

/** V8 exposes it in contexts created while the flag is set. */
function collector(): Collector | null {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? (found as Collector) : null;
}
