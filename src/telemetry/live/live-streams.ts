import type { ServerResponse } from 'node:http';
import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type LiveFilter, LiveStream, liveLine, type WantedStream } from './live-stream.ts';

const TICK_MS = 1000;
/** What all nodes are asked for. */
const GATHERED = ['overview', 'tunnel_traffic'] as const;
const GATHER_EVERY = 2;
const PING_EVERY = 15;
/** Every second, so that a page notices soon that the server is gone. */
const PULSE = 'pulse';
const MAX_STREAMS = 100;
/** One key or person cannot take all places. Colleagues may share a key, each with several pages. */
const MAX_STREAMS_OF_OWNER = 20;

export interface LiveSources {
  readonly clock: Clock;
  /** Called with every finished request of this node, as long as somebody watches. */
  followRequests(onRequest: (request: LiveRequest) => void): () => void;
  /** Requests that the other nodes have finished since the last call; all of them, whatever they were. */
  othersRequests(): Promise<readonly LiveRequest[]>;
  overview(): Promise<JsonObject>;
  /** Latency of agents and traffic of tunnels. */
  tunnel_traffic(): Promise<JsonObject>;
  /** Agents and tunnels online; sent when it changes. */
  tunnels(): JsonObject;
  onProblem(error: unknown): void;
}

/**
 * A finished request: whether a filter matches it, and its document, which is made only if somebody wants it. It is valid during the
 * call: another request may follow in the same object.
 */
export interface LiveRequest {
  matches(filter: LiveFilter): boolean;
  document(): JsonObject;
}

/** Everybody who watches this node. Nothing runs while nobody does. */
export class LiveStreams {
  readonly #sources: LiveSources;
  readonly #streams = new Set<LiveStream>();
  #timer: NodeJS.Timeout | null = null;
  #unfollow: (() => void) | null = null;
  #ticks = 0;
  #isAsking = false;
  #lastTunnels = '';
  #isClosed = false;

  constructor(sources: LiveSources) {
    this.#sources = sources;
  }

  get isFull(): boolean {
    return this.#isClosed || this.#streams.size >= MAX_STREAMS;
  }

  isFullFor(owner: string): boolean {
    let own = 0;
    for (const stream of this.#streams) if (stream.owner === owner) own += 1;
    return own >= MAX_STREAMS_OF_OWNER;
  }

  open(response: ServerResponse, wanted: WantedStream): void {
    const stream = new LiveStream(response, wanted, () => this.#remove(stream));
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
    if (wanted.topics.has('requests')) this.#unfollow ??= this.#sources.followRequests((each) => this.#offer(each));
    this.#begin(stream);
  }

  /** For a server that stops: they would keep it waiting. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.end();
  }

  /** The current state at once: a page must not stay empty until something changes. */
  #begin(stream: LiveStream): void {
    const nowMs = this.#sources.clock.nowMs();
    stream.write(liveLine('ping', nowMs, {}));
    if (stream.topics.has('tunnels')) stream.write(liveLine('tunnels', nowMs, this.#sources.tunnels()));
    for (const topic of GATHERED) if (stream.topics.has(topic)) this.#sendGathered(topic, [stream]);
  }

  #remove(stream: LiveStream): void {
    this.#streams.delete(stream);
    if (!this.#watching('requests')) {
      this.#unfollow?.();
      this.#unfollow = null;
    }
    if (this.#streams.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #watching(topic: string): boolean {
    for (const { topics } of this.#streams) if (topics.has(topic)) return true;
    return false;
  }

  #with(topic: string): readonly LiveStream[] {
    return [...this.#streams].filter(({ topics }) => topics.has(topic));
  }

  /** The line is made once for all who want it. */
  #offer(request: LiveRequest): void {
    let line: string | null = null;
    for (const stream of this.#streams) {
      if (!stream.wantsRequests || (stream.isFiltered && !request.matches(stream.filter))) continue;
      if (!stream.takesRequest()) continue;
      line ??= liveLine('requests', this.#sources.clock.nowMs(), request.document());
      stream.write(line);
    }
  }

  #tick(): void {
    const nowMs = this.#sources.clock.nowMs();
    this.#ticks += 1;
    for (const stream of this.#streams) {
      if (stream.isAllowed()) stream.tick(nowMs);
      else stream.revoke();
    }
    if (this.#ticks % PING_EVERY === 0) this.#send([...this.#streams], liveLine('ping', nowMs, {}));
    this.#send(this.#with(PULSE), liveLine(PULSE, nowMs, {}));
    this.#sendTunnels(nowMs);
    if (this.#ticks % GATHER_EVERY === 0) for (const topic of GATHERED) this.#sendGathered(topic, this.#with(topic));
    this.#askOthers();
  }

  #send(streams: readonly LiveStream[], line: string): void {
    for (const stream of streams) stream.write(line);
  }

  #sendTunnels(nowMs: number): void {
    const streams = this.#with('tunnels');
    if (streams.length === 0) return;
    const data = this.#sources.tunnels();
    const text = JSON.stringify(data);
    if (text === this.#lastTunnels) return;
    this.#lastTunnels = text;
    this.#send(streams, liveLine('tunnels', nowMs, data));
  }

  #sendGathered(topic: (typeof GATHERED)[number], streams: readonly LiveStream[]): void {
    if (streams.length === 0) return;
    this.#sources[topic]()
      .then((data) => this.#send(streams, liveLine(topic, this.#sources.clock.nowMs(), data)))
      .catch((error: unknown) => this.#sources.onProblem(error));
  }

  /** One question at a time: a node that does not answer takes two seconds. */
  #askOthers(): void {
    if (this.#isAsking || !this.#watching('requests')) return;
    this.#isAsking = true;
    this.#sources
      .othersRequests()
      .then((requests) => {
        for (const request of requests) this.#offer(request);
      })
      .catch((error: unknown) => this.#sources.onProblem(error))
      .finally(() => {
        this.#isAsking = false;
      });
  }
}
