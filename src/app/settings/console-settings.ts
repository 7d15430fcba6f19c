import {
  choice,
  duration,
  hinted,
  optional,
  required,
  text,
  textList,
  visibleText,
} from '../../kit/settings/setting.ts';
import { emailAddress, isAddressClaim } from '../../kit/text/email-address.ts';

const issuer = text('an OpenID issuer, such as https://accounts.example.com', (value) => {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && !/[?#\s]/.test(value);
});
const ROLE_RULE = /^(?:viewer|operator|admin)=(?:\*|(?<claim>https?:\/\/\S+|(?!https?:\/\/)[^:\s]+):(?<value>.+))$/;
const roleRules = textList(
  'rules such as admin=groups:platform, operator=email:ann@example.com or viewer=*, with addresses by the claim email alone, which must be verified',
  (rule) => {
    const found = ROLE_RULE.exec(rule);
    if (found === null) return false;
    const { claim, value = '' } = found.groups ?? {};
    if (claim === undefined) return true;
    return claim === 'email' ? emailAddress(value)?.isPlain === true : !isAddressClaim(claim, [value]);
  },
);

/** Members of this group are administrators of the console, unless `console_roles` names others. */
export const ADMINISTRATORS_GROUP = 'postern-admins';

const LOCAL_ROLES = ['off', 'viewer', 'operator', 'admin'] as const;

/** Settings of the console at /console, and of commands on the machine of the server. */
export const consoleSettings = {
  local_commands: required(choice(LOCAL_ROLES), {
    description:
      'Role of commands without an API key that the user of the server, or root, runs on its machine: viewer, operator or admin, as in console_roles. They reach the server through a socket in the data directory that nobody else can open, and the history of changes names them local:NODE. off: commands need an API key, and postern open makes no link without one.',
  }),
  console_session_idle: required(duration('seconds', 60, 2_592_000), {
    description: 'Time without a request after which a session of the console ends.',
  }),
  console_session_lifetime: required(duration('seconds', 60, 31_536_000), {
    description: 'Time after which a session of the console ends, even if it is in use.',
  }),
  console_oidc_issuer: optional(hinted('URL', issuer), {
    description:
      'Issuer of the OpenID provider at which people log in to the console. The redirect URI to register there is the URL of the API with /console/callback. Unset: people log in at identity_host; without that, login with API keys only.',
  }),
  console_oidc_client_id: optional(hinted('ID', visibleText), {
    description: 'Client id of the console at the OpenID provider.',
  }),
  console_oidc_client_secret: optional(hinted('SECRET', text('a client secret')), {
    description:
      'Client secret of the console at the OpenID provider. Unset: a public client, protected by PKCE alone.',
    secrecy: 'secret',
  }),
  console_roles: required(hinted('ROLE=CLAIM:VALUE,…', roleRules), {
    description:
      'Roles of people who log in to the console, as ROLE=CLAIM:VALUE. A person gets the highest role of all rules that match a claim of the login; a list matches if it contains the value, and a name such as realm_access.roles leads into objects. email:ADDRESS matches only an address that the provider has verified; other claims cannot be used for addresses. The name of the claim ends at the first colon, or at the last one if the name is a URL, as in admin=https://example.com/groups:platform. ROLE=* matches everybody. viewer reads everything except secrets, operator also writes everything except keys, credentials, agent invitations, service accounts and their tokens, guest links, console sessions, user accounts and OpenID clients, admin may do everything. People without a role cannot log in. Empty, with people who log in at identity_host: admin=groups:postern-admins.',
  }),
};
