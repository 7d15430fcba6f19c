import type { JsonObject } from '../../src/kit/json.ts';
import type { Random } from '../support/random.ts';
import type { DocumentChange, Ledger } from './ledger.ts';
import { type ModuleWrite, moduleWrite } from './module-writes.ts';
import { COLLECTIONS, idIn, kindIn } from './rendered-documents.ts';

/** One request, and its effect if it is applied. */
export interface PlannedWrite {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: JsonObject;
  /** The `description` of the created resource; null when nothing is created. */
  readonly marker: string | null;
  readonly changes: readonly DocumentChange[];
  /** Error codes for conflicts that others may have caused in the meantime. */
  readonly refusals: readonly string[];
  /** Edge, backend, policy or subscription of the write; null if it does not exist yet. */
  readonly root: string | null;
}

export interface Workload {
  readonly writer: string;
  readonly ledger: Ledger;
  readonly random: Random;
  /** Roots with an unanswered write. */
  readonly open: ReadonlySet<string>;
  newMarker(): string;
}

export type Plan = (workload: Workload) => PlannedWrite | null;

/** The resource of a write. */
export interface Address {
  readonly id: string;
  readonly path: string;
  readonly root: string;
}

/** A reference that was deleted in the meantime. */
export const REFERENCE_GONE = ['ERR_POSTERN_UNKNOWN_REFERENCE'];
export const STILL_IN_USE = ['ERR_POSTERN_IN_USE'];
export const MOST_OF_A_KIND = 6;

export function create(
  kind: string,
  path: string,
  own: JsonObject,
  state: JsonObject,
  modules: readonly ModuleWrite[],
  { marker, refusals }: { readonly marker: string; readonly refusals: readonly string[] },
): PlannedWrite {
  return {
    method: 'POST',
    path,
    body: { ...own, ...Object.fromEntries(modules.map(({ name, body }) => [name, body])) },
    marker,
    changes: [
      { kind, id: null, state },
      ...modules.map((module) => ({ kind: `${kind}.${module.name}`, id: null, state: module.state })),
    ],
    refusals,
    root: null,
  };
}

export function patch(
  workload: Workload,
  { kind, id, path, root }: Address & { readonly kind: string },
  moduleNames: readonly string[],
): PlannedWrite {
  const { random, ledger } = workload;
  const own = { metadata: random.text(100) };
  const modules = inline(moduleNames, workload);
  return {
    method: 'PATCH',
    path,
    body: { ...own, ...Object.fromEntries(modules.map(({ name, body }) => [name, body])) },
    marker: null,
    changes: [
      { kind, id, state: { ...ledger.get(kind, id), ...own } },
      ...modules.map((module) => ({ kind: `${kind}.${module.name}`, id, state: module.state })),
    ],
    refusals: REFERENCE_GONE,
    root,
  };
}

export function remove({ ledger }: Workload, { id, path, root }: Address, refusals: readonly string[]): PlannedWrite {
  const changes = ledger.below(id).map((key) => ({ kind: kindIn(key), id: idIn(key), state: null }));
  return { method: 'DELETE', path, marker: null, changes, refusals, root };
}

export function inline(names: readonly string[], { ledger, random }: Workload): ModuleWrite[] {
  const chosen = names.filter(() => random.isChosen(0.4));
  return chosen.map((name) => moduleWrite(name, ledger, random)).filter((write) => write !== null);
}

/** What this writer created, by its `description`, without roots that have an unanswered write. */
export function owned({ ledger, writer, open }: Workload, kinds: readonly string[]): string[] {
  return [...ledger.documents]
    .filter(([key, state]) => kinds.includes(kindIn(key)) && isMadeBy(writer, state))
    .map(([key]) => idIn(key))
    .filter((id) => !open.has(id));
}

function isMadeBy(writer: string, { description }: JsonObject): boolean {
  return typeof description === 'string' && description.startsWith(`${writer} `);
}

export function pathOf(kind: string): string {
  const collection = COLLECTIONS.find((each) => each.kind === kind);
  if (collection === undefined) throw new Error(`${kind} is not listed`);
  return collection.path;
}
