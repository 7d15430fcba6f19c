import { domainToUnicode } from 'node:url';
import type { Static } from 'typebox';
import Type from 'typebox';
import { secret } from '../../kit/schema/annotations.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import { emailAddress } from '../../kit/text/email-address.ts';
import type { Identity, Refusal } from '../contract/decides.ts';
import { enabledField } from '../contract/module.ts';
import { PROVIDER_NAMES, type ProviderDefinition, type ProviderName } from './provider-definition.ts';
import { providerDefinitions } from './providers.ts';

const MAX_UINT32 = 4_294_967_295;
const YEAR_SECONDS = 31_536_000;
const MAX_ITEMS = 100;

const texts = (description: string, maxLength: number) =>
  Type.Array(Type.String({ minLength: 1, maxLength }), { default: [], maxItems: MAX_ITEMS, description });

const own = {
  client_id: Type.String({
    default: '',
    maxLength: 1024,
    description: 'Client ID of your application at the provider.',
  }),
  client_secret: secret(
    'readable',
    Type.String({
      default: '',
      maxLength: 4096,
      description: 'Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read.',
    }),
    { field: 'client_id' },
  ),
  scopes: Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$' }), {
    default: [],
    maxItems: MAX_ITEMS,
    description: 'Scopes to request. Empty: those that the login and the rules need.',
  }),
  email_addresses: texts('Email addresses that may enter, in lower case.', 320),
  email_domains: texts('Domains of email addresses that may enter, in lower case. Subdomains are not included.', 253),
};

const memberFields = {
  teams: texts('GitHub teams whose members may enter: "organization/team", or the id of a team.', 200),
  organizations: texts('GitHub organizations whose members may enter.', 100),
};

export const providerFields = Type.Object({ ...own, ...memberFields });

/** Teams and organizations are absent from all providers but GitHub. */
export type ProviderConfig = Omit<Static<typeof providerFields>, 'teams' | 'organizations'> &
  Partial<Pick<Static<typeof providerFields>, 'teams' | 'organizations'>>;

const providers = Object.fromEntries(
  PROVIDER_NAMES.map((name) => {
    const fields = name === 'github' ? { ...own, ...memberFields } : own;
    return [name, Type.Object(fields, { default: null, description: `A login at ${name}, or null.` })];
  }),
);

/** Limits and cookie of a login, which mean the same in all login modules. */
export const sessionFields = {
  options_passthrough: Type.Boolean({
    default: false,
    description: 'Allow OPTIONS requests without a login, for CORS preflight requests.',
  }),
  cookie_prefix: Type.String({
    default: '',
    maxLength: 128,
    pattern: "^[!#$%&'*+\\-.^_`|~0-9A-Za-z]+$",
    description:
      'Prefix of the session cookie in the browser: characters of a cookie name (RFC 6265 token), such as "postern.". Default, also for "": "postern.".',
  }),
  inactivity_timeout: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: YEAR_SECONDS,
    description:
      'Seconds of inactivity after which the person must log in again, 0 to 31536000. 0: the setting login_inactivity_timeout applies.',
  }),
  maximum_duration: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: MAX_UINT32,
    description:
      'Seconds after which the person must log in again even if active, 0 to 4294967295. 0: the setting login_maximum_duration applies.',
  }),
  auth_check_interval: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: YEAR_SECONDS,
    description:
      'Seconds after which the provider is asked again about the person, and the rules are evaluated again: 0, or 60 to 31536000. 0: only at the login.',
  }),
};

export const oauthConfig = Type.Object({
  enabled: enabledField,
  provider: Type.Object(providers, { description: 'Exactly one provider.' }),
  ...sessionFields,
});

export type OauthConfig = Omit<Static<typeof oauthConfig>, 'provider'> & {
  readonly provider: Readonly<Record<ProviderName, ProviderConfig | null>>;
};

/** The provider that is set; null when none or several are. */
export function chosenProvider({
  provider,
}: Pick<OauthConfig, 'provider'>): { readonly name: ProviderName; readonly config: ProviderConfig } | null {
  const set = PROVIDER_NAMES.flatMap((name) => {
    const config = provider[name] ?? null;
    return config === null ? [] : [{ name, config }];
  });
  return set.length === 1 ? (set[0] ?? null) : null;
}

const MIN_CHECK_SECONDS = 60;

/** Rules across fields. Client id and secret are required: there is no application of a service to fall back to. */
export function checkOauth(config: OauthConfig): readonly FieldProblem[] {
  const chosen = chosenProvider(config);
  const interval = config.auth_check_interval;
  return [
    ...(chosen === null
      ? [
          bodyProblem(
            'provider',
            `must have exactly one of ${PROVIDER_NAMES.join(', ')}, and the others null or absent`,
          ),
        ]
      : providerProblems(chosen.name, chosen.config)),
    ...(interval > 0 && interval < MIN_CHECK_SECONDS
      ? [bodyProblem('auth_check_interval', `must be 0, or at least ${MIN_CHECK_SECONDS}`)]
      : []),
  ];
}

function providerProblems(name: ProviderName, config: ProviderConfig): readonly FieldProblem[] {
  const problem = (field: string, message: string): FieldProblem => ({
    path: `/provider/${name}/${field}`,
    message,
  });
  const found: FieldProblem[] = [];
  if (config.client_id === '') found.push(problem('client_id', 'must be the client ID of your own application'));
  const lists = {
    email_addresses: addressProblem,
    email_domains: domainProblem,
    teams: teamProblem,
    organizations: (text: string) => (NAME.test(text) ? null : 'must be the name of a GitHub organization'),
  } as const;
  for (const [field, check] of Object.entries(lists) as [keyof typeof lists, (text: string) => string | null][]) {
    const items = config[field] ?? [];
    if (new Set(items).size < items.length) found.push(problem(field, 'must not contain the same value twice'));
    const wrong = items.map(check).find((each) => each !== null);
    if (wrong !== undefined && wrong !== null) found.push(problem(field, wrong));
  }
  const missing = missingScope(name, config);
  if (missing !== null) found.push(problem('scopes', missing));
  return found;
}

/** Scopes that were chosen must suffice for the rules. */
function missingScope(name: ProviderName, config: ProviderConfig): string | null {
  const { emailScopes, memberScopes } = providerDefinitions[name];
  if (config.scopes.length === 0) return null;
  const lacks = (needed: readonly string[]): boolean => !needed.some((scope) => config.scopes.includes(scope));
  if (config.email_addresses.length + config.email_domains.length > 0 && lacks(emailScopes)) {
    return `must contain ${emailScopes[0]}, which the email rules need, or be empty`;
  }
  const members = (config.teams?.length ?? 0) + (config.organizations?.length ?? 0);
  return members > 0 && lacks(memberScopes)
    ? `must contain ${memberScopes[0]}, which the rules about teams and organizations need, or be empty`
    : null;
}

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,98}[A-Za-z0-9])?$/;

function addressProblem(text: string): string | null {
  const at = text.lastIndexOf('@');
  if (text !== text.toLowerCase()) return `must be in lower case: ${JSON.stringify(text)}`;
  const isAddress = at > 0 && /^[^\s@\p{Cc}]+$/u.test(text.slice(0, at)) && domainProblem(text.slice(at + 1)) === null;
  return isAddress ? null : `must be email addresses, such as "ana@example.com": ${JSON.stringify(text)}`;
}

function domainProblem(text: string): string | null {
  if (text !== text.toLowerCase()) return `must be in lower case: ${JSON.stringify(text)}`;
  const labels = text.split('.');
  const isDomain = labels.length > 1 && labels.every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label));
  // Invalid punycode stays as it is.
  const isEncoded = labels.every((label) => !label.startsWith('xn--') || domainToUnicode(label) !== label);
  return isDomain && isEncoded
    ? null
    : `must be domains such as "example.com", in ASCII (punycode): ${JSON.stringify(text)}`;
}

function teamProblem(text: string): string | null {
  const [owner = '', team = '', ...rest] = text.split('/');
  const isSlug = rest.length === 0 && NAME.test(owner) && /^[A-Za-z0-9_.-]{1,100}$/.test(team);
  return isSlug || /^[0-9]{1,15}$/.test(text)
    ? null
    : `must be GitHub teams as "organization/team", or their ids: ${JSON.stringify(text)}`;
}

/** Ends the login, so that the next one may use another account. */
const LOGOUT_PATH = '/.postern/logout';

/** Decides whether a user may enter; null: yes. */
type Membership = (user: Identity) => Refusal | null;

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
