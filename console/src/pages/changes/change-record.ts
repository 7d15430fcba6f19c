import { typeOfKind } from '../../schema/resource-types.ts';

export interface ChangedObject {
  readonly kind: string;
  readonly module?: string;
  readonly id: string;
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
    readonly address: string | null;
    readonly via: string;
  };
  readonly message: string;
  readonly count: number;
  readonly objects?: readonly ChangedObject[];
}

/** `names`: descriptions of API keys by id. */
export function authorText({ author }: Change, names: ReadonlyMap<string, string>): string {
  if (author.kind === 'server') return 'the server';
  const name = names.get(author.id) ?? author.id;
  return author.address === null ? name : `${name} from ${author.address}`;
}

export function objectText({ kind, module, change }: ChangedObject): string {
  const type = typeOfKind(kind);
  const what = type?.title ?? kind.replaceAll('_', ' ');
  if (module === undefined) return `${what} ${change}`;
  const title = type?.modules.find(({ name }) => name === module)?.title ?? module;
  return `${title} module ${change}`;
}

/** "https edge created", or the first one and how many more. */
export function summaryOf(change: Change): string {
  const first = change.objects?.[0];
  if (first === undefined) return `${change.count} documents`;
  return change.count > 1 ? `${objectText(first)} and ${change.count - 1} more` : objectText(first);
}
