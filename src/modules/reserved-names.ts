import type { SharedRuntime } from './contract/keeps-state.ts';
import type { Module } from './contract/module.ts';

/** Names that belong to modules on every host, whether or not the host uses the module. Collected once, at start. */
export interface ReservedNames {
  /** Request headers that upstreams trust because only the edge sends them: names, or prefixes that end in `*`. */
  readonly headers: readonly string[];
  /** Cookies that no upstream may set: names, or prefixes that end in `*`. */
  readonly cookies: readonly string[];
}

const OWN_PATH_PREFIX = '/.postern/';

const HEADER = /^[a-z0-9-]+\*?$/;
// RFC 6265 cookie names, in lower case.
const COOKIE = /^[!#$%&'+\-.^_`|~0-9a-z]+\*?$/;

/** Throws when a declaration is malformed, or when two modules claim one name: the server then does not start. */
export function reservedNames(modules: readonly Module[]): ReservedNames {
  const owners = new Map<string, string>();
  for (const { module, reservedHeaders = [], reservedCookies = [], ownPaths = [] } of claimants(modules)) {
    const claim = (what: string, isValid: boolean): void => {
      if (!isValid) throw new Error(`the ${module} module declares ${what}, which is malformed`);
      const other = owners.get(what);
      if (other !== undefined) throw new Error(`the modules ${other} and ${module} both declare ${what}`);
      owners.set(what, module);
    };
    for (const header of reservedHeaders) claim(`the header ${header}`, HEADER.test(header));
    for (const cookie of reservedCookies) claim(`the cookie ${cookie}`, COOKIE.test(cookie));
    for (const path of ownPaths) claim(`the path ${path}`, path.startsWith(OWN_PATH_PREFIX));
  }
  return {
    headers: [...new Set(modules.flatMap((module) => namesOf(module, 'reservedHeaders')))],
    cookies: [...new Set(modules.flatMap((module) => namesOf(module, 'reservedCookies')))],
  };
}

/** Modules, and what they share, once: it is claimed in the name of the first. */
function claimants(modules: readonly Module[]) {
  const shared = sharedRuntimes(modules).map((each) => {
    const first = modules.find((module) => module.shared?.includes(each));
    return { ...each, module: first?.name ?? each.name };
  });
  return [...shared, ...modules.map((module) => ({ ...module, module: module.name }))];
}

/** Only the edge sets these, so upstreams trust them; no setting lets clients send them. Modules reserve more. */
export const EDGE_HEADERS: readonly string[] = ['postern-*'];

/** Matches request headers that the module may not change: they belong to the edge or to another module. */
export function foreignHeaders(module: Pick<Module, 'name'>, modules: readonly Module[]): (name: string) => boolean {
  const others = modules.filter(({ name }) => name !== module.name);
  const isReserved = nameMatcher([...EDGE_HEADERS, ...reservedNames(others).headers]);
  const own = modules.find(({ name }) => name === module.name);
  const isOwn = nameMatcher(own === undefined ? [] : namesOf(own, 'reservedHeaders'));
  return (name) => isReserved(name) && !isOwn(name);
}

/** Splits names from prefixes, which end in `*`. */
export function nameMatcher(patterns: readonly string[]): (name: string) => boolean {
  const names = new Set(patterns.filter((pattern) => !pattern.endsWith('*')));
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (name) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

/** The runtimes that modules share, each once, in the order of the modules. */
export function sharedRuntimes(modules: readonly Module[]): readonly SharedRuntime[] {
  return [...new Set(modules.flatMap((module) => module.shared ?? []))];
}

/** A module's own names of a kind, and those that it shares. */
export function namesOf(module: Module, kind: 'reservedHeaders' | 'reservedCookies' | 'ownPaths'): readonly string[] {
  return [...(module.shared ?? []).flatMap((each) => each[kind] ?? []), ...(module[kind] ?? [])];
}
