import type { SiteEdge, SiteRoute } from '../../../../src/client/sites.ts';
import type { Document } from '../../api/use-pages.ts';
import { textAt } from '../../format/text.ts';
import { labelsText } from '../../modules/backend/backend-text.ts';
import { plainPolicies } from '../../modules/ip_restriction/plain-policies.ts';
import { resourceAt } from '../../schema/paths.ts';
import { type Draft, newDraft } from '../publish/draft.ts';

/** The route that stands for the site; null: a site without one, whose routes are edited one by one. */
export function rootRoute(edge: SiteEdge): SiteRoute | null {
  return edge.routes.find(({ match, match_type: type }) => match === '/' && type === 'path_prefix') ?? null;
}

/** The first one, without its port. */
function hostOf({ hostports }: SiteEdge): string {
  return (hostports[0] ?? '').replace(/:\d+$/, '');
}

/** Where a site goes, as the form has it. A weighted or failover backend is left to its own page. */
export function targetDraft(edge: SiteEdge, backend: Document | undefined): Draft {
  const draft = { ...newDraft(), host: hostOf(edge) };
  if (backend === undefined) return draft;
  switch (resourceAt(textAt(backend, 'uri'))?.type.tag ?? '') {
    case 'static': {
      const isTls = (backend['tls'] as { enabled?: boolean } | undefined)?.enabled === true;
      return { ...draft, target: 'address', address: `${isTls ? 'https://' : ''}${textAt(backend, 'address')}` };
    }
    case 'files':
      return { ...draft, target: 'folder', folder: textAt(backend, 'folder') };
    case 'tunnel_group':
      return { ...draft, target: 'agents', labels: labelsText(backend['labels']) };
    case 'http_response':
      return {
        ...draft,
        target: 'page',
        page: textAt(backend, 'body'),
        status: textAt(backend, 'status_code') || '200',
      };
    default:
      return draft;
  }
}

/** Who may enter, as the form has it; null: modules and rules that the form cannot show, and so must not replace. */
export async function entryDraft(edge: SiteEdge, route: SiteRoute, ownIssuer: string | null): Promise<Draft | null> {
  const draft = { ...newDraft(), host: hostOf(edge) };
  const { oidc, oauth, access, basic_auth: passwords, ip_restriction: addresses } = route;
  const modules = [oidc, oauth, access, passwords, addresses].filter((each) => each !== null);
  if (oauth !== null || modules.some(({ enabled }) => !enabled)) return null;
  if (modules.length === 0) return { ...draft, entry: 'everybody' };
  const policies = addresses === null ? [] : addresses.ip_policies.map(({ id }) => id);
  const plain = await plainPolicies(policies);
  if (policies.some((id) => !plain.has(id))) return null;
  const limited = { ...draft, addresses: [...plain.values()].flat().join(', ') };
  if (modules.length === 1 && addresses !== null) return { ...limited, entry: 'addresses' };
  if (passwords !== null) {
    if (oidc !== null || access !== null) return null;
    const names = passwords.users.map(({ username }) => username);
    const users = names.map((username) => ({ username, password: '' }));
    const rows = users.length === 0 ? limited.passwords : users;
    return { ...limited, entry: 'password', knownNames: names, passwords: rows };
  }
  const rule = soleRule(access);
  if (rule === null) return null;
  const { guests, ...people } = rule;
  if (oidc === null) return guests && Object.keys(people).length === 0 ? { ...limited, entry: 'guest' } : null;
  if (guests) return null;
  const named = [...(people.emails ?? []), ...(people.domains ?? []).map((domain) => `@${domain}`)];
  const filled = { ...limited, people: named.join(', '), groups: (people.groups ?? []).join(', ') };
  if (oidc.issuer === ownIssuer && oidc.client_id === '') return { ...filled, entry: 'own' };
  const { issuer, client_id: clientId, scopes } = oidc;
  return { ...filled, entry: 'provider', issuer, clientId, scopes: scopes.join(' ') };
}

interface SoleRule {
  readonly emails?: readonly string[];
  readonly domains?: readonly string[];
  readonly groups?: readonly string[];
  readonly guests?: true;
}

/** The only rule, if it has nothing but people that the form can name; empty without rules. */
function soleRule(access: SiteRoute['access']): SoleRule | null {
  if (access === null) return {};
  const [rule, ...others] = access.allow;
  if (rule === undefined || others.length > 0 || !access.enforce) return null;
  if (access.deny.length > 0 || access.bearer.length > 0) return null;
  const { emails, email_domains: domains, claims = {}, guests, ...unknown } = rule;
  const { groups, ...otherClaims } = claims;
  const rest = [...Object.values(unknown), ...Object.values(otherClaims)].filter((each) => each !== undefined);
  if (rest.some((each) => each !== false)) return null;
  return {
    ...(emails !== undefined && { emails }),
    ...(domains !== undefined && { domains }),
    ...(groups !== undefined && { groups: groups.map(String) }),
    ...(guests === true && { guests }),
  };
}
