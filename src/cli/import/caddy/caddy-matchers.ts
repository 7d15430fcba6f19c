import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import type { SitePath } from './caddy-sites.ts';

/** Requests that reach a handler. Null: all. */
export interface Scope {
  readonly hosts: readonly string[] | null;
  readonly paths: readonly SitePath[] | null;
}

export type Narrowed = { readonly scope: Scope } | { readonly problem: string };

/** The requests of a scope that also match a route. */
export function narrow(scope: Scope, match: JsonValue | undefined): Narrowed {
  const sets = Array.isArray(match) ? (match as readonly JsonValue[]).filter(isJsonObject) : [];
  if (sets.length === 0) return { scope };
  const [first, ...others] = sets;
  if (first === undefined || others.length > 0) return { problem: 'several sets of matchers are not supported' };
  const [unknown] = Object.keys(first).filter((name) => name !== 'host' && name !== 'path');
  if (unknown !== undefined) return { problem: `Postern matches hosts and paths only, not ${unknown}` };
  return narrowTo(scope, first);
}

function narrowTo(scope: Scope, { host, path }: JsonObject): Narrowed {
  const hosts = texts(host);
  const bad = hosts?.find((each) => !/^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(each));
  if (bad !== undefined) return { problem: 'has a host that is not a name' };
  const given = texts(path)?.map(sitePath);
  if (given?.includes(null) === true) return { problem: 'a path may have "*" at its end only' };
  const paths = (given ?? null) as readonly SitePath[] | null;
  if (paths !== null && scope.paths !== null && !paths.every((each) => isWithin(each, scope.paths ?? []))) {
    return { problem: 'its path is not below the path around it' };
  }
  return {
    scope: { hosts: hosts?.map((each) => each.toLowerCase()) ?? scope.hosts, paths: paths ?? scope.paths },
  };
}

/** Null when Postern cannot match it. */
function sitePath(text: string): SitePath | null {
  if (text === '*' || text === '/*') return { matchType: 'path_prefix', match: '/' };
  if (!/^\/[^*{}]*\*?$/.test(text)) return null;
  return text.endsWith('*')
    ? { matchType: 'path_prefix', match: text.slice(0, -1) }
    : { matchType: 'exact_path', match: text };
}

function isWithin({ match }: SitePath, around: readonly SitePath[]): boolean {
  return around.some((each) => each.matchType === 'path_prefix' && match.startsWith(each.match));
}

function texts(value: JsonValue | undefined): readonly string[] | null {
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter((each) => typeof each === 'string') : null;
}
