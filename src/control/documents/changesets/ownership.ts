import { TimeSlice } from '../../../kit/async/slices.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { pointerTo } from '../../../kit/schema/field-problem.ts';
import { OWNERSHIP_KIND, ownershipId } from '../../../store/own-records.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { StoredRecord } from '../../../store/store.ts';
import { refuseWithout } from '../../resources/errors.ts';
import type { Principal } from '../../resources/operation.ts';
import type { ResourceSettings } from '../../resources/resource.ts';
import { hasScope, scopeOf } from '../../resources/scopes.ts';
import { authorize } from '../authorize.ts';
import type { Catalog, CompiledResource } from '../catalog.ts';
import { documentErrors, invalidBody } from '../errors.ts';
import { API_QUEUE } from '../long-answer.ts';
import { type PlacedPut, storedFields } from '../record-puts.ts';

/** The objects that the files of an owner have, as a changeset states them. */
export interface Ownership {
  readonly name: string;
  readonly claims: readonly { readonly id: string; readonly name: string }[];
  /** Objects of other owners become objects of this one. */
  readonly isTakeOver: boolean;
}

interface OwnershipDoc {
  readonly owner: string;
  readonly name: string;
}

/** Enough for one page of text. */
const MAX_NAMED = 10;

/** What claims are checked against. */
interface Claimed {
  readonly reader: RecordReader;
  readonly catalog: Catalog;
  readonly principal: Principal;
}

interface Claiming extends Claimed {
  readonly settings: ResourceSettings;
}

/** The records to write; none for objects that are owned by this name already. */
export async function ownershipPuts(
  { name: owner, claims, isTakeOver }: Ownership,
  { results, ...about }: Claiming & { readonly results: EarlierResults },
): Promise<readonly PlacedPut[]> {
  const { reader, catalog } = about;
  const slice = new TimeSlice(API_QUEUE);
  const puts: PlacedPut[] = [];
  const others: string[] = [];
  for (const [index, { id: given, name }] of claims.entries()) {
    if (slice.isOver) await slice.next();
    const id = resolvePath(given, results);
    const resource = catalog.compiled.get(catalog.kindOfId(id) ?? '');
    // Before anything tells whether the resource exists.
    if (resource !== undefined) requireScope(resource, 'GET', about);
    const record = resource && reader.get(resource.kind, id);
    if (resource === undefined || record === undefined) {
      throw invalidBody([{ path: `/owner/claims/${index}/id`, message: 'must be the id of a resource that exists' }]);
    }
    const current = reader.get(OWNERSHIP_KIND, ownershipId(id))?.doc as unknown as OwnershipDoc | undefined;
    if (current?.owner === owner && current.name === name) continue;
    authorizeClaim(resource, record, about);
    if (current !== undefined && current.owner !== owner && !isTakeOver) others.push(`${id} (${current.owner})`);
    const doc = { owner, name };
    puts.push({
      kind: OWNERSHIP_KIND,
      id: ownershipId(id),
      parent: id,
      doc,
      secrets: null,
      uniqueKeys: [],
      references: [],
    });
  }
  if (others.length > 0) throw ownedByOthers(others);
  return puts;
}

/** A claim lets `apply --prune` of the owner delete the resource, so it needs the same rights. */
function authorizeClaim(resource: CompiledResource, record: StoredRecord, about: Claiming): void {
  requireScope(resource, 'DELETE', about);
  const { principal, reader: replica, catalog, settings } = about;
  const change = { principal, id: record.id, config: null, previous: storedFields(resource, record) };
  authorize(resource, change, { replica, catalog, settings });
}

/** A key that may write a resource learns from its own writes whether it exists. */
function requireScope({ resource }: CompiledResource, method: 'GET' | 'DELETE', { principal }: Claimed): void {
  const write = scopeOf('DELETE', resource.path);
  if (hasScope(principal, write) || hasScope(principal, scopeOf(method, resource.path))) return;
  refuseWithout({
    scope: write,
    message: `this API key lacks the scope "${write}", which a claim of such a resource needs: use a key that has it`,
  });
}

function ownedByOthers(others: readonly string[]): Error {
  const more = others.length > MAX_NAMED ? ` and ${others.length - MAX_NAMED} more` : '';
  return documentErrors.create(
    'ERR_POSTERN_OWNED_BY_ANOTHER',
    `other owners apply ${others.slice(0, MAX_NAMED).join(', ')}${more}: remove them from these files, or send "take_over": true`,
  );
}

/** What the files of an owner, or of all owners, had, among the resources that the caller may read. */
export function claimsOf(owner: string | null, { reader, catalog, principal }: Claimed): JsonObject {
  const records = reader.page(OWNERSHIP_KIND, { beforeId: null, limit: Number.MAX_SAFE_INTEGER });
  const claims = records.flatMap(({ doc, parent }) => {
    const id = parent ?? '';
    const resource = catalog.resourceOfKind(catalog.kindOfId(id) ?? '');
    if ((owner !== null && doc['owner'] !== owner) || resource === undefined) return [];
    return hasScope(principal, scopeOf('GET', resource.path))
      ? [{ owner: doc['owner'] ?? '', id, kind: resource.kind, name: doc['name'] ?? '' }]
      : [];
  });
  return { claims };
}

/** Bodies of the operations so far; null for one that has none. */
type EarlierResults = readonly (JsonObject | null)[];

/** Far more than any body has. */
const MAX_DEPTH = 64;
const WHOLE = /^\$\{\d{1,5}\.[A-Za-z_]\w*\}$/;
const IN_PATH = /\$\{(\d{1,5})\.([A-Za-z_]\w*)\}/g;

/** Replaces `${0.id}` in a path by the field of an earlier result. */
export function resolvePath(path: string, results: EarlierResults): string {
  return path.replaceAll(IN_PATH, (_, index: string, field: string) => {
    const value = fieldOf(Number(index), field, results, '/path');
    if (typeof value === 'string') return encodeURIComponent(value);
    throw invalidBody([{ path: '/path', message: `names \${${index}.${field}}, which is not a text` }]);
  });
}

/** Replaces `{"$ref": 0, "field": "id"}` anywhere in a body by the field of an earlier result. */
export function resolveBody(body: JsonObject, results: EarlierResults): JsonObject {
  return resolveObject(body, results, '/body', 0) as JsonObject;
}

function resolve(value: JsonValue, results: EarlierResults, at: string, depth: number): JsonValue {
  if (depth > MAX_DEPTH)
    throw invalidBody([{ path: '/body', message: `is nested more than ${MAX_DEPTH} levels deep` }]);
  if (Array.isArray(value)) return value.map((each, index) => resolve(each, results, `${at}/${index}`, depth + 1));
  return isJsonObject(value) ? resolveObject(value, results, at, depth) : value;
}

function resolveObject(value: JsonObject, results: EarlierResults, at: string, depth: number): JsonValue {
  if (!Object.hasOwn(value, '$ref')) {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        resolveKey(name, results),
        resolve(each, results, pointerTo(at, name), depth + 1),
      ]),
    );
  }
  const { $ref: index, field, ...others } = value;
  if (typeof index !== 'number' || typeof field !== 'string' || Object.keys(others).length > 0) {
    throw invalidBody([{ path: at, message: 'must be {"$ref": number of an earlier operation, "field": name}' }]);
  }
  return fieldOf(index, field, results, at);
}

/** Some maps have ids as their keys, such as the weights of a backend. */
function resolveKey(name: string, results: EarlierResults): string {
  return WHOLE.test(name) ? resolvePath(name, results) : name;
}

function fieldOf(index: number, field: string, results: EarlierResults, at: string): JsonValue {
  const result = results[index];
  if (result === undefined) {
    const message = `names operation ${index}, but only operations before this one have a result (0 to ${results.length - 1})`;
    throw invalidBody([
      { path: at, message: results.length === 0 ? `names operation ${index}, but this is the first one` : message },
    ]);
  }
  if (result === null || !Object.hasOwn(result, field)) {
    throw invalidBody([
      { path: at, message: `names the field "${field}", which the result of operation ${index} does not have` },
    ]);
  }
  return result[field] as JsonValue;
}
