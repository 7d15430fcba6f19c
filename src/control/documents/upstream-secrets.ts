import type { JsonObject } from '../../kit/json.ts';
import { withDefaults } from '../../kit/schema/with-defaults.ts';
import { type EarlierDocument, earlierDocuments, PENDING_CHANGE } from '../../store/own-records.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Expectation, RecordKey, RecordPut, StoredRecord, WriteSet } from '../../store/store.ts';
import { refuseWithout } from '../resources/errors.ts';
import type { Principal } from '../resources/operation.ts';
import { canReadSecrets, READ_SECRETS } from '../resources/scopes.ts';
import { type Catalog, type CompiledModule, ownerIdOf } from './catalog.ts';
import { overlay } from './change-events.ts';
import type { DocumentsContext } from './documents-context.ts';
import type { PlacedPut } from './record-puts.ts';
import { refusalError } from './refusal-error.ts';

/** The modules of one kind of owner: those with secrets for the upstream, and those that choose it. */
interface Carriers {
  readonly secret: readonly CompiledModule[];
  readonly choosing: readonly CompiledModule[];
}

type SecretPut = RecordPut & Pick<PlacedPut, 'sentSecrets'>;

interface WrittenSecrets extends WriteSet {
  readonly puts?: readonly SecretPut[];
}

export interface SecretMove {
  readonly principal: Principal;
  /** Secrets of the write come from the history: the caller has not sent them. */
  readonly isRestored?: boolean;
  /** The state that the write is compared with, if it is not the current one. */
  readonly from?: RecordReader;
}

/**
 * Decision 4 for secrets whose destination is in other documents: the headers of a route go to the upstreams of its
 * backend. A caller that cannot read them must not give the route another backend, nor a backend another address. A
 * secret that this write itself sets may go anywhere. Returns everything that decided where the secrets go: the store
 * has to expect it, or two writes at the same time, each harmless alone, would move a secret together.
 */
export function refuseMovedSecrets(
  writeSet: WrittenSecrets,
  { principal, isRestored = false, from: earlier }: SecretMove,
  context: Pick<DocumentsContext, 'catalog'> & { readonly replica: RecordReader },
): readonly Expectation[] {
  const puts = writeSet.puts ?? [];
  if (puts.length === 0 || canReadSecrets(principal)) return [];
  const { replica, catalog } = context;
  const before = earlier ?? replica;
  const carriers = carriersOf(catalog);
  const after = overlay(before, writeSet);
  const read = new ReadRecords(replica);
  const was = new Destinations(read.noting(before), catalog);
  const willBe = new Destinations(read.noting(after), catalog);
  const isMoved = (put: RecordPut): boolean =>
    isBackend(put.kind, catalog) && !isWithin(willBe.of(put.id), was.of(put.id));
  const backends = puts.some(isMoved);
  for (const [ownerKind, { secret, choosing }] of carriers) {
    const kinds = new Set([...secret, ...choosing].map(({ kind }) => kind));
    const written = new Set(puts.flatMap(({ kind, parent }) => (kinds.has(kind) && parent !== null ? [parent] : [])));
    for (const module of secret) {
      const owners = backends ? ownersOf(module, after, written) : written;
      for (const ownerId of owners) {
        const key = module.keyOn(ownerId);
        const record = after.get(key.kind, key.id);
        const stored = before.get(key.kind, key.id);
        if (written.has(ownerId)) read.note(key);
        const kept =
          record === undefined ? [] : keptSecrets(module, record, { stored, isRestored, sent: sentIn(puts, key) });
        if (kept.length === 0) continue;
        const [from, to] = [was, willBe].map((each) => each.ofOwner(ownerId, choosing)) as [Places, Places];
        const isNew = isRestored && !isSameSecret(kept, record, stored);
        if (isWithin(to, isNew ? NOWHERE : from)) continue;
        refuseWithout({
          scope: READ_SECRETS,
          message: `the change would send a secret header of ${ownerKind.replaceAll('_', ' ')} ${ownerId} (${module.module.name}${kept[0]?.replaceAll('/', '.') ?? ''}) to another upstream, and this API key lacks the scope "${READ_SECRETS}": use a key that has it, or first send the secret again or remove it`,
        });
      }
    }
  }
  return read.asSeen();
}

/** Notes what is read, with the revisions of one state. */
class ReadRecords {
  readonly #state: Pick<RecordReader, 'get'>;
  readonly #read = new Map<string, Expectation>();

  constructor(state: Pick<RecordReader, 'get'>) {
    this.#state = state;
  }

  noting(reader: Pick<RecordReader, 'get'>): Pick<RecordReader, 'get'> {
    return {
      get: (kind, id) => {
        this.note({ kind, id });
        return reader.get(kind, id);
      },
    };
  }

  note({ kind, id }: RecordKey): void {
    const key = `${kind} ${id}`;
    if (this.#read.has(key)) return;
    this.#read.set(key, { kind, id, revision: this.#state.get(kind, id)?.revision ?? 'absent' });
  }

  asSeen(): readonly Expectation[] {
    return [...this.#read.values()];
  }
}

/** Kinds that say where secrets for upstreams are, and where they go. */
export function secretRouteKinds(catalog: Catalog): readonly string[] {
  const modules = [...carriersOf(catalog).values()].flatMap(({ secret, choosing }) => [...secret, ...choosing]);
  const backends = [...catalog.compiled.keys()].filter((kind) => isBackend(kind, catalog));
  return [...new Set([...modules.map(({ kind }) => kind), ...backends])];
}

/**
 * The same for the state to which a change that waits returns: its revert must not send a secret to a place that only a
 * later write chose. Nobody may make such a write (decision 51), which needs no rights while the secret is away.
 * Returns what the store has to expect: no other change began to wait meanwhile.
 */
export function holdSecretsOfRevert(
  writeSet: WrittenSecrets,
  context: Pick<DocumentsContext, 'catalog' | 'replica'>,
): readonly Expectation[] {
  const { replica: before, catalog } = context;
  const kinds = secretRouteKinds(catalog);
  const puts = (writeSet.puts ?? []).filter(({ kind }) => kinds.includes(kind));
  const [put] = puts;
  if (put === undefined) return [];
  const pending = before.get(PENDING_CHANGE.kind, PENDING_CHANGE.id);
  const expected: Expectation = { ...PENDING_CHANGE, revision: pending?.revision ?? 'absent' };
  if (pending === undefined || !isArmedByRevert(puts, overlay(before, writeSet), { before, catalog }))
    return [expected];
  const { kind, id } = put;
  throw refusalError({ reason: 'change_pending', revision: pending.revision, key: { kind, id } }, {}, context);
}

function isArmedByRevert(
  puts: readonly SecretPut[],
  after: RecordReader,
  { before, catalog }: { readonly before: RecordReader; readonly catalog: Catalog },
): boolean {
  const earlier = earlierDocuments(before);
  const reverted = (reader: RecordReader) => new Destinations(withEarlier(reader, earlier), catalog);
  const [wouldBe, willBe, afterwards] = [reverted(before), new Destinations(after, catalog), reverted(after)];
  const hasBackend = puts.some(({ kind }) => isBackend(kind, catalog));
  const written = puts.flatMap(({ parent }) => parent ?? []);
  const isArmed = (module: CompiledModule, choosing: readonly CompiledModule[], ownerId: string): boolean => {
    const key = module.keyOn(ownerId);
    const isHeld = earlier.get(`${key.kind} ${key.id}`)?.has_secrets === true;
    const record = after.get(key.kind, key.id);
    const stored = before.get(key.kind, key.id);
    const secrets =
      record === undefined ? [] : keptSecrets(module, record, { stored, isRestored: true, sent: NOWHERE });
    if (!isHeld && secrets.length === 0) return false;
    const sent = sentIn(puts, key);
    const isSent = secrets.some((pointer) => sent.has(pointer));
    const isNew = secrets.length > 0 && (isSent || !isSameSecret(secrets, record, stored));
    const allowed = [...(isHeld || !isNew ? [wouldBe] : []), ...(isHeld ? [] : [willBe])];
    const places = new Set(allowed.flatMap((each) => [...each.ofOwner(ownerId, choosing)]));
    return !isWithin(afterwards.ofOwner(ownerId, choosing), places);
  };
  return [...carriersOf(catalog).values()].some(({ secret, choosing }) =>
    secret.some((module) => {
      const held = [...earlier.values()].flatMap(({ kind, id }) => (kind === module.kind ? [ownerIdOf(id)] : []));
      const owners = hasBackend ? new Set([...ownersOf(module, after, written), ...held]) : new Set(written);
      return [...owners].some((ownerId) => isArmed(module, choosing, ownerId));
    }),
  );
}

/** As a revert would leave the records: it restores all that the change remembers. */
function withEarlier(reader: RecordReader, earlier: ReadonlyMap<string, EarlierDocument>): Pick<RecordReader, 'get'> {
  return {
    get: (kind, id) => {
      const document = earlier.get(`${kind} ${id}`);
      if (document === undefined) return reader.get(kind, id);
      return { kind, id, parent: null, revision: 0, doc: document.doc, secrets: null };
    },
  };
}

type Places = ReadonlySet<string>;
const NOWHERE: Places = new Set();

function isWithin(places: Places, others: Places): boolean {
  for (const place of places) if (!others.has(place)) return false;
  return true;
}

interface KeptBy {
  readonly stored: StoredRecord | undefined;
  readonly isRestored: boolean;
  readonly sent: ReadonlySet<string>;
}

function sentIn(puts: readonly SecretPut[], { kind, id }: RecordKey): ReadonlySet<string> {
  return new Set(puts.find((put) => put.kind === kind && put.id === id)?.sentSecrets);
}

/** Set, and not given by this write: the value is the stored one, or comes from the history. */
function keptSecrets(
  { secretFields }: CompiledModule,
  record: StoredRecord,
  { stored, isRestored, sent }: KeptBy,
): readonly string[] {
  const pointers = secretFields.filter(({ isForUpstream }) => isForUpstream).map(({ pointer }) => pointer);
  return pointers.filter((pointer) => {
    const value = record.secrets?.[pointer];
    if (value === undefined || value === '""' || sent.has(pointer)) return false;
    return isRestored || value === stored?.secrets?.[pointer];
  });
}

function isSameSecret(pointers: readonly string[], one: StoredRecord | undefined, other: StoredRecord | undefined) {
  return pointers.every((pointer) => one?.secrets?.[pointer] === other?.secrets?.[pointer]);
}

/** Everything with secrets in this module: a backend may serve any of them, through others. */
function ownersOf(module: CompiledModule, reader: RecordReader, written: Iterable<string>): ReadonlySet<string> {
  const all = reader.page(module.kind, { beforeId: null, limit: Number.MAX_SAFE_INTEGER });
  return new Set([...written, ...all.flatMap(({ id, secrets }) => (secrets === null ? [] : [ownerIdOf(id)]))]);
}

/** Where requests go, in one state of the records. */
class Destinations {
  readonly #reader: Pick<RecordReader, 'get'>;
  readonly #catalog: Catalog;
  readonly #known = new Map<string, Places>();

  constructor(reader: Pick<RecordReader, 'get'>, catalog: Catalog) {
    this.#reader = reader;
    this.#catalog = catalog;
  }

  ofOwner(ownerId: string, choosing: readonly CompiledModule[]): Places {
    const places = choosing.flatMap((module) => {
      const key = module.keyOn(ownerId);
      const doc = this.#reader.get(key.kind, key.id)?.doc;
      // Also of a module that is switched off: it takes one write to switch it on.
      return doc === undefined ? [] : backendIdsIn(module, doc, this.#catalog).flatMap((id) => [...this.of(id)]);
    });
    return new Set(places);
  }

  of(backendId: string): Places {
    const known = this.#known.get(backendId);
    if (known !== undefined) return known;
    // Backends in a circle, which the store refuses, end here.
    this.#known.set(backendId, NOWHERE);
    const kind = this.#catalog.kindOfId(backendId);
    if (kind === null) return NOWHERE;
    const doc = this.#reader.get(kind, backendId)?.doc;
    const compiled = this.#catalog.compiled.get(kind);
    const next = doc && compiled?.resource.sendsTo?.(withDefaults(compiled.config, doc) as never);
    const places = new Set(next && [...next.places, ...next.ids.flatMap((id) => [...this.of(id)])]);
    this.#known.set(backendId, places);
    return places;
  }
}

function backendIdsIn({ referenceFields }: CompiledModule, doc: JsonObject, catalog: Catalog): readonly string[] {
  return referenceFields
    .filter(({ kinds, lists }) => lists.length === 0 && kinds.some((kind) => isBackend(kind, catalog)))
    .flatMap(({ name }) => (typeof doc[name] === 'string' ? [doc[name]] : []));
}

function isBackend(kind: string, { compiled }: Catalog): boolean {
  return compiled.get(kind)?.resource.sendsTo !== undefined;
}

const known = new WeakMap<Catalog, ReadonlyMap<string, Carriers>>();

function carriersOf(catalog: Catalog): ReadonlyMap<string, Carriers> {
  const made = known.get(catalog) ?? findCarriers(catalog);
  known.set(catalog, made);
  return made;
}

function findCarriers(catalog: Catalog): ReadonlyMap<string, Carriers> {
  const found = new Map<string, Carriers>();
  for (const [kind, { modules }] of catalog.compiled) {
    const secret = modules.filter(({ secretFields }) => secretFields.some((field) => field.isForUpstream));
    const choosing = modules.filter(({ referenceFields }) =>
      referenceFields.some(({ kinds }) => kinds.some((each) => isBackend(each, catalog))),
    );
    if (secret.length > 0) found.set(kind, { secret, choosing });
  }
  return found;
}
