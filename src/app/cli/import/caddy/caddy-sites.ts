import { SITE_EDGE, SITE_ROUTE } from '../../../../client/sites.ts';
import type { InstallationDocuments } from '../../../../control/configuration-file/installed-objects.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import type { ImportReport } from '../import-report.ts';
import { type HeaderChanges, NO_CHANGES } from './caddy-handlers.ts';
import { coversPath, guardRules, type SitePath } from './caddy-paths.ts';

export type SiteTarget =
  | { readonly kind: 'response'; readonly response: JsonObject }
  | {
      readonly kind: 'addresses';
      readonly addresses: readonly string[];
      readonly hasTls: boolean;
      readonly isOrdered: boolean;
    };

export interface SiteRule {
  readonly path: SitePath;
  /**
   * Null: a route without a backend, which answers 503. Without it a shorter path would serve what was not carried
   * over.
   */
  readonly target: SiteTarget | null;
  readonly isRefusal: boolean;
  readonly isCompressed: boolean;
  readonly requestHeaders: HeaderChanges;
  readonly responseHeaders: HeaderChanges;
  /** Rules of modules. */
  readonly rewrite?: JsonObject;
  readonly redirects: readonly JsonObject[];
}

interface Site {
  rules: SiteRule[];
  obstacle: string | null;
  isClosed: boolean;
}

export const EVERYTHING: SitePath = { matchType: 'path_prefix', match: '/' };
const PORT = 443;
const BLOCKED: SiteRule = {
  path: EVERYTHING,
  target: null,
  isRefusal: true,
  isCompressed: false,
  requestHeaders: NO_CHANGES,
  responseHeaders: NO_CHANGES,
  redirects: [],
};
/** Rules of one module. */
const MAX_RULES = 50;

/** Edges, routes and backends as the API would list them, with ids of their own. */
export class CaddySites {
  readonly #sites = new Map<string, Site>();
  readonly #backends = new Map<string, { listKey: string; document: JsonObject }>();
  readonly #report: ImportReport;
  #count = 0;

  constructor(report: ImportReport) {
    this.#report = report;
  }

  /** The first rule that matches a path wins in Caddy, the longest path in Postern. Says why a rule is not written. */
  add(host: string, rule: SiteRule): string | null {
    const site = this.#site(host);
    if (site.obstacle !== null) return null;
    if (site.isClosed) return 'an earlier site ends before it';
    const { match, matchType } = rule.path;
    const covering = site.rules.find(({ path }) => coversPath(path, rule.path));
    if (covering !== undefined) return `an earlier route answers ${covering.path.match}`;
    const same = site.rules.findIndex(({ path }) => path.match.toLowerCase() === match.toLowerCase());
    const [before] = same === -1 ? [] : site.rules.slice(same, same + 1);
    if (before === undefined) site.rules.push(rule);
    else if (matchType === 'path_prefix' && isSameAnswer(before, rule)) site.rules[same] = rule;
    else this.block(host, `${match} has two answers, as a path and as a prefix`, true);
    return null;
  }

  /** The whole host is not served. False when it was not before. */
  block(host: string, why: string, isReported = false): boolean {
    const site = this.#site(host);
    if (site.obstacle !== null) return false;
    site.obstacle = why;
    if (isReported) this.#report.drop([host], `the whole host is written without a backend (503): ${why}`);
    return true;
  }

  /** Caddy does not reach what follows for this host. */
  close(host: string): void {
    this.#site(host).isClosed = true;
  }

  documents(): InstallationDocuments {
    for (const [host, { rules }] of this.#sites) {
      const open = rules.find((rule) => isOpenedByCase(rule, rules));
      if (open !== undefined)
        this.block(host, `Caddy ignores case in ${open.path.match}, Postern would serve it in capitals`, true);
      else this.#guard(host);
    }
    const edges = Array.from(this.#sites, ([host, { rules, obstacle }]) => ({
      id: this.#id(SITE_EDGE.idPrefix),
      // Without a route, a host with a wildcard would serve it.
      routes: (obstacle === null && rules.length > 0 ? rules : [BLOCKED]).map((rule) => this.#route(rule)),
      hostports: [`${host}:${PORT}`],
    }));
    const byList = Map.groupBy(this.#backends.values(), ({ listKey }) => listKey);
    const backends = Array.from(byList, ([listKey, own]) => [listKey, own.map(({ document }) => document)] as const);
    return { [SITE_EDGE.resource]: edges, ...Object.fromEntries(backends) };
  }

  /** What Caddy answers by a path, in every spelling, no route with another answer may serve. */
  #guard(host: string): void {
    const site = this.#site(host);
    const { rules, obstacle } = site;
    if (obstacle !== null) return;
    const longestFirst = rules.toSorted((one, other) => other.path.match.length - one.path.match.length);
    const guarded = rules.map((rule) => {
      if (rule.target === null) return rule;
      const inner = longestFirst.filter((each) => coversPath(rule.path, each.path) && !isSameAnswer(each, rule));
      const guards = inner.map(({ path }) => guardRules(path));
      const redirects = [...guards.flatMap((each) => each ?? []), ...rule.redirects];
      if (guards.includes(null) || redirects.length > MAX_RULES) return null;
      for (const { path } of inner)
        this.#report.note(`${host}: other spellings of ${path.match} are redirected to it, because Caddy ignores case`);
      return { ...rule, redirects };
    });
    if (guarded.includes(null))
      this.block(host, 'Caddy ignores case in its paths, which are too long or too many for redirects', true);
    else site.rules = guarded.filter((each) => each !== null);
  }

  #site(host: string): Site {
    const found = this.#sites.get(host);
    if (found !== undefined) return found;
    const site: Site = { rules: [], obstacle: null, isClosed: false };
    this.#sites.set(host, site);
    // Caddy runs the routes of "*.example.com" for the host too, and they come first.
    const wide = Array.from(this.#sites).find(
      ([other, { rules, obstacle, isClosed }]) =>
        covers(other, host) && (rules.length > 0 || obstacle !== null || isClosed),
    );
    if (wide !== undefined) this.block(host, `${wide[0]} comes before it`, true);
    return site;
  }

  #route({ path, target, isCompressed, rewrite, redirects, requestHeaders, responseHeaders }: SiteRule): JsonObject {
    return {
      id: this.#id(SITE_ROUTE.idPrefix),
      match_type: path.matchType,
      match: path.match,
      ...(target !== null && { backend: { enabled: true, backend_id: this.#target(target) } }),
      ...(isCompressed && { compression: { enabled: true } }),
      ...(requestHeaders !== NO_CHANGES && { request_headers: { enabled: true, ...requestHeaders } }),
      ...(responseHeaders !== NO_CHANGES && { response_headers: { enabled: true, ...responseHeaders } }),
      ...(rewrite !== undefined && { rewrite: { enabled: true, rules: [rewrite] } }),
      ...(redirects.length > 0 && { redirect: { enabled: true, rules: redirects } }),
    };
  }

  #target(target: SiteTarget): string {
    if (target.kind === 'response')
      return this.#backend('http_response_backends', 'bkdhr', 'response', target.response);
    const { addresses, hasTls, isOrdered } = target;
    const ids = addresses.map((address) =>
      this.#backend('static_backends', 'bkdsc', address, { address, tls: { enabled: hasTls } }),
    );
    const [only = ''] = ids;
    if (ids.length === 1) return only;
    const name = addresses.join(', ').slice(0, 200);
    if (isOrdered) return this.#backend('failover_backends', 'bkdfo', name, { backends: ids });
    return this.#backend('weighted_backends', 'bkdwd', name, {
      backends: Object.fromEntries(ids.map((id) => [id, 1])),
    });
  }

  #backend(listKey: string, prefix: string, description: string, fields: Readonly<Record<string, JsonValue>>): string {
    const key = JSON.stringify([listKey, fields]);
    const found = this.#backends.get(key);
    if (found !== undefined) return found.document['id'] as string;
    const id = this.#id(prefix);
    this.#backends.set(key, { listKey, document: { id, description, ...fields } });
    return id;
  }

  #id(prefix: string): string {
    this.#count += 1;
    return `${prefix}_${String(this.#count).padStart(27, '0')}`;
  }
}

/** Whether a host with a wildcard matches another. */
function covers(wide: string, host: string): boolean {
  return wide.startsWith('*.') && wide !== host && host.endsWith(wide.slice(1));
}

function isSameAnswer(one: SiteRule, other: SiteRule): boolean {
  const { path: _one, ...answer } = one;
  const { path: _other, ...otherAnswer } = other;
  return canonicalJson(answer as unknown as JsonObject) === canonicalJson(otherAnswer as unknown as JsonObject);
}

/** A path that is refused, below one that is served: in another case it is not refused. */
function isOpenedByCase({ isRefusal, path }: SiteRule, rules: readonly SiteRule[]): boolean {
  if (!isRefusal || !/[a-z]/i.test(path.match)) return false;
  return rules.some(
    (other) =>
      other.target !== null && !other.isRefusal && other.path.match !== path.match && coversPath(other.path, path),
  );
}

/** Requests that reach a handler. Null: all. */
export interface Scope {
  readonly hosts: readonly string[] | null;
  readonly paths: readonly SitePath[] | null;
}

/** With a problem: the hosts that it concerns. */
type Narrowed = { readonly scope: Scope } | { readonly problem: string; readonly hosts: readonly string[] | null };

const HOST_NAME = /^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+$/;
/** Texts that match one host only, such as "localhost" or an address. */
const LITERAL = /^[a-z0-9.:[\]-]+$/;

/** The requests of a scope that also match a route. The same scope if it has no matchers. */
export function narrow(scope: Scope, match: JsonValue | undefined): Narrowed {
  if (match === undefined || (Array.isArray(match) && match.length === 0)) return { scope };
  const sets = Array.isArray(match) ? (match as readonly JsonValue[]) : [match];
  const [first, ...others] = sets;
  const problem = (text: string): Narrowed => ({ problem: text, hosts: concerned(sets, scope) });
  if (!Array.isArray(match) || !isJsonObject(first)) return problem('it has an unexpected shape');
  if (others.length > 0) return problem('several sets of matchers are not supported');
  const [unknown] = Object.keys(first).filter((name) => name !== 'host' && name !== 'path');
  if (unknown !== undefined) return problem(`Postern matches hosts and paths only, not ${unknown}`);
  const narrowed = narrowTo(scope, first);
  return typeof narrowed === 'string' ? problem(narrowed) : { scope: narrowed };
}

/** A text is the problem. */
function narrowTo(scope: Scope, { host, path }: JsonObject): Scope | string {
  const hosts = host === undefined ? null : texts(host)?.map((each) => each.toLowerCase());
  const given = path === undefined ? null : texts(path)?.map(sitePath);
  if (hosts === undefined || given === undefined) return 'it has an unexpected shape';
  if (hosts?.some((each) => !HOST_NAME.test(each)) === true) return 'has a host that is not a name';
  if (hosts?.every((each) => isInside(each, scope)) === false) return 'its host is not one of the hosts around it';
  if (given?.includes(null) === true)
    return 'a path must be of ASCII characters, without patterns, and may have "*" at its end only';
  const paths = given as readonly SitePath[] | null;
  if (paths !== null && scope.paths !== null && !paths.every((each) => isWithin(each, scope.paths ?? []))) {
    return 'its path is not below the path around it';
  }
  return { hosts: hosts ?? scope.hosts, paths: paths ?? scope.paths };
}

/** The hosts that matchers name, if they certainly match no other. */
function concerned(sets: readonly JsonValue[], scope: Scope): readonly string[] | null {
  const named = sets.flatMap((set) => {
    const hosts = isJsonObject(set) ? (texts(set['host'] ?? null) ?? [null]) : [null];
    return hosts.map((each) => each?.toLowerCase() ?? null);
  });
  const isCertain = (each: string | null): each is string =>
    each !== null && (HOST_NAME.test(each) || LITERAL.test(each)) && isInside(each, scope);
  return named.every(isCertain) ? named.filter((each) => HOST_NAME.test(each)) : scope.hosts;
}

function isInside(host: string, { hosts }: Scope): boolean {
  return hosts === null || hosts.some((outer) => outer === host || covers(outer, host));
}

/** Null when Postern cannot match it: Caddy reads "?", "[" and "\\" as parts of a pattern, and "%" as an escape. */
function sitePath(text: string): SitePath | null {
  if (text === '*' || text === '/*') return { matchType: 'path_prefix', match: '/' };
  if (!/^\/[^*{}?[\]\\%#]*\*?$/.test(text) || !/^[!-~]+$/.test(text) || text.includes('//')) return null;
  return text.endsWith('*')
    ? { matchType: 'path_prefix', match: text.slice(0, -1) }
    : { matchType: 'exact_path', match: text };
}

function isWithin(path: SitePath, around: readonly SitePath[]): boolean {
  return around.some((each) => each.matchType === 'path_prefix' && coversPath(each, path));
}

/** Undefined unless it is a list of texts. */
function texts(value: JsonValue): readonly string[] | undefined {
  const isList = Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string');
  return isList ? (value as readonly string[]) : undefined;
}
