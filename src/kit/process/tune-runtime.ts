import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BYTES_PER_COLLECTION_OF_AGENTS, collectPassedBuffers } from '../net/waiting-bytes.ts';
import { RestCollector } from './rest-collector.ts';

/**
 * V8 counts buffers outside of the heap towards the limit of its old generation, too. A transfer promotes nearly
 * nothing, and then this limit is 8 MB above what is alive: a collection of the whole heap for each 9 MB, or two thirds
 * of the server's CPU. While bytes pass, the limit is therefore as far away as V8's own one for such buffers.
 */
const ROOM_BYTES = 64 * 1024 * 1024;
const ROOM_FOR_MS = 10_000;
/** What V8 gives a heap that it lets grow slowly. */
const LEAST_PERCENT = 30;

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
  // V8 begins to reduce memory after eight idle seconds and throws compiled code away: the next thousands of requests
  // cost up to three times as much. `RestCollector` frees the same memory, but only when a process has really come to
  // rest.
  setFlagsFromString('--memory-reducer-delay-ms=60000');
  const collect = collector();
  if (collect === null) return { collectAll: () => {}, stop: () => {} };
  const room = new RoomForBuffers();
  collectPassedBuffers(
    {
      young: () => {
        room.give();
        collect({ type: 'minor' });
      },
      old: () => collect({ type: 'major' }),
    },
    isAgent ? BYTES_PER_COLLECTION_OF_AGENTS : undefined,
  );
  // The only flavor that shrinks the young generation.
  const atRest = new RestCollector(() => collect({ type: 'major', flavor: 'last-resort' }), quietMs);
  return {
    collectAll: () => collect({ type: 'major' }),
    stop: () => {
      collectPassedBuffers(null);
      room.takeBack();
      atRest.stop();
    },
  };
}

class RoomForBuffers {
  #timer: NodeJS.Timeout | null = null;

  /** Before a collection, which sets the limit again. */
  give(): void {
    const percent = Math.ceil((100 * ROOM_BYTES) / getHeapStatistics().used_heap_size);
    setFlagsFromString(`--heap-growing-percent=${Math.max(percent, LEAST_PERCENT)}`);
    if (this.#timer === null) this.#timer = setTimeout(() => this.takeBack(), ROOM_FOR_MS).unref();
    else this.#timer.refresh();
  }

  /** The next collection, of either kind, computes the limit without it. */
  takeBack(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    setFlagsFromString('--heap-growing-percent=0');
  }
}

type Collector = (options: { readonly type: 'minor' | 'major'; readonly flavor?: 'last-resort' }) => void;

/** V8 exposes it in contexts created while the flag is set. */
function collector(): Collector | null {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? (found as Collector) : null;
}
