import type { TObject, TSchema } from 'typebox';
import { SITE_EDGE, SITE_ROUTE } from '../../../../client/sites.ts';
import type { InstallationDocuments } from '../../../../control/configuration-file/installed-objects.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import { isObjectSchema, isOpenSchema } from '../../../../kit/schema/schema-facts.ts';
import { operationList } from '../../api/operation-list.ts';
import { ImportReport, isUnset, textFor } from '../import-report.ts';
import {
  accountRestriction,
  HARMLESS,
  mayServeAnother,
  missingReference,
  NO_SUCH_FIELD,
  NOT_CARRIED,
  type RetiredDocuments,
} from './lost-restrictions.ts';
import { RETIRED_LISTS } from './read-dump.ts';

/** Domains of the retired service: nobody else can serve them. */
const FOREIGN_DOMAIN = /(^|\.)ngrok(-free)?\.(app|dev|io|pizza)$/;

/**
 * The retired API's documents as Postern's: unknown fields are reported, and routes that lose a protection are turned
 * off.
 */
export function convertDocuments(answers: RetiredDocuments, report: ImportReport): InstallationDocuments {
  const { documents } = answers;
  const converted: Record<string, readonly JsonObject[]> = {};
  const broken = brokenReferences(answers);
  const accountWide = accountRestriction(answers);
  for (const { path, key, notCarried } of RETIRED_LISTS) {
    const items = documents.get(key) ?? [];
    if (notCarried !== null) {
      for (const item of items) report.dropFields([key, nameOf(item)], ownFields(item), notCarried);
      continue;
    }
    const schema = answerSchema(`${path}/{id}`);
    converted[key] = items.map((item) => {
      const place = [key, nameOf(item)];
      const { known, lost } = understood(withoutRoutes(item), schema, place, report);
      noteForeignHosts(known, report);
      return key === SITE_EDGE.resource
        ? {
            ...known,
            routes: routesOf(
              item,
              {
                answers,
                broken,
                lostAround:
                  accountWide ??
                  mayServeAnother(item, answers) ??
                  missingReference(item['mutual_tls'], 'certificate_authorities', answers, broken) ??
                  lost,
              },
              place,
              report,
            ),
          }
        : known;
    });
  }
  return converted;
}

/** Ids of what restricts access, and was not understood completely. A rule counts to its policy. */
function brokenReferences({ documents }: RetiredDocuments): ReadonlySet<JsonValue> {
  const broken = new Set<JsonValue>();
  for (const [key, path] of [
    ['certificate_authorities', '/certificate_authorities/{id}'],
    ['ip_policies', '/ip_policies/{id}'],
    ['ip_policy_rules', '/ip_policy_rules/{id}'],
  ] as const) {
    const schema = answerSchema(path);
    for (const item of documents.get(key) ?? []) {
      if (understood(item, schema, [], new ImportReport()).lost === null) continue;
      const { id, ip_policy: policy } = item;
      if (key !== 'ip_policy_rules') broken.add(id ?? '');
      else if (isJsonObject(policy)) broken.add(policy['id'] ?? '');
      else for (const each of documents.get('ip_policies') ?? []) broken.add(each['id'] ?? '');
    }
  }
  return broken;
}

/** The known part, and the first other part that may have decided who gets in. */
function understood(
  document: JsonObject,
  schema: TObject,
  place: readonly string[],
  report: ImportReport,
): { readonly known: JsonObject; readonly lost: string | null } {
  let lost: string | null = null;
  const known: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(document) as [string, JsonValue][]) {
    const before = report.dropped.length;
    Object.assign(known, knownPart({ [name]: value }, schema, place, report));
    if (report.dropped.length > before && name === 'request_headers' && isEnabled(value)) report.noteLostHeaders(place);
    if (report.dropped.length > before && !HARMLESS.has(name) && isEnabled(value)) lost ??= name;
  }
  return { known, lost };
}

function routesOf(
  edge: JsonObject,
  {
    answers,
    broken,
    lostAround,
  }: {
    readonly answers: RetiredDocuments;
    readonly broken: ReadonlySet<JsonValue>;
    readonly lostAround: string | null;
  },
  place: readonly string[],
  report: ImportReport,
): readonly JsonObject[] {
  const schema = answerSchema(`${SITE_ROUTE.path}/{id}`);
  const given = isUnset(edge['routes']) ? [] : edge['routes'];
  const items: readonly JsonValue[] = Array.isArray(given) ? (given as readonly JsonValue[]) : [null];
  const routes = items.filter(isJsonObject);
  const isOdd = routes.length < items.length;
  if (isOdd) report.drop([...place, 'routes'], 'not written: it has an unexpected shape');
  return routes.map((route) => {
    const inEdge = [...place, 'routes', textOf(route['match'])];
    const { known, lost: lostHere } = understood(route, schema, inEdge, report);
    noteManagedApplication(known, inEdge, report);
    const missing = missingReference(route['ip_restriction'], 'ip_policies', answers, broken);
    const lost = lostAround ?? lostHere ?? missing ?? (isOdd ? 'a route of an unexpected shape' : null);
    const { backend } = known;
    if (lost === null || !isJsonObject(backend)) return known;
    // Open to everybody would be worse than not served.
    report.drop(
      [...inEdge, 'backend', 'enabled'],
      `set to false, because ${lost} protected this route: replace the protection, then set it to true`,
    );
    return { ...known, backend: { ...backend, enabled: false } };
  });
}

/** A module of an unexpected shape counts as enabled. */
function isEnabled(module: JsonValue | undefined): boolean {
  return !isJsonObject(module) || module['enabled'] !== false;
}

/** The retired service had applications of its own at some providers. */
function noteManagedApplication({ oauth }: JsonObject, place: readonly string[], report: ImportReport): void {
  const providers = isJsonObject(oauth) && isJsonObject(oauth['provider']) ? oauth['provider'] : {};
  for (const [name, provider] of Object.entries(providers)) {
    if (!isJsonObject(provider) || !isUnset(provider['client_id'])) continue;
    report.note(
      `${[...place, 'oauth'].join(' > ')}: register an application of your own at ${name}, and set its client_id and client_secret`,
    );
  }
}

function noteForeignHosts(document: JsonObject, report: ImportReport): void {
  const hosts = [document['domain'], ...(Array.isArray(document['hostports']) ? document['hostports'] : [])];
  for (const host of hosts) {
    if (typeof host !== 'string' || !FOREIGN_DOMAIN.test(host.replace(/:\d+$/, ''))) continue;
    report.note(`${host} belongs to the retired service: use a host of your own instead`);
  }
}

/** The schema of Postern's answer for one object. */
function answerSchema(path: string): TObject {
  const found = operationList().find((each) => each.method === 'GET' && each.path === path);
  if (found === undefined) throw new Error(`no operation GET ${path}`);
  return found.success.schema as TObject;
}

function withoutRoutes({ routes: _routes, ...edge }: JsonObject): JsonObject {
  return edge;
}

/** Without the fields that every document has. */
function ownFields({ id: _id, uri: _uri, created_at: _created, ...own }: JsonObject): JsonObject {
  return own;
}

function nameOf({ hostports, domain, addr, description, id }: JsonObject): string {
  const [host] = Array.isArray(hostports) ? hostports : [];
  const found = [host, domain, addr, description, id].find((each) => typeof each === 'string' && each !== '');
  return textOf(found as JsonValue | undefined).replace(/:443$/, '');
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

const UNEXPECTED = 'not written: it has an unexpected shape';

/** The part of a document that Postern's own answers have. Every other field that is set is reported. */
function knownPart(document: JsonObject, schema: TObject, place: readonly string[], report: ImportReport): JsonObject {
  const known: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(document) as [string, JsonValue][]) {
    const field = Object.hasOwn(schema.properties, name) ? schema.properties[name] : otherField(schema);
    if (field === undefined || isAlwaysNull(field))
      report.dropFields([...place, name], value, textFor(NOT_CARRIED, name, NO_SUCH_FIELD));
    else known[name] = partOf(value, field, [...place, name], report);
  }
  return known;
}

/** The field of every other name in a map, such as headers by name. */
function otherField(schema: TObject): TSchema | undefined {
  return isOpenSchema(schema)
    ? ((schema as { additionalProperties?: unknown }).additionalProperties as TSchema)
    : undefined;
}

/** A field of the retired API that answers still have, without a place for its value. */
function isAlwaysNull(field: TSchema): boolean {
  return (field as { readonly type?: string }).type === 'null';
}

function partOf(value: JsonValue, field: TSchema, place: readonly string[], report: ImportReport): JsonValue {
  const { anyOf, items } = field as { readonly anyOf?: readonly TSchema[]; readonly items?: TSchema };
  const schema = anyOf?.find((each) => isObjectSchema(each)) ?? field;
  if (isJsonObject(value) && isObjectSchema(schema)) return knownPart(value, schema, place, report);
  if (Array.isArray(value) && items !== undefined) {
    return value.map((item: JsonValue, index) => partOf(item, items, [...place, String(index)], report));
  }
  const isUnexpected = !isUnset(value) && (isObjectSchema(schema) || items !== undefined || isNoSwitch(value, schema));
  if (!isUnexpected) return value;
  report.drop(place, UNEXPECTED);
  return null;
}

function isNoSwitch(value: JsonValue, schema: TSchema): boolean {
  return (schema as { readonly type?: string }).type === 'boolean' && typeof value !== 'boolean';
}
