import type { Transport } from '../../client/transport.ts';
import { usage } from '../../lib/flags.ts';
import type { JsonObject } from '../../lib/json.ts';

export interface Author {
  readonly id: string;
  /** What people call it; empty: it has no name. */
  readonly name: string;
  readonly address: string | null;
  readonly via: string;
}

export interface ChangedObject {
  readonly kind: string;
  readonly module?: string;
  readonly id: string;
  /** What people call it; empty: it has no name. */
  readonly name: string;
  readonly change: 'created' | 'updated' | 'deleted';
}

export interface ChangedDocument extends ChangedObject {
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
  /** Pointers to fields. */
  readonly changed_secrets: readonly string[];
}

/** A change as the API shows it. */
export interface Change<T extends ChangedObject = ChangedObject> {
  readonly revision: number;
  readonly at: string;
  readonly author: Author;
  readonly message: string;
  readonly count: number;
  /** Until when it must be confirmed; null if it does not wait for that. */
  readonly confirm_by: string | null;
  readonly objects: readonly T[];
}

/** The change that waits for its confirmation. */
export interface PendingChange {
  readonly revision: number;
  readonly confirm_by: string;
}

export function pendingText({ revision, confirm_by }: PendingChange): string {
  return `revision ${revision} is reverted at ${confirm_by} unless you confirm it: postern confirm ${revision}`;
}

export async function readChange(
  transport: Transport,
  revision: number,
): Promise<{ readonly text: string; readonly change: Change<ChangedDocument> }> {
  const { text } = await transport.send({ method: 'GET', path: `/changes/${revision}` });
  return { text, change: JSON.parse(text) as Change<ChangedDocument> };
}

export function authorText({ id, name }: Author): string {
  return [name, id].find((text) => text !== '') ?? 'server';
}

/** By its name where it has one. */
export function namedText({ kind, module, id, name }: ChangedObject): string {
  const called = `${kind} ${name === '' ? id : name}`;
  return module === undefined ? called : `${module} of ${called}`;
}

/** With its id, which other commands take too. */
export function objectText(object: ChangedObject): string {
  return object.name ? `${namedText(object)} (${object.id})` : namedText(object);
}

/** The one argument of a command about one change. */
export function revisionArgument(positionals: readonly string[], command: string): number {
  const [revision = '', ...others] = positionals;
  if (others.length === 0 && /^[1-9]\d{0,14}$/.test(revision)) return Number(revision);
  throw usage(`${command} takes one revision, such as ${command} 42: postern changes lists the revisions`);
}
