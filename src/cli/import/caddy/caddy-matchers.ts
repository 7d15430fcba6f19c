import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { coversPath, type SitePath } from './caddy-paths.ts';
import { covers } from './caddy-sites.ts';

/** Requests that reach a handler. Null: all. */
export interface Scope {
  readonly hosts: readonly string[] | null;
  readonly paths: readonly SitePath[] | null;
}

/** With a problem: the hosts that it concerns. */
export type Narrowed =
  | { readonly scope: Scope }
  | { readonly problem: string; readonly hosts: readonly string[] | null };

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
