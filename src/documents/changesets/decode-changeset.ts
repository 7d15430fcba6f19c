import type { TObject } from 'typebox';
import { TimeSlice } from '../../lib/async/slice-lane.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { type BodyDecoder, createDecoder } from '../../lib/schema/decode-body.ts';
import { API_LANE } from '../api-lane.ts';
import { confirmWithinMs } from '../confirmation/confirm-within.ts';
import { invalidBody } from '../errors.ts';
import type { Changeset, ChangesetOperation } from './changesets.ts';
import type { Ownership } from './ownership.ts';

type List = readonly JsonValue[];

const ITEMS_PER_STEP = 100;

/** The body of a request by the names of this program. The schema checks its lists in slices. */
export function changesetDecoder(schema: TObject): (body: JsonObject) => Promise<Changeset> {
  const decoder = createDecoder(schema);
  const { maxItems = 0 } = schema.properties['operations'] as { maxItems?: number };
  return (body) => decodeChangeset(body, decoder, maxItems);
}

async function decodeChangeset(body: JsonObject, decoder: BodyDecoder, maxItems: number): Promise<Changeset> {
  const operations = listIn(body, 'operations', '/operations', maxItems);
  const claims = isJsonObject(body['owner']) ? listIn(body['owner'], 'claims', '/owner/claims', maxItems) : [];
  // Finds every problem except those in the rest of the two lists.
  const head = decoded(decoder, withFirstItems(body));
  const {
    expected_revision: expectedRevision = null,
    dry_run: isDryRun = false,
    message = '',
    confirm_within: confirmWithin,
  } = head;
  const owner = (head['owner'] ?? null) as JsonObject | null;
  return {
    operations: await inSteps(operations, (items, at) => operationsOf(decoder, items, at)),
    expectedRevision: expectedRevision as number | null,
    isDryRun: isDryRun as boolean,
    message: message as string,
    confirmWithinMs: confirmWithin === undefined ? null : confirmWithinMs(confirmWithin as string),
    ownership: owner && {
      name: owner['name'] as string,
      claims: await inSteps(claims, (items, at) => claimsOf(decoder, owner, items, at)),
      isTakeOver: owner['take_over'] === true,
    },
  };
}

/** Anything but a list is left to the schema. */
function listIn(object: JsonObject, name: string, path: string, maxItems: number): List {
  const value = object[name];
  if (!Array.isArray(value)) return [];
  if (value.length <= maxItems) return value;
  throw invalidBody([{ path, message: `must not have more than ${maxItems} items` }]);
}

function withFirstItems(body: JsonObject): JsonObject {
  const { operations, owner } = body;
  const first = (list: JsonValue | undefined): JsonValue | undefined =>
    Array.isArray(list) ? list.slice(0, ITEMS_PER_STEP) : list;
  return {
    ...body,
    ...(operations !== undefined && { operations: first(operations) as JsonValue }),
    ...(isJsonObject(owner) &&
      owner['claims'] !== undefined && { owner: { ...owner, claims: first(owner['claims']) as JsonValue } }),
  };
}

async function inSteps<Item>(
  list: List,
  decodeItems: (items: List, at: number) => readonly Item[],
): Promise<readonly Item[]> {
  const all: Item[] = [];
  const slice = new TimeSlice(API_LANE);
  for (let at = 0; at < list.length; at += ITEMS_PER_STEP) {
    all.push(...decodeItems(list.slice(at, at + ITEMS_PER_STEP), at));
    if (slice.isOver) await slice.next();
  }
  return all;
}

function operationsOf(decoder: BodyDecoder, items: List, at: number): readonly ChangesetOperation[] {
  const { operations } = decoded(decoder, { operations: items }, '/operations', at);
  const given = operations as unknown as readonly { method: string; path: string; body?: JsonObject | null }[];
  return given.map((operation) => ({ ...operation, body: operation.body ?? {} }));
}

function claimsOf(decoder: BodyDecoder, owner: JsonObject, items: List, at: number): Ownership['claims'] {
  const body = { operations: [], owner: { ...owner, claims: items } };
  return (decoded(decoder, body, '/owner/claims', at)['owner'] as unknown as Ownership).claims;
}

/** Problems with items of the list at `path` name their place in the whole list, of which `offset` were left out. */
function decoded(decoder: BodyDecoder, body: JsonObject, path = '', offset = 0): JsonObject {
  const result = decoder.decode(body);
  if (result.ok) return result.value;
  throw invalidBody(
    result.problems.map((problem) => {
      const [, index, rest] = /^\/(\d+)(.*)$/s.exec(problem.path.slice(path.length)) ?? [];
      return index === undefined || path === ''
        ? problem
        : { ...problem, path: `${path}/${Number(index) + offset}${rest ?? ''}` };
    }),
  );
}
