import Type, { type TProperties } from 'typebox';
import { resourceErrors } from './errors.ts';

const MAX_LIMIT = 100;

/** `beforeId` is how existing clients spell it. */
export const pagingQuery = {
  limit: Type.Optional(
    Type.String({ description: `At most this many, 1 to ${MAX_LIMIT}; ${MAX_LIMIT} when left out.` }),
  ),
  before_id: Type.Optional(
    Type.String({ description: 'Only what is older than this id. The resource itself may be gone.' }),
  ),
  beforeId: Type.Optional(Type.String({ description: 'Another spelling of before_id.' })),
} satisfies TProperties;

export interface Page {
  readonly beforeId: string | null;
  readonly limit: number;
}

export function pageOf(query: Readonly<Record<string, string>>): Page {
  const limit = query['limit'];
  if (limit !== undefined && limit !== '' && (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > MAX_LIMIT)) {
    throw resourceErrors.create('ERR_POSTERN_INVALID_QUERY', `limit must be a whole number from 1 to ${MAX_LIMIT}`, {
      details: { parameter: 'limit' },
    });
  }
  const { before_id: snake, beforeId: camel } = query;
  if (snake !== undefined && camel !== undefined && snake !== camel) {
    throw resourceErrors.create(
      'ERR_POSTERN_INVALID_QUERY',
      'before_id and beforeId say different things: send one of them',
      {
        details: { parameter: 'before_id' },
      },
    );
  }
  const beforeId = snake ?? camel ?? '';
  if (!/^[\w-]{0,64}$/.test(beforeId)) {
    throw resourceErrors.create('ERR_POSTERN_INVALID_QUERY', 'before_id must be an id that a list has returned', {
      details: { parameter: 'before_id' },
    });
  }
  return {
    beforeId: beforeId === '' ? null : beforeId,
    limit: limit === undefined || limit === '' ? MAX_LIMIT : Number(limit),
  };
}

/** Carries the filters along, so that a client can follow it verbatim. */
export function nextPageUri(
  listUri: string,
  query: Readonly<Record<string, string>>,
  limit: number,
  lastId: string,
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (name !== 'limit' && name !== 'before_id' && name !== 'beforeId') parameters.set(name, value);
  }
  parameters.set('before_id', lastId);
  parameters.set('limit', String(limit));
  return `${listUri}?${parameters.toString()}`;
}
