import type { JsonObject } from '../../kit/json.ts';
import type { FilesBackend } from '../generated/files-backends.ts';
import type { IpPolicyRule } from '../generated/ip-policy-rules.ts';
import type { StaticBackend } from '../generated/static-backends.ts';
import type { SiteEdge, SiteRoute } from '../sites.ts';
import { PASSWORD_MODULE } from './edge-login.ts';
import type { WantedPassword, WantedTarget } from './wanted-edge.ts';

/** The module that sets the Host header for the upstream. */
export const HEADER_MODULE = 'request_headers';

/** What stands in IP policies, read only for a command that names addresses. */
export interface CurrentAddresses {
  readonly rules: readonly IpPolicyRule[];
  /** Ids of policies with lists, whose entries no flag describes. */
  readonly withLists: readonly string[];
}

type AddressChange =
  | { readonly kind: 'new' }
  | { readonly kind: 'same' }
  | { readonly kind: 'changed'; readonly operations: readonly EdgeOperation[] }
  /** Somebody made rules that the flag cannot describe. */
  | { readonly kind: 'other' };

/** What to do for the wanted addresses on a route that exists. */
export function addressChange(
  route: SiteRoute,
  addresses: readonly string[],
  { edges, current }: { readonly edges: readonly SiteEdge[]; readonly current: CurrentAddresses },
): AddressChange {
  const module = route[ADDRESS_MODULE];
  if (module === null) return { kind: 'new' };
  const [policy, ...others] = module.ip_policies;
  if (!module.enabled || policy === undefined || others.length > 0) return { kind: 'other' };
  const rules = current.rules.filter((rule) => rule.ip_policy.id === policy.id);
  if (current.withLists.includes(policy.id) || rules.some(({ action }) => action !== 'allow')) return { kind: 'other' };
  const missing = addresses.filter((cidr) => !rules.some((rule) => rule.cidr === cidr));
  const extra = rules.filter(({ cidr }) => !addresses.includes(cidr));
  if (missing.length === 0 && extra.length === 0) return { kind: 'same' };
  const users = edges.flatMap(({ routes }) => routes).filter((each) => usesPolicy(each, policy.id));
  if (users.length > 1) return { kind: 'other' };
  const operations: EdgeOperation[] = [
    ...missing.map(
      (cidr): EdgeOperation => ({ method: 'POST', path: '/ip_policy_rules', body: { ip_policy_id: policy.id, cidr } }),
    ),
    ...extra.map(({ id }): EdgeOperation => ({ method: 'DELETE', path: `/ip_policy_rules/${id}` })),
  ];
  return { kind: 'changed', operations };
}

function usesPolicy(route: SiteRoute, id: string): boolean {
  return route[ADDRESS_MODULE]?.ip_policies.some((policy) => policy.id === id) === true;
}

/** The users of a route with these passwords. Users whom the command does not name keep theirs. */
export function withPasswords(route: SiteRoute, passwords: readonly WantedPassword[]): JsonObject {
  const former = route[PASSWORD_MODULE];
  const named = new Set(passwords.map(({ username }) => username));
  const kept = (former?.users ?? []).filter(({ username }) => !named.has(username));
  const users = [
    ...kept.map(({ username }) => ({ username, password: '' })),
    ...passwords.map(({ username, password }) => ({ username, password })),
  ];
  if (former === null) return { users };
  const { realm, options_passthrough } = former;
  return { enabled: true, users, realm, options_passthrough };
}

/**
 * The Host header for the upstream; null: it stays that of the visitor; undefined: nobody knows the target's address.
 */
export function hostHeaderOf(
  wanted: string,
  target: WantedTarget,
  backends: readonly StaticBackend[],
): string | null | undefined {
  if (wanted !== 'rewrite') return wanted === 'preserve' ? null : wanted;
  const found = target.kind === 'backend' ? backends.find(({ id }) => id === target.id) : undefined;
  const known =
    target.kind === 'address'
      ? { address: target.address, hasTls: target.hasTls }
      : found && { address: found.address, hasTls: found.tls.enabled };
  return known?.address.replace(known.hasTls ? /:443$/ : /:80$/, '');
}

/** The module with this Host header, beside the headers that it has. Null: it is left with nothing to do. */
export function withHostHeader(route: SiteRoute | null, host: string | null): JsonObject | null {
  const former = route?.[HEADER_MODULE] ?? null;
  const { host: _, ...others } = former?.add ?? {};
  const add = host === null ? others : { ...others, host };
  const remove = former?.remove ?? [];
  if (Object.keys(add).length === 0 && remove.length === 0) return null;
  return { enabled: true, add: add as JsonObject, remove: [...remove] };
}

/** Whether this key sees empty texts instead of credentials, which it would store. */
export function hidesHeaders(route: SiteRoute | null): boolean {
  const { authorization, cookie } = route?.[HEADER_MODULE]?.add ?? {};
  return authorization === '' || cookie === '';
}

/** The module that restricts a site to addresses. */
export const ADDRESS_MODULE = 'ip_restriction';

/** A policy with a rule for each range; `at` is the number of the first operation. */
export function createPolicy(ranges: readonly string[], place: string, at: number): readonly EdgeOperation[] {
  const description = place.slice(0, 255);
  return [
    { method: 'POST', path: '/ip_policies', body: { description } },
    ...ranges.map(
      (cidr): EdgeOperation => ({
        method: 'POST',
        path: '/ip_policy_rules',
        body: { ip_policy_id: { $ref: at, field: 'id' }, cidr },
      }),
    ),
  ];
}

/** Where requests go, for a line of the plan. */
export function targetText(target: WantedTarget): string {
  switch (target.kind) {
    case 'backend':
      return target.id;
    case 'address':
      return target.hasTls ? `https://${target.address}` : target.address;
    case 'folder':
      return target.folder;
    case 'agents':
      return `agents with ${Object.entries(target.labels)
        .map(([name, value]) => `${name}=${value}`)
        .join(', ')}`;
    case 'page':
      return `a fixed page (${target.status})`;
  }
}

/** Backends that can be used again, because a target describes all of them. */
export interface KnownBackends {
  readonly backends: readonly StaticBackend[];
  /** Absent: no folder is wanted. */
  readonly folders?: readonly FilesBackend[];
}

/** Id of the backend that is there already; null: it is made. */
export function existingBackend(target: WantedTarget, { backends, folders = [] }: KnownBackends): string | null {
  if (target.kind === 'backend') return target.id;
  if (target.kind === 'folder') return folders.find(({ folder }) => folder === target.folder)?.id ?? null;
  if (target.kind !== 'address') return null;
  return backends.find(({ address, tls }) => address === target.address && tls.enabled === target.hasTls)?.id ?? null;
}

export function createBackend(target: Exclude<WantedTarget, { kind: 'backend' }>, place: string): EdgeOperation {
  const description = place.slice(0, 255);
  switch (target.kind) {
    case 'address': {
      // No description: other sites will share it, and are not found by the name of this one.
      const { address, hasTls } = target;
      const body = { address, ...(hasTls && { tls: { enabled: true } }) };
      return { method: 'POST', path: '/backends/static', body };
    }
    case 'folder':
      // No description, for the same reason.
      return { method: 'POST', path: '/backends/files', body: { folder: target.folder } };
    case 'agents':
      return { method: 'POST', path: '/backends/tunnel_group', body: { labels: { ...target.labels }, description } };
    case 'page': {
      const headers = { 'content-type': target.contentType };
      const body = { body: target.body, headers, status_code: target.status, description };
      return { method: 'POST', path: '/backends/http_response', body };
    }
  }
}

/** One write of a changeset. */
export interface EdgeOperation {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: JsonObject;
}
