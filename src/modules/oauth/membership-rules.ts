import { emailAddress } from '../../lib/text/email-address.ts';
import type { Refusal } from '../contract/decides.ts';
import type { Identity } from '../contract/recognizes-requesters.ts';
import type { ProviderConfig } from './oauth-config.ts';
import type { ProviderDefinition } from './provider-definition.ts';

/** Ends the login, so that the next one may use another account. */
const LOGOUT_PATH = '/.postern/logout';

/** Decides whether a user may enter; null: yes. */
export type Membership = (user: Identity) => Refusal | null;

/** Any entry of any list admits; without entries everybody who can log in may enter. */
export function membership(definition: ProviderDefinition, config: ProviderConfig): Membership | null {
  const emails = new Set(config.email_addresses.map((address) => emailAddress(address)?.text));
  const domains = new Set(config.email_domains);
  const organizations = new Set((config.organizations ?? []).map((name) => name.toLowerCase()));
  const teams = new Set((config.teams ?? []).map((name) => name.toLowerCase()));
  if (emails.size + domains.size + organizations.size + teams.size === 0) return null;
  const isTrusted = ({ email, isEmailVerified }: Identity): boolean =>
    email !== '' && (isEmailVerified || definition.isAccountEmailTrusted === true);
  const isEmailListed = (user: Identity): boolean => {
    const address = isTrusted(user) ? emailAddress(user.email) : null;
    return address?.isPlain === true && (emails.has(address.text) || domains.has(address.domain));
  };
  const isMember = ({ claims }: Identity): boolean =>
    listed(claims['organizations'], organizations) ||
    listed(claims['teams'], teams) ||
    listed(claims['team_ids'], teams);
  // By identity, which is another object after each change: a request costs one lookup.
  const known = new WeakMap<Identity, Refusal | 'admitted'>();
  return (user) => {
    let decision = known.get(user);
    if (decision === undefined) {
      decision = isEmailListed(user) || isMember(user) ? 'admitted' : refusal(definition, user, !isTrusted(user));
      known.set(user, decision);
    }
    return decision === 'admitted' ? null : decision;
  };
}

function listed(claim: unknown, wanted: ReadonlySet<string>): boolean {
  return wanted.size > 0 && Array.isArray(claim) && claim.some((value) => wanted.has(String(value)));
}

function refusal({ title }: ProviderDefinition, user: Identity, isUnverified: boolean): Refusal {
  const { email, name, id } = user;
  const account = email === '' ? (name === '' ? id : name) : email;
  const hint =
    isUnverified && email !== '' ? `${title} does not report your email address as verified. Verify it there. ` : '';
  return {
    status: 403,
    code: 'ERR_POSTERN_OAUTH_DENIED',
    title: 'This account may not enter',
    message: `You are logged in as ${account}. ${hint}Switch to another account, or ask the operator of this site for access.`,
    reason: hint === '' ? 'not_a_member' : 'email_unverified',
    details: { account },
    action: { label: 'Switch account', href: LOGOUT_PATH },
  };
}
