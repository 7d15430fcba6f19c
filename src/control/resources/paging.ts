import type { TProperties, TString } from 'typebox';
import Type from 'typebox';
import { KSUID_PATTERN } from '../../kit/text/ksuid.ts';

const MAX_LIMIT = 100;

/** A query parameter for an id of one kind. */
export function idParameter(prefixes: string | readonly string[], description: string): TString {
  const [first = '', ...others] = [prefixes].flat();
  const shown = [first, ...others].map((prefix) => `"${prefix}_"`).join(' or ');
  return Type.String({
    pattern: `^${others.length === 0 ? first : `(${[first, ...others].join('|')})`}_${KSUID_PATTERN}$`,
    description: `${description} An id: ${shown} and 27 letters and digits.`,
  });
}

/** Query parameters of a list of resources with this prefix. */
export function pagingQuery(idPrefix: string): TProperties {
  return {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_LIMIT,
        description: `Maximum number of results, 1 to ${MAX_LIMIT}. Default: ${MAX_LIMIT}.`,
      }),
    ),
    before_id: Type.Optional(
      idParameter(idPrefix, 'Only resources older than this one, even if it was deleted since.'),
    ),
  };
}

interface Page {
  readonly beforeId: string | null;
  readonly limit: number;
}

/** The query has passed its schema. */
export function pageOf({ limit, before_id: beforeId }: Readonly<Record<string, string>>): Page {
  return { beforeId: beforeId ?? null, limit: limit === undefined ? MAX_LIMIT : Number(limit) };
}

/** Keeps the filters, so that a client can follow it verbatim. */
export function nextPageUri(
  listUri: string,
  query: Readonly<Record<string, string>>,
  limit: number,
  lastId: string,
): string {
  const { limit: _limit, before_id: _beforeId, ...filters } = query;
  const parameters = new URLSearchParams({ ...filters, before_id: lastId, limit: String(limit) });
  return `${listUri}?${parameters.toString()}`;
}

const PAGE_SIZE = 1000;

/** Reads a paged list to its end. */
export async function allPages<Item extends { readonly id: string }>(
  readPage: (query: { readonly beforeId: string | null; readonly limit: number }) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  let beforeId: string | null = null;
  while (true) {
    const page: readonly Item[] = await readPage({ beforeId, limit: PAGE_SIZE });
    items.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_SIZE) return items;
    beforeId = last.id;
  }
}
