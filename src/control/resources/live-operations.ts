import type { TProperties, TSchema } from 'typebox';
import Type from 'typebox';
import { rfc3339 } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { Ref } from '../../kit/schema/annotations.ts';
import type { OutboxEvent } from '../../store/store.ts';
import { LOCAL_CALLER, type Operation, type OperationRequest } from './operation.ts';
import { nextPageUri, pageOf, pagingQuery } from './paging.ts';
import type { SharedPorts } from './ports.ts';

/** The parts of list and get that a live resource provides. */
interface LiveReads<Item, Ports> {
  readonly resource: string;
  readonly path: string;
  readonly idPrefix: string;
  readonly listKey: string;
  readonly title: string;
  readonly plural: string;
  readonly schema: TSchema;
  readonly acceptsVersion0?: boolean;
  /** Query parameters that filter the list. */
  readonly filters?: TProperties;
  list(
    query: { beforeId: string | null; limit: number },
    request: OperationRequest,
    ports: Ports,
  ): Promise<readonly Item[]>;
  get(id: string, ports: Ports): Promise<Item | null>;
  render(items: readonly Item[], request: OperationRequest, ports: Ports): readonly JsonObject[];
  notFound(id: string): Error;
}

export function liveReads<Item extends { readonly id: string }, Ports extends Pick<SharedPorts, 'uri'>>(
  reads: LiveReads<Item, Ports>,
): readonly Operation<Ports>[] {
  const version = reads.acceptsVersion0 === true ? { acceptsVersion0: true } : {};
  return [
    {
      resource: reads.resource,
      verb: 'list',
      method: 'GET',
      path: reads.path,
      summary: `List ${reads.plural}`,
      description: LIST_DESCRIPTION,
      query: Type.Object({ ...pagingQuery(reads.idPrefix), ...reads.filters }, { additionalProperties: false }),
      success: {
        status: 200,
        schema: listEnvelope(reads.listKey, reads.schema),
        description: `A page of ${reads.plural}, newest first.`,
      },
      errors: [],
      ...version,
      run: async (request, ports) => {
        const page = pageOf(request.query);
        const found = await reads.list({ beforeId: page.beforeId, limit: page.limit + 1 }, request, ports);
        const items = found.slice(0, page.limit);
        const hasMore = found.length > page.limit;
        return {
          body: {
            [reads.listKey]: reads.render(items, request, ports),
            uri: ports.uri(reads.path),
            next_page_uri: hasMore
              ? nextPageUri(ports.uri(reads.path), request.query, page.limit, items.at(-1)?.id ?? '')
              : null,
          },
        };
      },
    },
    {
      resource: reads.resource,
      verb: 'get',
      method: 'GET',
      path: `${reads.path}/{id}`,
      summary: `Get ${reads.title}`,
      description: LIVE_GET_RULE,
      success: { status: 200, schema: reads.schema, description: `${reads.title}.` },
      errors: ['ERR_POSTERN_NOT_FOUND'],
      ...version,
      run: async (request, ports) => {
        const id = request.params['id'] as string;
        const item = await reads.get(id, ports);
        if (item === null) throw reads.notFound(id);
        return { body: reads.render([item], request, ports)[0] ?? null };
      },
    },
  ];
}

/** What every read of something live does. */
export const LIVE_GET_RULE = 'Returns 404 if it has ended or was deleted.';

/** Behaviour of every paged list. */
export const LIST_DESCRIPTION =
  'Newest first, at most 100 per page. Request next_page_uri unchanged for the next page; it is null on the last page.';

/** The rows of a paged list. */
export const ROWS_DESCRIPTION = 'The page, newest first.';

export function listEnvelope(listKey: string, item: TSchema): TSchema {
  return Type.Object({
    [listKey]: Type.Array(item, { description: ROWS_DESCRIPTION }),
    uri: Type.String({ description: 'URI of the list.' }),
    next_page_uri: Type.Union([Type.String(), Type.Null()], {
      description: 'URI of the next page; null on the last page.',
    }),
  });
}

export interface LiveEventPorts extends Pick<SharedPorts, 'ref' | 'clock' | 'newId'> {
  readonly accountId: string;
  /** `unknown` where another process may have just added a subscription: then the store decides. */
  isWanted(type: string): boolean | 'unknown';
}

/**
 * An event about an object that no configuration resource describes, for the commit that it reports; none if nobody
 * wants it.
 */
export function liveEvent(
  type: string,
  object: () => JsonObject,
  /** Empty: the server acts by itself. */
  apiKeyId: string,
  ports: LiveEventPorts,
): readonly OutboxEvent[] {
  const isWanted = ports.isWanted(type);
  if (isWanted === false) return [];
  const id = ports.newId('ev');
  const createdAtMs = ports.clock.nowMs();
  const principal = callerRef(apiKeyId, ports.ref);
  const payload: JsonObject = {
    event_id: id,
    event_type: type,
    event_timestamp: rfc3339(createdAtMs),
    account_id: ports.accountId,
    principal: principal && { ...principal },
    object: object(),
  };
  return [{ id, type, createdAtMs, payload, isUncertain: isWanted === 'unknown' }];
}

/** Null: the server itself, or a command on its machine, acts without a key or a session. */
export function callerRef(apiKeyId: string, ref: (id: string) => Ref): Ref | null {
  return apiKeyId === '' || apiKeyId.startsWith(LOCAL_CALLER) ? null : ref(apiKeyId);
}
