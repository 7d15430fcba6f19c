import Type, { type TObject, type TSchema } from 'typebox';
import { TimeSlice } from '../../lib/async/slice-lane.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Operation, OperationRequest, OperationResult } from '../../resources/operation.ts';
import type { SharedPorts } from '../../resources/shared-ports.ts';
import { API_LANE } from '../api-lane.ts';
import { longAnswer } from '../long-answer.ts';
import { compileFilter, type ItemFilter } from './compile-filter.ts';

const MAX_FILTER_LENGTH = 1_024;
const PAGE_SIZE = 100;
/** A request looks at this many items at most: then it returns what it found, and where to continue. */
const MAX_SCANNED = 10_000;

const filterParameter = Type.Optional(
  Type.String({
    maxLength: MAX_FILTER_LENGTH,
    description:
      'Only results for which this CEL expression over `obj` is true, such as `obj.metadata == "prod" && obj.created_at > timestamp("2026-11-01T00:00:00Z")`. A page can have fewer results than `limit`, or none, and still a next page.',
  }),
);

/** A list that can be filtered by an expression over what it shows. Without a filter it runs as it is. */
export function filteredList<Ports extends Pick<SharedPorts, 'clock'>>(operation: Operation<Ports>): Operation<Ports> {
  const { properties = {} } = operation.query ?? {};
  const [listKey, list] = listIn(operation.success.schema as TObject);
  const cursor = Object.keys(properties).find((name) => name.startsWith('before_'));
  const query = Type.Object({ ...properties, filter: filterParameter }, { additionalProperties: false });
  const errors = [...new Set([...operation.errors, 'ERR_POSTERN_INVALID_QUERY' as const])];
  return {
    ...operation,
    query,
    errors,
    run: async (request, ports) => {
      const { filter, ...others } = request.query;
      if (filter === undefined) return serialized(await operation.run(request, ports), listKey);
      const source = { operation, listKey, cursor, request: { ...request, query: others }, ports };
      const matches = await compileFilter(filter, list.items, ports.clock.nowMs());
      return serialized(await scan(source, matches, filter), listKey);
    },
  };
}

/** An item may have 512 KiB. */
async function serialized(result: OperationResult, listKey: string): Promise<OperationResult> {
  return result.body === null ? result : { ...result, ...(await longAnswer(result.body, listKey)) };
}

interface Source<Ports> {
  readonly operation: Operation<Ports>;
  readonly listKey: string;
  /** Name of the query parameter that continues the list; undefined if it has one page. */
  readonly cursor: string | undefined;
  readonly request: OperationRequest;
  readonly ports: Ports;
}

async function scan<Ports>(source: Source<Ports>, matches: ItemFilter, filter: string): Promise<OperationResult> {
  const { listKey, cursor, request } = source;
  const limit = Number(request.query['limit'] ?? PAGE_SIZE);
  const slice = new TimeSlice(API_LANE);
  const found: JsonObject[] = [];
  let from = cursor === undefined ? undefined : request.query[cursor];
  for (let scanned = 0; ; ) {
    const body = await readPage(source, from);
    const answer = (next: string | undefined): OperationResult => ({
      body: { ...body, [listKey]: found, ...('next_page_uri' in body && { next_page_uri: pageUri(next) }) },
    });
    const pageUri = (next: string | undefined): string | null =>
      next === undefined ? null : continued(source, body['uri'] as string, { filter, limit, next });
    for (const item of body[listKey] as readonly JsonObject[]) {
      if (slice.isOver) await slice.next();
      if (!matches(item)) continue;
      // One more than fit: the list goes on after the last that does.
      if (cursor !== undefined && found.length === limit) return answer(placeOf(found.at(-1), cursor));
      found.push(item);
    }
    scanned += PAGE_SIZE;
    from = cursor === undefined ? undefined : nextPlace(body, cursor);
    if (from === undefined || scanned >= MAX_SCANNED) return answer(from);
  }
}

async function readPage<Ports>(
  { operation, cursor, request, ports }: Source<Ports>,
  from: string | undefined,
): Promise<JsonObject> {
  const paging = cursor !== undefined && { limit: String(PAGE_SIZE), ...(from !== undefined && { [cursor]: from }) };
  const { body } = await operation.run({ ...request, query: { ...request.query, ...paging } }, ports);
  return body ?? {};
}

/** `before_id` continues after an id, `before_revision` after a revision. */
function placeOf(item: JsonObject | undefined, cursor: string): string {
  return String(item?.[cursor.slice('before_'.length)] as string | number);
}

function nextPlace({ next_page_uri: uri }: JsonObject, cursor: string): string | undefined {
  return typeof uri === 'string' ? (new URL(uri).searchParams.get(cursor) ?? undefined) : undefined;
}

function continued(
  { cursor = '', request }: Pick<Source<never>, 'cursor' | 'request'>,
  uri: string,
  { filter, limit, next }: { readonly filter: string; readonly limit: number; readonly next: string },
): string {
  const parameters = new URLSearchParams({ ...request.query, filter, limit: String(limit), [cursor]: next });
  return `${uri}?${parameters.toString()}`;
}

function listIn(schema: TObject): readonly [string, { readonly items: TSchema }] {
  const lists = Object.entries(schema.properties).filter(([, field]) => 'items' in field);
  const [first] = lists;
  if (first === undefined) throw new Error('a list operation without a list in its response');
  return first as [string, { items: TSchema }];
}
