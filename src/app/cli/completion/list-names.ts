import { setTimeout as sleep } from 'node:timers/promises';
import { fillPath, queryString } from '../../../client/fill-path.ts';
import { SITE_EDGE, SITE_ROUTE } from '../../../client/sites.ts';
import { Transport } from '../../../client/transport.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json.ts';
import { hostOf } from '../../../kit/net/host-name.ts';
import { apiAccess } from '../api/api-access.ts';
import { fetchWith } from '../api/api-fetch.ts';
import { pathParameters } from '../api/api-resources.ts';
import { operationList } from '../api/operation-list.ts';
import { createTextSource } from '../api/text-source.ts';
import type { CommandContext } from '../command.ts';
import { type Collection, collectionsOf, namedRoutes } from '../names/names.ts';
import { printable } from '../output/cell-text.ts';

/** Somebody waits with a finger on the key. */
const WITHIN_MS = 1_000;
const MAX_NAMES = 100;
const ROUTE: string = SITE_ROUTE.kind;
const EDGE: string = SITE_EDGE.kind;
/** The first one that an item has is its name. */
const NAME_FIELDS = ['email', 'hostname', 'domain', 'name', 'label', 'username', 'description', 'match', 'cidr'];

/** Names that complete what was typed so far; none without a server or a key. Null: no answer in time. */
export async function listNames(
  kinds: readonly string[],
  begun: string,
  context: CommandContext,
): Promise<readonly string[] | null> {
  const silent = { ...context, warn: () => {} };
  const found = namesOf(kinds, begun, silent).catch(() => []);
  const names = await Promise.race([found, sleep(WITHIN_MS, null, { ref: false })]);
  if (names === null) return null;
  return [...new Set(names)].filter((name) => name.startsWith(begun)).slice(0, MAX_NAMES);
}

async function namesOf(kinds: readonly string[], begun: string, context: CommandContext): Promise<readonly string[]> {
  const parsed = { flags: new Map(), values: new Map(), positionals: [] };
  const { url, apiKey } = await apiAccess(parsed, context, createTextSource());
  const retry = { maxRetries: 0 };
  const transport = new Transport({
    ...{ baseUrl: url, fetch: fetchWith(apiKey), apiKey: apiKey.key, timeoutMs: WITHIN_MS, retry },
  });
  // Routes have the names of their edges.
  const listed = new Set(kinds.map((kind) => (kind === ROUTE ? EDGE : kind)));
  const collections = collectionsOf(operationList()).filter(
    ({ kind, path }) => listed.has(kind) && pathParameters(path).length === 0,
  );
  const lists = await Promise.all(
    collections.map(async (collection) => {
      const items = await firstPage(transport, collection, begun).catch(() => []);
      return items.flatMap((item) => [
        ...(kinds.includes(collection.kind) ? namesIn(item) : []),
        ...(collection.kind === EDGE && kinds.includes(ROUTE) ? namedRoutes(item).flatMap(({ names }) => names) : []),
      ]);
    }),
  );
  return lists.flat().map(printable);
}

async function firstPage(
  transport: Transport,
  { path, listKey, isSearchable }: Collection,
  begun: string,
): Promise<readonly JsonObject[]> {
  const query = { limit: MAX_NAMES, ...(isSearchable && begun !== '' && { q: begun }) };
  const { text } = await transport.send({ method: 'GET', path: `${fillPath(path, {})}${queryString(query)}` });
  const body = JSON.parse(text) as JsonObject;
  const items = body[listKey];
  return Array.isArray(items) ? (items as readonly unknown[]).filter(isJsonObject) : [];
}

/** An edge has all of its hosts as names; anything without a name has its id. */
function namesIn(item: JsonObject): readonly string[] {
  const { hostports, id } = item;
  if (Array.isArray(hostports) && hostports.length > 0)
    return (hostports as readonly unknown[]).filter((each) => typeof each === 'string').map(hostOf);
  const field = NAME_FIELDS.find((name) => typeof item[name] === 'string' && item[name] !== '');
  const name = field === undefined ? id : item[field];
  return typeof name === 'string' ? [name] : [];
}
