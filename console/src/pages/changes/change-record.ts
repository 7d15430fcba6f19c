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
  readonly confirm_by?: string | null;
}

export function authorText({ author }: Change): string {
  if (author.kind === 'server') return 'the server';
  return author.address === null ? author.id : `${author.id} from ${author.address}`;
}

export function objectText({ kind, module, change }: ChangedObject): string {
  const what = kind.replaceAll('_', ' ');
  return module === undefined ? `${what} ${change}` : `${module} of ${what} ${change}`;
}

/** "https edge created", or the first one and how many more. */
export function summaryOf(change: Change): string {
  const first = change.objects?.[0];
  if (first === undefined) return `${change.count} documents`;
  return change.count > 1 ? `${objectText(first)} and ${change.count - 1} more` : objectText(first);
}
