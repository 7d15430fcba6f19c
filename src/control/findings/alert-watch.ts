import { type Periodic, periodically } from '../../kit/async/waiting.ts';
import { type Clock, rfc3339 } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { OutboxEvent, RecordPut, Store, StoredRecord } from '../../store/store.ts';
import type { AlertFacts, AlertKind, AlertLimits, Sighting } from './alert-kind.ts';
import { alertAdvice, alertKinds } from './registry.ts';

/** Raised alerts are records: every node knows them, and they survive a restart. */
export const ALERT_KIND = 'alert';
const ALERT_RAISED = 'alert_raised.v0';
const ALERT_RESOLVED = 'alert_resolved.v0';

interface AlertDoc {
  readonly kind: string;
  readonly subject: string;
  readonly title: string;
  /** Name of the node that raised it. */
  readonly node: string;
  readonly raised_at: string;
  /** Absent: nobody has dismissed it. */
  readonly dismissed_at?: string | null;
}

export function alertDoc({ doc }: Pick<StoredRecord, 'doc'>): AlertDoc {
  return doc as unknown as AlertDoc;
}

/** One alert per kind and subject, whichever node is first. */
export function alertPut(id: string, alert: AlertDoc): RecordPut {
  const uniqueKeys = [{ scope: ALERT_KIND, key: `${alert.kind}\n${alert.subject}` }];
  return { kind: ALERT_KIND, id, parent: null, doc: { ...alert }, secrets: null, uniqueKeys, references: [] };
}

/** As the API and events show it. */
export function alertForm(ref: { readonly id: string; readonly uri: string }, alert: AlertDoc): JsonObject {
  const { dismissed_at: dismissedAt = null } = alert;
  const status = dismissedAt === null ? 'raised' : 'dismissed';
  return { ...ref, ...alert, advice: alertAdvice(alert.kind), status, dismissed_at: dismissedAt, resolved_at: null };
}

interface EventOptions {
  readonly id: string;
  readonly accountId: string;
  readonly nowMs: number;
}

function alertEvent(type: string, object: JsonObject, { id, accountId, nowMs }: EventOptions): OutboxEvent {
  const payload = {
    event_id: id,
    event_type: type,
    event_timestamp: rfc3339(nowMs),
    account_id: accountId,
    // The server acts by itself.
    principal: null,
    object,
  };
  // The store knows best who subscribed.
  return { id, type, createdAtMs: nowMs, payload, isUncertain: true };
}

interface SteadyTimes {
  readonly raiseAfterMs: number;
  readonly resolveAfterMs: number;
}

/**
 * Turns what one look after the other found into decisions that do not flap: something is raised after it was bad for a
 * while, without being well in between, and resolved after it was well for a while.
 */
export class SteadyState {
  readonly #badSince = new Map<string, number>();
  readonly #wellSince = new Map<string, number>();

  /** What to raise: sightings that are bad now, and have been for long enough. */
  toRaise(sightings: readonly Sighting[], raised: ReadonlySet<string>, nowMs: number, times: SteadyTimes): Sighting[] {
    const named = new Map(sightings.map((sighting) => [sighting.subject, sighting]));
    for (const subject of this.#badSince.keys()) {
      if ((named.get(subject)?.state ?? 'well') === 'well') this.#badSince.delete(subject);
    }
    return sightings.filter(({ subject, state }) => {
      if (state !== 'bad') return false;
      const since = this.#badSince.get(subject) ?? nowMs;
      this.#badSince.set(subject, since);
      return !raised.has(subject) && nowMs - since >= times.raiseAfterMs;
    });
  }

  /** Raised subjects that are well now, and have been for long enough. */
  toResolve(sightings: readonly Sighting[], raised: ReadonlySet<string>, nowMs: number, times: SteadyTimes): string[] {
    const states = new Map(sightings.map(({ subject, state }) => [subject, state]));
    for (const subject of this.#wellSince.keys()) {
      if (!raised.has(subject) || states.get(subject) === 'bad') this.#wellSince.delete(subject);
    }
    return [...raised].filter((subject) => {
      if ((states.get(subject) ?? 'well') !== 'well') return false;
      const since = this.#wellSince.get(subject) ?? nowMs;
      this.#wellSince.set(subject, since);
      return nowMs - since >= times.resolveAfterMs;
    });
  }

  /** Another process looks from now on. */
  forget(): void {
    this.#badSince.clear();
    this.#wellSince.clear();
  }
}

interface AlertWatchOptions {
  readonly store: Pick<Store, 'commit' | 'accountId'>;
  readonly replica: Pick<Replica, 'all' | 'get' | 'refresh'>;
  readonly clock: Clock;
  readonly limits: AlertLimits;
  /** This node's name. */
  readonly node: string;
  /** Whether this node looks for all: exactly one does, as long as they agree about who is there. */
  isLooking(): boolean;
  readonly sources: Omit<AlertFacts, 'nowMs' | 'limits' | 'node' | 'records' | 'record' | 'raised'>;
  newId(prefix: string): string;
  ref(id: string): { readonly id: string; readonly uri: string };
  onProblem(error: unknown): void;
  readonly kinds?: readonly AlertKind[];
  readonly everyMs?: number;
}

interface Watched {
  readonly kind: AlertKind;
  readonly look: ReturnType<AlertKind['createLook']>;
  readonly steady: SteadyState;
}

const EVERY_MS = 5_000;
/** A flood of alerts tells no more than some of them. */
const MAX_RAISED_PER_KIND = 200;

/** Looks at what is known every few seconds, and raises and resolves alerts: each once for the whole installation. */
export class AlertWatch {
  readonly #options: AlertWatchOptions;
  readonly #watched: readonly Watched[];
  readonly #periodic: Periodic | null;
  #isFailing = false;

  constructor(options: AlertWatchOptions) {
    this.#options = options;
    this.#watched = (options.kinds ?? alertKinds)
      .filter((kind) => kind.isOn(options.limits))
      .map((kind) => ({ kind, look: kind.createLook(), steady: new SteadyState() }));
    // With every kind turned off, only alerts of an earlier start remain to be resolved.
    const isNeeded = this.#watched.length > 0 || [...options.replica.all(ALERT_KIND)].length > 0;
    this.#periodic = isNeeded ? periodically(() => this.#lookAtAll(), options.everyMs ?? EVERY_MS) : null;
  }

  /** One look at everything. Calls during one wait for it. */
  async look(): Promise<void> {
    await this.#periodic?.run();
  }

  async close(): Promise<void> {
    await this.#periodic?.close();
  }

  async #lookAtAll(): Promise<void> {
    try {
      for (const watched of this.#watched) await this.#lookAt(watched);
      await this.#resolveOrphans();
      this.#isFailing = false;
    } catch (error) {
      // The store is away: reported once.
      if (!this.#isFailing) this.#options.onProblem(error);
      this.#isFailing = true;
    }
  }

  async #lookAt({ kind, look, steady }: Watched): Promise<void> {
    const { clock, limits, node } = this.#options;
    if (kind.sight === 'installation' && !this.#options.isLooking()) {
      steady.forget();
      return;
    }
    const own = this.#raised(kind).filter((record) => kind.sight === 'installation' || alertDoc(record).node === node);
    const bySubject = new Map(own.map((record) => [alertDoc(record).subject, record]));
    const raised = new Set(bySubject.keys());
    const sightings = await look(this.#facts(raised));
    const nowMs = clock.nowMs();
    const times = { raiseAfterMs: kind.raiseAfterMs(limits), resolveAfterMs: kind.resolveAfterMs };
    const room = MAX_RAISED_PER_KIND - raised.size;
    for (const sighting of steady.toRaise(sightings, raised, nowMs, times).slice(0, Math.max(0, room))) {
      await this.#raise(kind, sighting);
    }
    for (const subject of steady.toResolve(sightings, raised, nowMs, times)) {
      await this.#resolve(bySubject.get(subject) as StoredRecord);
    }
  }

  /** Alerts of nodes that are gone, and of kinds that are turned off: nobody else looks at them. */
  async #resolveOrphans(): Promise<void> {
    if (!this.#options.isLooking()) return;
    const names = new Set([this.#options.node, ...this.#options.sources.nodes().map(({ name }) => name)]);
    const kinds = new Map(this.#watched.map(({ kind }) => [kind.code, kind]));
    for (const record of [...this.#options.replica.all(ALERT_KIND)]) {
      const { kind: code, node } = alertDoc(record);
      const kind = kinds.get(code);
      if (kind === undefined || (kind.sight === 'node' && !names.has(node))) await this.#resolve(record);
    }
  }

  #raised({ code }: AlertKind): StoredRecord[] {
    return [...this.#options.replica.all(ALERT_KIND)].filter((record) => alertDoc(record).kind === code);
  }

  #facts(raised: ReadonlySet<string>): AlertFacts {
    const { replica, clock, limits, node, sources } = this.#options;
    return {
      ...sources,
      ...{ limits, node, raised, nowMs: clock.nowMs() },
      records: (kind) => replica.all(kind),
      record: (kind, id) => replica.get(kind, id),
    };
  }

  /** Refused if another node was first: then there is nothing to do. */
  async #raise({ code }: AlertKind, { subject, title }: Sighting): Promise<void> {
    const { store, node } = this.#options;
    const nowMs = this.#options.clock.nowMs();
    const id = this.#options.newId('al');
    const alert = { kind: code, subject, title, node, raised_at: rfc3339(nowMs) };
    const object = alertForm(this.#options.ref(id), alert);
    const event = alertEvent(ALERT_RAISED, object, {
      id: this.#options.newId('ev'),
      accountId: store.accountId,
      nowMs,
    });
    const result = await store.commit({ puts: [alertPut(id, alert)], events: [event] });
    if (!result.ok) await this.#options.replica.refresh();
  }

  async #resolve(record: StoredRecord): Promise<void> {
    const { store } = this.#options;
    const nowMs = this.#options.clock.nowMs();
    const { kind, id, revision } = record;
    const form = alertForm(this.#options.ref(id), alertDoc(record));
    const object = { ...form, status: 'resolved', resolved_at: rfc3339(nowMs) };
    const event = alertEvent(ALERT_RESOLVED, object, {
      id: this.#options.newId('ev'),
      accountId: store.accountId,
      nowMs,
    });
    const result = await store.commit({
      expect: [{ kind, id, revision }],
      deletes: [{ kind, id }],
      events: [event],
    });
    if (!result.ok) await this.#options.replica.refresh();
  }
}
