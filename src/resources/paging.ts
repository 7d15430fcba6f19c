import Type, { type TProperties, type TString } from 'typebox';
import { KSUID_PATTERN } from '../lib/text/ksuid.ts';

const MAX_LIMIT = 100;

/** A query parameter for an id of one kind. */
export function idParameter(prefix: string, description: string): TString {
  return Type.String({
    pattern: `^${prefix}_${KSUID_PATTERN}$`,
    description: `${description} An id: "${prefix}_" and 27 letters and digits.`,
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

export interface Page {
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
