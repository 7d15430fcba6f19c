import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../../kit/error-text.ts';
import { reportBug } from '../../../../kit/guarded-listeners.ts';
import { Backoff } from '../../../../tunnel/agent/timings.ts';
import {
  type Container,
  inspectedContainer,
  isLabelled,
  type ListedContainer,
  listedContainers,
  undescribed,
} from './container.ts';
import { EngineAnswerError, type EngineClient, type EventStream } from './engine-client.ts';

/** Others, such as exec of health checks, are frequent and change nothing here. */
const ACTIONS = new Set([
  'start',
  'die',
  'died',
  'stop',
  'kill',
  'pause',
  'unpause',
  'rename',
  'update',
  'restart',
  'destroy',
  'remove',
  'cleanup',
  'health_status',
  'connect',
  'disconnect',
]);

/** The id of the container that an event changed; null for any other event, and for what is not an event. */
export function changedContainer(event: unknown): string | null {
  const { Type: type, Action: action, Actor: actor } = fieldsOf(event);
  if ((type !== 'container' && type !== 'network') || typeof action !== 'string') return null;
  // `health_status: healthy`.
  if (!ACTIONS.has(action.split(':')[0] ?? '')) return null;
  const { ID: id, Attributes: attributes } = fieldsOf(actor);
  const container = type === 'container' ? id : fieldsOf(attributes)['container'];
  return typeof container === 'string' && container.length <= 128 ? container : null;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

/** Events come in groups: a container that starts causes several. */
const GATHER_MS = 150;
/** Between two readings, however many events arrive. */
const READ_EVERY_MS = 500;
/** Events can be lost. */
const LOOK_AGAIN_MS = 10_000;
const DESCRIBE_AGAIN_MS = 60_000;
const RETRY_BASE_MS = 500;
const RETRY_MAX_MS = 5_000;
const MAX_CONTAINERS = 1_000;
const MAX_CHANGED = 1_000;
const INSPECTED_AT_ONCE = 8;

export interface Reading {
  /** Containers that run and have labels for Postern. */
  readonly containers: readonly Container[];
  readonly listed: readonly ListedContainer[];
  /** Labelled containers that were left out. */
  readonly omitted: number;
}

interface ContainerWatchParts {
  readonly client: EngineClient;
  onReading(reading: Reading): void;
  /** Why the engine cannot be read now; null: it can again. */
  onProblem(problem: string | null): void;
}

/**
 * Follows the containers of an engine. *open*: events cause readings. *lost*: it tries again, with growing delays, and
 * nothing changes until a reading succeeds. Nothing that the engine sends ends it.
 */
export class ContainerWatch {
  readonly #parts: ContainerWatchParts;
  readonly #backoff = new Backoff(RETRY_BASE_MS, RETRY_MAX_MS);
  readonly #known = new Map<
    string,
    { readonly signature: string; readonly container: Container; readonly atMs: number }
  >();
  readonly #changed = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  #pending: NodeJS.Timeout | null = null;
  #reading: Promise<void> | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #stream: EventStream | null = null;
  #isClosed = false;

  constructor(parts: ContainerWatchParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#readSoon(), LOOK_AGAIN_MS);
    this.#follow().catch((error: unknown) => reportBug(error, { part: 'container watch' }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    if (this.#pending !== null) clearTimeout(this.#pending);
    this.#stream?.close();
    this.#parts.client.close();
    await this.#reading;
  }

  async #follow(): Promise<void> {
    while (!this.#isClosed) {
      const stream = this.#parts.client.events((event) => this.#onEvent(event));
      this.#stream = stream;
      // The stream first: nothing that happens after the reading is missed.
      const refused = await stream.opened.then(
        () => null,
        (error: unknown) => messageOf(error),
      );
      // What happened while there was no stream is unknown.
      this.#known.clear();
      const failed = await this.#read();
      if (failed === null && refused === null) this.#backoff.reset();
      if (!this.#isClosed) this.#parts.onProblem(failed ?? refused);
      if (failed !== null) stream.close();
      const reason = await stream.ended;
      if (this.#isClosed) return;
      if (failed === null && refused === null) this.#parts.onProblem(reason);
      await sleep(this.#backoff.nextMs() + GATHER_MS, undefined, { ref: false });
    }
  }

  #onEvent(event: unknown): void {
    const id = changedContainer(event);
    if (id === null) return;
    if (this.#changed.size < MAX_CHANGED) this.#changed.add(id);
    else this.#known.clear();
    this.#readSoon();
  }

  #readSoon(): void {
    if (this.#isClosed || this.#pending !== null) return;
    const waitMs = Math.max(GATHER_MS, this.#readAtMs + READ_EVERY_MS - performance.now());
    this.#pending = setTimeout(() => {
      this.#pending = null;
      void this.#read();
    }, waitMs);
  }

  /** Resolves to the reason for a failure. One at a time. */
  async #read(): Promise<string | null> {
    while (this.#reading !== null) await this.#reading;
    if (this.#isClosed) return null;
    let failure: string | null = null;
    this.#reading = this.#readOnce()
      .catch((error: unknown) => {
        failure = messageOf(error);
        // The stream is opened again, with a new reading.
        this.#stream?.close();
      })
      .finally(() => {
        this.#reading = null;
      });
    await this.#reading;
    return failure;
  }

  async #readOnce(): Promise<void> {
    this.#readAtMs = performance.now();
    const changed = new Set(this.#changed);
    this.#changed.clear();
    const listed = listedContainers(await this.#parts.client.list());
    if (listed === null) throw new Error('the answer to GET /containers/json is not a list of containers');
    const labelled = listed.filter(isLabelled).sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
    const followed = labelled.slice(0, MAX_CONTAINERS);
    const waiting = [...followed];
    const found = new Map<string, Container | null>();
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && !this.#isClosed; next = waiting.shift()) {
        found.set(next.id, await this.#describe(next, changed.has(next.id)));
      }
    };
    await Promise.all(Array.from({ length: INSPECTED_AT_ONCE }, work));
    if (this.#isClosed) return;
    for (const id of this.#known.keys()) if (!found.has(id)) this.#known.delete(id);
    const containers = followed.flatMap(({ id }) => found.get(id) ?? []);
    this.#parts.onReading({ containers, listed, omitted: labelled.length - followed.length });
  }

  /** Null: it ended meanwhile. A container that the engine cannot describe does not keep others from being read. */
  async #describe(listed: ListedContainer, isChanged: boolean): Promise<Container | null> {
    const { id, signature } = listed;
    const known = this.#known.get(id);
    const nowMs = performance.now();
    if (!isChanged && known?.signature === signature && nowMs - known.atMs < DESCRIBE_AGAIN_MS) return known.container;
    const container = await this.#inspect(listed);
    if (container !== null) this.#known.set(id, { signature, container, atMs: nowMs });
    return container;
  }

  async #inspect(listed: ListedContainer): Promise<Container | null> {
    try {
      return inspectedContainer(await this.#parts.client.inspect(listed.id), listed);
    } catch (error) {
      if (!(error instanceof EngineAnswerError)) throw error;
      return error.status === 404 ? null : undescribed(listed, `the engine does not describe it: ${error.message}`);
    }
  }
}
