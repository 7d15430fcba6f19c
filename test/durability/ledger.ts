import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../src/kit/json.ts';
import { type DocumentKey, idIn, keyOf, kindIn } from './rendered-documents.ts';

/** The effect of a write on one document. */
export interface DocumentChange {
  readonly kind: string;
  /** null: the id that the server assigns to what this write creates. */
  readonly id: string | null;
  /** null: deleted. Fields that only the server knows (id, times) may be absent. */
  readonly state: JsonObject | null;
}

export interface UnansweredWrite {
  /** For messages. */
  readonly title: string;
  /** The `description` of the created resource, which identifies it; null when nothing is created. */
  readonly marker: string | null;
  readonly changes: readonly DocumentChange[];
}

export interface Settlement {
  readonly problems: readonly string[];
  /** The unanswered writes that turned out to be applied. */
  readonly applied: readonly UnansweredWrite[];
  readonly unanswered: number;
}

/**
 * Compares the writers' responses with the stored state.
 *
 * A document is settled (its last write was answered) or open (one of its writes had no response). An open one is not
 * written again before `settle`, so an unanswered write is either completely there, or everything that it touches is
 * unchanged.
 */
export class Ledger {
  #settled = new Map<DocumentKey, JsonObject>();
  #unanswered: UnansweredWrite[] = [];

  get documents(): ReadonlyMap<DocumentKey, JsonObject> {
    return this.#settled;
  }

  get(kind: string, id: string): JsonObject | null {
    return this.#settled.get(keyOf(kind, id)) ?? null;
  }

  acknowledge(key: DocumentKey, state: JsonObject | null): void {
    if (state === null) this.#settled.delete(key);
    else this.#settled.set(key, state);
  }

  leaveOpen(write: UnansweredWrite): void {
    this.#unanswered.push(write);
  }

  /** The record's modules and dependents. */
  below(id: string): DocumentKey[] {
    const own = [...this.#settled].filter(([key, state]) => idIn(key) === id || parentOf(state) === id);
    return own.flatMap(([key]) =>
      idIn(key) === id ? [key] : [key, ...this.below(idIn(key)).filter((each) => each !== key)],
    );
  }

  settle(observed: ReadonlyMap<DocumentKey, JsonObject>): Settlement {
    const problems: string[] = [];
    const applied: UnansweredWrite[] = [];
    const expected = new Map(this.#settled);
    for (const write of this.#unanswered) {
      const changes = resolved(write, observed, expected, problems);
      if (changes === null) continue;
      const isApplied = changes.every(([key, state]) => isAsExpected(observed.get(key) ?? null, state));
      const isUntouched = changes.every(([key]) =>
        isDeepStrictEqual(observed.get(key) ?? null, expected.get(key) ?? null),
      );
      if (!isApplied && !isUntouched) problems.push(`half applied: ${write.title}: ${described(changes, observed)}`);
      if (isApplied && !isUntouched) applied.push(write);
      // Either way, this is the state from now on.
      for (const [key] of changes) copyEntry(observed, expected, key);
    }
    for (const [key, state] of expected) {
      const found = observed.get(key);
      if (found === undefined) problems.push(`lost: ${key}, acknowledged as ${JSON.stringify(state)}`);
      else if (!isDeepStrictEqual(found, state))
        problems.push(`changed: ${key} is ${JSON.stringify(found)}, acknowledged as ${JSON.stringify(state)}`);
    }
    for (const [key, state] of observed) {
      if (!expected.has(key)) problems.push(`from nowhere, or deleted and back: ${key} ${JSON.stringify(state)}`);
    }
    const unanswered = this.#unanswered.length;
    this.#settled = new Map(observed);
    this.#unanswered = [];
    return { problems, applied, unanswered };
  }
}

/** Every expected field is present with exactly that value. */
export function isAsExpected(found: JsonObject | null, expected: JsonObject | null): boolean {
  if (found === null || expected === null) return found === expected;
  return Object.entries(expected).every(([name, value]) => isDeepStrictEqual(found[name], value));
}

/** The changes with the server's ids; null for a create that did not happen. */
function resolved(
  { title, marker, changes }: UnansweredWrite,
  observed: ReadonlyMap<DocumentKey, JsonObject>,
  known: ReadonlyMap<DocumentKey, JsonObject>,
  problems: string[],
): [DocumentKey, JsonObject | null][] | null {
  if (marker === null) return changes.map(({ kind, id, state }) => [keyOf(kind, id ?? ''), state]);
  const kind = changes[0]?.kind ?? '';
  const made = [...observed].filter(([key, state]) => kindIn(key) === kind && state['description'] === marker);
  const [first, second] = made.filter(([key]) => !known.has(key));
  if (first === undefined) return null;
  if (second !== undefined) problems.push(`made twice: ${title}`);
  const id = idIn(first[0]);
  const planned = new Map(changes.map((change) => [keyOf(change.kind, id), change.state]));
  // A module that nobody requested would be half of another write.
  for (const key of observed.keys()) if (idIn(key) === id && !planned.has(key)) planned.set(key, null);
  return [...planned];
}

function parentOf(state: JsonObject): unknown {
  const policy = state['ip_policy'] as { readonly id?: unknown } | null | undefined;
  return state['edge_id'] ?? policy?.id;
}

function described(
  changes: readonly [DocumentKey, JsonObject | null][],
  observed: ReadonlyMap<DocumentKey, JsonObject>,
): string {
  return changes
    .map(([key, state]) => `${key} wanted ${JSON.stringify(state)}, is ${JSON.stringify(observed.get(key) ?? null)}`)
    .join('; ');
}

function copyEntry(from: ReadonlyMap<DocumentKey, JsonObject>, to: Map<DocumentKey, JsonObject>, key: DocumentKey) {
  const value = from.get(key);
  if (value === undefined) to.delete(key);
  else to.set(key, value);
}
