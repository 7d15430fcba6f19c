import { Counter, Gauge, type Registry } from 'prom-client';
import { type Clock, rfc3339 } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { readOrNull } from '../../kit/read-or-null.ts';
import type { RawConnectionFacts, RequestFacts } from '../../proxy/telemetry/traffic-facts.ts';
import type { FollowedReplica } from '../../store/replica/replica.ts';
import type { EventStore, OutboxEvent, StoredRecord } from '../../store/store.ts';

interface EventRecorderOptions {
  readonly events: Pick<EventStore, 'record'>;
  readonly wanted: WantedTypes;
  readonly accountId: string;
  readonly clock: Clock;
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
  newId(prefix: string): string;
  readonly maxQueued: number;
}

interface Waiting {
  readonly type: string;
  readonly object: JsonObject;
  readonly atMs: number;
}

const FLUSH_MS = 100;
const BATCH = 500;
const RETRY_MS = 1_000;
/** Dropped events are logged once per interval with their count, not individually. */
const DROP_NOTICE_MS = 60_000;

/**
 * Records events that no configuration change causes: agents, tunnels, traffic. The reporter does not wait: events are
 * queued in memory and written together. The queue is bounded, because traffic may outrun any disk. Events that do not
 * fit are dropped, counted and logged. Events still in the queue when the process is killed are lost: they are not tied
 * to any transaction.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #recorded = new Map<string, number>();
  readonly #dropped = new Map<string, number>();
  #queue: Waiting[] = [];
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;
  #droppedSinceNotice = 0;
  #noticedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** By type. */
  get recorded(): ReadonlyMap<string, number> {
    return this.#recorded;
  }

  get dropped(): ReadonlyMap<string, number> {
    return this.#dropped;
  }

  get queued(): number {
    return this.#queue.length;
  }

  isWanted(type: string): boolean {
    return this.#options.wanted.has(type);
  }

  /** `object` is the event's object as the API shows it, with secrets masked. */
  record(type: string, object: JsonObject): void {
    if (!this.isWanted(type)) return;
    if (this.#queue.length >= this.#options.maxQueued || this.#isClosed) {
      this.#drop(type);
      return;
    }
    this.#queue.push({ type, object, atMs: this.#options.clock.nowMs() });
    this.#flushIn(FLUSH_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#flushing;
    await this.#flush();
    for (const { type } of this.#queue) this.#drop(type);
    this.#queue = [];
  }

  #flushIn(ms: number): void {
    if (this.#flushing !== null) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#flushing = this.#flush().finally(() => {
        this.#flushing = null;
        if (this.#queue.length > 0 && !this.#isClosed) this.#flushIn(RETRY_MS);
      });
    }, ms).unref();
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, BATCH);
      try {
        await this.#options.events.record(batch.map((waiting) => this.#eventOf(waiting)));
      } catch (err) {
        // Events stay in the queue: the store may recover before it is full.
        this.#options.log.error({ err, waiting: this.#queue.length }, 'failed to record events');
        return;
      }
      this.#queue.splice(0, batch.length);
      for (const { type } of batch) this.#recorded.set(type, (this.#recorded.get(type) ?? 0) + 1);
    }
  }

  #eventOf({ type, object, atMs }: Waiting): OutboxEvent {
    const id = this.#options.newId('ev');
    const payload = {
      event_id: id,
      event_type: type,
      event_timestamp: rfc3339(atMs),
      account_id: this.#options.accountId,
      principal: null,
      object,
    };
    return { id, type, createdAtMs: atMs, payload };
  }

  #drop(type: string): void {
    this.#dropped.set(type, (this.#dropped.get(type) ?? 0) + 1);
    this.#droppedSinceNotice += 1;
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - this.#noticedAtMs < DROP_NOTICE_MS) return;
    this.#options.log.warn(
      { dropped: this.#droppedSinceNotice, queue: this.#options.maxQueued },
      'dropped events: they arrive faster than the store can write them',
    );
    this.#noticedAtMs = nowMs;
    this.#droppedSinceNotice = 0;
  }
}

interface RecordingMetricsOptions {
  readonly registry: Registry;
  readonly recorders: readonly EventRecorder[];
  /** Events caused by configuration changes, by type. */
  readonly changeEvents: () => ReadonlyMap<string, number>;
}

/** Events recorded by this process, whichever process delivers them. */
export function addRecordingMetrics({ registry, recorders, changeEvents }: RecordingMetricsOptions): void {
  const registers = [registry];
  const perType = (name: string, help: string, read: () => readonly ReadonlyMap<string, number>[]): void => {
    new Counter({
      name,
      help,
      labelNames: ['type'],
      registers,
      collect() {
        this.reset();
        for (const counts of read()) for (const [type, count] of counts) this.inc({ type }, count);
      },
    });
  };
  perType('postern_events_recorded_total', 'Events recorded by this node, by type.', () => [
    changeEvents(),
    ...recorders.map(({ recorded }) => recorded),
  ]);
  perType(
    'postern_events_dropped_total',
    'Agent and traffic events dropped because their queue was full, by type.',
    () => recorders.map(({ dropped }) => dropped),
  );
  new Gauge({
    name: 'postern_events_queued',
    help: 'Agent and traffic events that wait to be written.',
    registers,
    collect() {
      this.set(recorders.reduce((sum, { queued }) => sum + queued, 0));
    },
  });
}

const KIND = 'event_subscription';

/** The event types that some subscription selects: only those are recorded. */
export class WantedTypes {
  readonly #typesById = new Map<string, readonly string[]>();
  #wanted = new Set<string>();

  constructor(replica: FollowedReplica) {
    for (const record of replica.all(KIND)) this.#set(record);
    this.#recount();
    replica.onChange(
      (changes) => {
        let hasChanged = false;
        for (const change of changes) {
          if (change.op === 'put' && change.record.kind === KIND) this.#set(change.record);
          else if (change.op === 'delete' && change.key.kind === KIND) this.#typesById.delete(change.key.id);
          else continue;
          hasChanged = true;
        }
        if (hasChanged) this.#recount();
      },
      [KIND],
    );
  }

  has(type: string): boolean {
    return this.#wanted.has(type);
  }

  #set(record: StoredRecord): void {
    this.#typesById.set(record.id, readOrNull(() => typesOf(record)) ?? []);
  }

  #recount(): void {
    this.#wanted = new Set([...this.#typesById.values()].flat());
  }
}

/** Throws if it is not what the API writes. */
export function typesOf(record: StoredRecord): readonly string[] {
  return (record.doc['sources'] as readonly JsonObject[]).map((source) => source['type'] as string);
}

export const REQUEST_COMPLETE = 'http_request_complete.v0';
export const CONNECTION_CLOSED = 'tcp_connection_closed.v0';

/** Never reported: login paths and the like carry codes and states. */
const OWN_PATHS = '/.postern/';

/** Copied field by field, so that nothing else of the caller's object leaks: no header and no query. */
export function requestObject(facts: RequestFacts, node: string): JsonObject | null {
  if (facts.path.startsWith(OWN_PATHS)) return null;
  return {
    request_id: facts.request_id,
    method: facts.method,
    host: facts.host,
    path: facts.path.split('?', 1)[0] ?? '',
    status: facts.status,
    client_ip: facts.client,
    edge_id: facts.edge,
    route_id: facts.route,
    upstream: facts.upstream,
    node,
    tunnel_node: facts.tunnel_node ?? null,
    user_id: facts.user ?? null,
    auth_kind: facts.auth_kind ?? null,
    access: facts.access ?? null,
    access_rule: facts.access_rule ?? null,
    bytes_in: facts.bytes_in,
    bytes_out: facts.bytes_out,
    duration_ms: facts.ms,
    error_code: facts.error_code ?? null,
    refused_by: facts.refused_by ?? null,
    answered_by: facts.answered_by ?? null,
    would_refuse_by: facts.would_refuse_by ?? null,
    ...Object.fromEntries(Object.entries(facts.decisions ?? {}).map(([name, said]) => [`${name}.decision`, said])),
  };
}

export function connectionObject(connectionId: string, facts: RawConnectionFacts, node: string): JsonObject {
  return {
    connection_id: connectionId,
    proto: facts.proto,
    address: facts.localAddress,
    client_ip: facts.clientAddress,
    tunnel_id: facts.tunnelId,
    endpoint_id: facts.endpointId,
    node,
    tunnel_node: facts.tunnelNode,
    bytes_in: facts.bytesIn,
    bytes_out: facts.bytesOut,
    duration_ms: Math.round(facts.seconds * 1000),
    error: facts.outcome === 'done' ? null : facts.outcome,
  };
}

/** Passed to the edge. The edge checks first, so that nobody collects facts without a subscription. */
export interface TrafficReporter {
  wantsRequests(): boolean;
  requestComplete(facts: RequestFacts): void;
  wantsConnections(): boolean;
  connectionClosed(connectionId: string, facts: RawConnectionFacts): void;
  /** A module reports an event of a type that it declares. */
  moduleEvent(type: string, object: JsonObject): void;
}

/** `node`: this node's name. */
export function createTrafficReporter(recorder: EventRecorder, node: string): TrafficReporter {
  return {
    wantsRequests: () => recorder.isWanted(REQUEST_COMPLETE),
    requestComplete: (facts) => {
      const object = requestObject(facts, node);
      if (object !== null) recorder.record(REQUEST_COMPLETE, object);
    },
    wantsConnections: () => recorder.isWanted(CONNECTION_CLOSED),
    connectionClosed: (id, facts) => recorder.record(CONNECTION_CLOSED, connectionObject(id, facts, node)),
    moduleEvent: (type, object) => recorder.record(type, { ...object, node }),
  };
}
