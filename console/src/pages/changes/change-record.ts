import type { Document } from '../../api/use-pages.ts';
import { documentName } from '../../schema/document-name.ts';
import { typeOfKind } from '../../schema/resource-types.ts';

export interface ChangedObject {
  readonly kind: string;
  readonly module?: string;
  readonly id: string;
  /** Empty: it has none. */
  readonly name?: string;
  readonly change: 'created' | 'updated' | 'deleted';
  readonly before: unknown;
  readonly after: unknown;
  readonly changed_secrets: readonly string[];
}

export interface Change {
  readonly revision: number;
  readonly at: string;
  readonly author: {
    readonly kind: string;
    readonly id: string;
    readonly name?: string;
    readonly issuer?: string | null;
    readonly subject?: string;
    readonly address: string | null;
    readonly via: string;
  };
  readonly message: string;
  readonly count: number;
  /** Why there is nothing to undo; null: there is something. Lists, and older servers, do not have it. */
  readonly cannot_undo?: string | null;
  readonly objects?: readonly ChangedObject[];
}

export function objectText({ kind, module, change }: ChangedObject): string {
  const type = typeOfKind(kind);
  const what = type?.title ?? kind.replaceAll('_', ' ');
  if (module === undefined) return `${what} ${change}`;
  const title = type?.modules.find(({ name }) => name === module)?.title ?? module;
  return `${title} module ${change}`;
}

/** A person whose passkeys are gone. */
export function isDeletedAccount({ kind, change }: ChangedObject): boolean {
  return kind === 'user_account' && change === 'deleted';
}

/** What people call it, as it was after the change. A module has no name of its own. */
export function objectName({ id, module, before, after }: ChangedObject): string {
  return module === undefined ? documentName({ ...((after ?? before ?? {}) as Document), id }) : id;
}

/** "wiki.example.com: HTTPS edge created", or the first one and how many more. */
export function summaryOf(change: Change): string {
  const first = change.objects?.[0];
  if (first === undefined) return `${change.count} documents`;
  // What people know has a name: a backend that came with a site has none.
  const named = change.objects?.find(({ name = '' }) => name !== '') ?? first;
  const text = named.name ? `${named.name}: ${objectText(named)}` : objectText(named);
  return change.count > 1 ? `${text} and ${change.count - 1} more` : text;
}
