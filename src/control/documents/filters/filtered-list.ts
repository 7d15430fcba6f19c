import type { TObject, TOptional, TSchema, TString } from 'typebox';
import Type from 'typebox';
import { TimeSlice } from '../../../kit/async/slices.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { resourceErrors } from '../../resources/errors.ts';
import type { Operation, OperationRequest, OperationResult } from '../../resources/operation.ts';
import type { SharedPorts } from '../../resources/ports.ts';
import type { ResourcePorts } from '../../resources/registry.ts';
import { requireScopes } from '../../resources/scopes.ts';
import { API_QUEUE, longAnswer } from '../long-answer.ts';
import { FirstInOrder } from './first-in-order.ts';
import { compileFilter, type ItemFilter, type TextsOfId, textFilter } from './item-filter.ts';

const MAX_FILTER_LENGTH = 1_024;
const PAGE_SIZE = 100;
/** A request looks at this many items at most: then it returns what it found, and where to continue. */
const MAX_SCANNED = 10_000;
const MAX_TEXT = 200;
/** How many results there are in all, for a list with `q` or `order_by`. */
export const COUNT_HEADER = 'postern-count';

const textParameter = Type.Optional(
  Type.String({
    maxLength: MAX_TEXT,
    description:
      'Only results in which every word of this text occurs, in any case: in names, hosts, addresses, email addresses and ids of the result, or of what it refers to. The header Postern-Count has the number of results.',
  }),
);
const ORDER =
  'Orders the results by this field, with "-" in front in descending order; equal ones newest first. A list with more than 10,000 results cannot be ordered: use `q` or `filter` too. The header Postern-Count has the number of results.';
const orderParameter = (figures: Pick<ListFigures<never>, 'description'> | null): TOptional<TString> =>
  Type.Optional(
    Type.String({
      pattern: '^-?[a-z_]{1,64}$',
      description: figures === null ? ORDER : `${ORDER} ${figures.description}`,
    }),
  );
const skipParameter = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: MAX_SCANNED,
    description: 'With `order_by`: leaves out so many of the first results. `next_page_uri` has it.',
  }),
);

const filterParameter = Type.Optional(
  Type.String({
    maxLength: MAX_FILTER_LENGTH,
    description:
      'Only results for which this CEL expression over `obj` is true, such as `obj.metadata == "prod" && obj.created_at > timestamp("2026-11-01T00:00:00Z")`. A page can have fewer results than `limit`, or none, and still a next page.',
  }),
);

/** What each list needs to know about resources that its items refer to. */
export type TextsForCaller = (request: OperationRequest) => TextsOfId;

/** What a list can be ordered by although its items do not have it, such as the traffic of the last hour. */
export interface ListFigures<Ports> {
  readonly names: readonly string[];
  /** For the description of `order_by`. */
  readonly description: string;
  /** By the id of the item; those without a figure have 0. Throws if the caller may not know it. */
  of(name: string, request: OperationRequest, ports: Ports): Promise<ReadonlyMap<string, number>>;
}

/**
 * A list that can be filtered by a text or an expression, and ordered, by what it shows. Without these it runs as it
 * is.
 */
export function filteredList<Ports extends Pick<SharedPorts, 'clock'>>(
  operation: Operation<Ports>,
  textsFor: TextsForCaller = () => () => [],
  figures: ListFigures<Ports> | null = null,
): Operation<Ports> {
  const { properties = {} } = operation.query ?? {};
  const [listKey, list] = listIn(operation.success.schema as TObject);
  const cursor = Object.keys(properties).find((name) => name.startsWith('before_'));
  // Requests are many: their history looks for the text itself.
  const hasOwnText = 'q' in properties;
  const added = {
    ...{ filter: filterParameter, order_by: orderParameter(figures) },
    ...(!hasOwnText && { q: textParameter }),
    ...(cursor !== undefined && { skip: skipParameter }),
  };
  const query = Type.Object({ ...properties, ...added }, { additionalProperties: false });
  const errors = [...new Set([...operation.errors, 'ERR_POSTERN_INVALID_QUERY' as const])];
  return {
    ...operation,
    query,
    errors,
    run: async (request, ports) => {
      const { filter, q: text, order_by: orderBy, skip, ...others } = request.query;
      const q = hasOwnText ? undefined : text;
      const plain = { ...request, query: { ...others, ...(hasOwnText && text !== undefined && { q: text }) } };
      if (filter === undefined && q === undefined && orderBy === undefined)
        return serialized(await operation.run(plain, ports), listKey);
      const byFilter = filter === undefined ? null : await compileFilter(filter, list.items, ports.clock.nowMs());
      const byText = q === undefined ? null : textFilter(q, textsFor(request));
      const source = {
        ...{ operation, listKey, cursor, request: plain, ports },
        matches: (item: JsonObject) => (byFilter?.(item) ?? true) && (byText?.(item) ?? true),
        parameters: { ...(filter !== undefined && { filter }), ...(q !== undefined && { q }) },
        isCounted: q !== undefined,
      };
      if (orderBy === undefined) return serialized(await scan(source), listKey);
      const name = orderBy.replace(/^-/, '');
      const isFigure = figures?.names.includes(name) === true;
      if (!isFigure) requireField(name, list.items as TObject);
      const order = { orderBy, figures: isFigure ? await figures.of(name, request, ports) : null };
      return serialized(await inOrder(source, order, Number(skip ?? 0)), listKey);
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
  readonly matches: ItemFilter;
  /** What the next page is asked with, too. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly isCounted: boolean;
}

async function scan<Ports>(source: Source<Ports>): Promise<OperationResult> {
  const { listKey, cursor, request, matches, parameters } = source;
  const limit = Number(request.query['limit'] ?? PAGE_SIZE);
  const slice = new TimeSlice(API_QUEUE);
  const found: JsonObject[] = [];
  let from = cursor === undefined ? undefined : request.query[cursor];
  // The later pages of a list belong to the count of the first.
  const isCounted = source.isCounted && from === undefined;
  let count = 0;
  let next: string | undefined;
  for (let scanned = 0; ; ) {
    const body = await readPage(source, from);
    const answer = (isWhole: boolean): OperationResult => ({
      body: { ...body, [listKey]: found, ...('next_page_uri' in body && { next_page_uri: pageUri(next) }) },
      ...(isCounted && isWhole && { headers: { [COUNT_HEADER]: String(count) } }),
    });
    const pageUri = (place: string | undefined): string | null =>
      place === undefined
        ? null
        : continued(source, body['uri'] as string, { ...parameters, limit: String(limit), [cursor ?? '']: place });
    for (const item of body[listKey] as readonly JsonObject[]) {
      if (slice.isOver) await slice.next();
      if (!matches(item)) continue;
      count += 1;
      if (cursor === undefined || found.length < limit) {
        found.push(item);
        continue;
      }
      // One more than fit: the list goes on after the last that does.
      next ??= placeOf(found.at(-1), cursor);
      if (!isCounted) return answer(false);
    }
    scanned += PAGE_SIZE;
    from = cursor === undefined ? undefined : nextPlace(body, cursor);
    if (from !== undefined && scanned < MAX_SCANNED) continue;
    next ??= from;
    return answer(from === undefined);
  }
}

/** A page of all matches in the order of a field. Every page looks at all items: what changes meanwhile moves them. */
async function inOrder<Ports>(
  source: Source<Ports>,
  { orderBy, figures }: { readonly orderBy: string; readonly figures: ReadonlyMap<string, number> | null },
  skip: number,
): Promise<OperationResult> {
  const { listKey, cursor, request, matches, parameters } = source;
  const limit = Number(request.query['limit'] ?? PAGE_SIZE);
  const end = cursor === undefined ? Number.POSITIVE_INFINITY : skip + limit;
  const slice = new TimeSlice(API_QUEUE);
  const first = new FirstInOrder(orderBy, end, figures);
  let from: string | undefined;
  for (let scanned = PAGE_SIZE; ; scanned += PAGE_SIZE) {
    const body = await readPage(source, from);
    for (const item of body[listKey] as readonly JsonObject[]) {
      if (slice.isOver) await slice.next();
      if (matches(item)) first.add(item);
    }
    await first.tidy(slice);
    from = cursor === undefined ? undefined : nextPlace(body, cursor);
    if (from !== undefined && scanned < MAX_SCANNED) continue;
    if (from !== undefined) throw tooLong();
    const shown = (await first.all(slice)).slice(skip, end);
    const next = { ...parameters, order_by: orderBy, skip: String(end), limit: String(limit) };
    const nextUri = first.count > end ? continued(source, body['uri'] as string, next) : null;
    return {
      body: { ...body, [listKey]: shown, ...('next_page_uri' in body && { next_page_uri: nextUri }) },
      headers: { [COUNT_HEADER]: String(first.count) },
    };
  }
}

function requireField(name: string, item: TObject): void {
  if (Object.hasOwn(item.properties ?? {}, name)) return;
  throw resourceErrors.create(
    'ERR_POSTERN_INVALID_QUERY',
    'order_by must be a field of the results, such as created_at',
    {
      details: { parameter: 'order_by' },
    },
  );
}

function tooLong(): Error {
  return resourceErrors.create(
    'ERR_POSTERN_INVALID_QUERY',
    `this list has more than ${MAX_SCANNED.toLocaleString('en')} items, and cannot be ordered: leave order_by out`,
    { details: { parameter: 'order_by' } },
  );
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
  { request }: Pick<Source<never>, 'request'>,
  uri: string,
  next: Readonly<Record<string, string>>,
): string {
  return `${uri}?${new URLSearchParams({ ...request.query, ...next }).toString()}`;
}

function listIn(schema: TObject): readonly [string, { readonly items: TSchema }] {
  const lists = Object.entries(schema.properties).filter(([, field]) => 'items' in field);
  const [first] = lists;
  if (first === undefined) throw new Error('a list operation without a list in its response');
  return first as [string, { items: TSchema }];
}

const HOUR_MS = 3_600_000;
/** As many as each node counts. */
const MAX_ROUTES = 500;

/** Requests and errors of the last hour, of all nodes, by the edge whose routes they took. */
export const trafficFigures: ListFigures<Pick<ResourcePorts, 'traffic' | 'clock'>> = {
  names: ['requests', 'errors'],
  description: `Beside the fields: "requests" and "errors" of the last hour, as GET /series/routes counts them for the ${MAX_ROUTES} busiest routes, with the scope series:read.`,
  of: async (name, { principal }: OperationRequest, { traffic, clock }) => {
    requireScopes(principal, ['series:read']);
    const { routes } = await traffic.routes(clock.nowMs() - HOUR_MS, MAX_ROUTES);
    const sums = new Map<string, number>();
    for (const route of routes) {
      const figure = name === 'requests' ? route.requests : route.errors;
      sums.set(route.edgeId, (sums.get(route.edgeId) ?? 0) + figure);
    }
    return sums;
  },
};
