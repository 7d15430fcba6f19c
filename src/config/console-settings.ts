import { optional, required } from '../lib/settings/setting.ts';
import { integer, text, textList, visibleText } from '../lib/settings/setting-kinds.ts';

const issuer = text('an OpenID issuer, such as https://accounts.example.com', (value) => {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && !/[?#\s]/.test(value);
});
const roleRules = textList('rules such as admin=groups:platform, operator=email:ann@example.com or viewer=*', (value) =>
  /^(?:viewer|operator|admin)=(?:\*|(?:https?:\/\/\S+|(?!https?:\/\/)[^:\s]+):.+)$/.test(value),
);

/** Settings of the console at /console. */
export const consoleSettings = {
  console_session_idle: required(integer(60, 2_592_000), {
    description: 'Seconds without a request after which a session of the console ends.',
  }),
  console_session_lifetime: required(integer(60, 31_536_000), {
    description: 'Seconds after which a session of the console ends, even if it is in use.',
  }),
  console_oidc_issuer: optional(issuer, {
    description:
      'Issuer of the OpenID provider at which people sign in to the console. The redirect URI to register there is the URL of the API with /console/callback. Unset: sign-in with API keys only.',
  }),
  console_oidc_client_id: optional(visibleText, {
    description: 'Client id of the console at the OpenID provider.',
  }),
  console_oidc_client_secret: optional(text('a client secret'), {
    description:
      'Client secret of the console at the OpenID provider. Unset: a public client, protected by PKCE alone.',
    secrecy: 'secret',
  }),
  console_roles: required(roleRules, {
    description:
      'Roles of people who sign in to the console, as ROLE=CLAIM:VALUE. A person gets the highest role of all rules that match a claim of the login; a list matches if it contains the value, and an email address only if the provider has verified it. The name of the claim ends at the first colon, or at the last one if the name is a URL, as in admin=https://example.com/groups:platform. ROLE=* matches everybody. viewer reads everything except secrets, operator also writes everything except keys, credentials, service accounts and their tokens, guest links and console sessions, admin may do everything. People without a role cannot sign in.',
  }),
};
