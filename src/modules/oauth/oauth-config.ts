import Type, { type Static } from 'typebox';
import { secret } from '../../lib/schema/annotations.ts';
import { enabledField } from '../contract/module.ts';
import { PROVIDER_NAMES, type ProviderName } from './provider-definition.ts';

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
