import { rfc3339 } from '../../kit/clock.ts';
import { PosternError } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { OutboxEvent, PageQuery, StoredRecord, WriteSet } from '../../store/store.ts';
import { callerRef } from '../resources/live-operations.ts';
import type { Principal } from '../resources/operation.ts';
import type { View } from '../resources/scopes.ts';
import type { CompiledResource } from './catalog.ts';
import type { Renderer } from './renderer.ts';

/** Secrets never reach an event. */
const EVENT_VIEW: View = { readable: 'masked', masked: 'masked' };

export interface ChangeEventPorts {
  readonly renderer: Renderer;
  readonly accountId: string;
  /**
   * Whether a subscription wants the type: only then is the event recorded. `unknown` where another process may have
   * just added one: then the store decides.
   */
  isWanted(type: string): boolean | 'unknown';
  newId(prefix: string): string;
  nowMs(): number;
}

/** `created`, `updated`, `deleted`, or one of the resource's `otherEvents`. */
type ChangeVerb = string;

function eventTypeOf(compiled: CompiledResource, verb: ChangeVerb): string {
  return `${compiled.resource.eventNoun}_${verb}.v0`;
}

export function isChangeWanted(compiled: CompiledResource, verb: ChangeVerb, ports: ChangeEventPorts): boolean {
  return ports.isWanted(eventTypeOf(compiled, verb)) !== false;
}

/** The event that reports a change, written in the change's own transaction; none when no subscription wants it. */
export function changeEvent(
  compiled: CompiledResource,
  verb: ChangeVerb,
  subject: {
    readonly record: StoredRecord;
    readonly reader: RecordReader;
    readonly writeSet: WriteSet;
    readonly principal: Principal;
  },
  ports: ChangeEventPorts,
): readonly OutboxEvent[] {
  const type = eventTypeOf(compiled, verb);
  const isWanted = ports.isWanted(type);
  if (isWanted === false) return [];
  const reader = verb === 'deleted' ? subject.reader : overlay(subject.reader, subject.writeSet);
  const id = ports.newId('ev');
  const createdAtMs = ports.nowMs();
  const caller = callerRef(subject.principal.apiKeyId, (each) => ports.renderer.ref(each));
  const payload: JsonObject = {
    event_id: id,
    event_type: type,
    event_timestamp: rfc3339(createdAtMs),
    account_id: ports.accountId,
    principal: caller && { ...caller },
    object: objectOf(compiled, verb, subject.record, reader, ports),
  };
  return [{ id, type, createdAtMs, payload, isUncertain: isWanted === 'unknown' }];
}

/** A record that cannot be read must be deletable: then the event names it only. */
function objectOf(
  compiled: CompiledResource,
  verb: string,
  record: StoredRecord,
  reader: RecordReader,
  { renderer }: ChangeEventPorts,
): JsonObject {
  try {
    return renderer.resource(compiled, record, reader, EVENT_VIEW);
  } catch (error) {
    const isUnreadable = error instanceof PosternError && error.code === 'ERR_POSTERN_STORE_CORRUPT';
    if (verb !== 'deleted' || !isUnreadable) throw error;
    return { ...renderer.refOf(compiled, record) };
  }
}

/** An undo of 50,000 documents asks for every one of its events. */
const known = new WeakMap<WriteSet, RecordReader>();

/**
 * The records as they will be after a write set is applied, so that an event written with the change can show its
 * result. Covers only what rendering needs: the put records, and children that are added or deleted.
 */
export function overlay(reader: RecordReader, writeSet: WriteSet): RecordReader {
  const made = known.get(writeSet) ?? newOverlay(reader, writeSet);
  known.set(writeSet, made);
  return made;
}

function newOverlay(reader: RecordReader, writeSet: WriteSet): RecordReader {
  const puts = new Map<string, StoredRecord>();
  const idsByParent = new Map<string, Set<string>>();
  for (const put of writeSet.puts ?? []) {
    puts.set(`${put.kind} ${put.id}`, { ...put, revision: 0 });
    if (put.parent === null) continue;
    const siblings = idsByParent.get(`${put.kind} ${put.parent}`) ?? new Set();
    idsByParent.set(`${put.kind} ${put.parent}`, siblings.add(put.id));
  }
  const gone = new Set((writeSet.deletes ?? []).map((key) => `${key.kind} ${key.id}`));
  const get = (kind: string, id: string): StoredRecord | undefined => {
    const key = `${kind} ${id}`;
    return gone.has(key) ? undefined : (puts.get(key) ?? reader.get(kind, id));
  };
  return {
    get,
    page: (kind, query) => reader.page(kind, query),
    pageOfParent: (kind: string, parent: string, query: PageQuery) => {
      const stored = reader.pageOfParent(kind, parent, query).map((record) => record.id);
      const added = idsByParent.get(`${kind} ${parent}`) ?? [];
      return [...new Set([...added, ...stored])]
        .map((id) => get(kind, id))
        .filter((record) => record !== undefined)
        .sort((a, b) => (a.id < b.id ? 1 : -1));
    },
  };
}
