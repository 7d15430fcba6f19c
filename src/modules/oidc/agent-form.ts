import type { JsonObject } from '../../lib/json.ts';
import type { AcceptedForm, AgentForm } from '../contract/agent-form.ts';
import { ownIssuerOf } from '../login/own-issuer.ts';

/** The fields are those of the module's configuration. */
export const oidcAgentForm: AgentForm = {
  order: 1,
  key: 'oidc',
  shape: 'map',
  protocols: ['https'],
  tlsReason: 'login requires TLS',
  helpExample: '--oidc-issuer https://accounts.example.com --oidc-client-id my-app --oidc-client-secret @secret',
  fields: [
    {
      name: 'issuer',
      example: 'https://accounts.example.com',
      isNeeded: true,
      flag: { name: 'oidc-issuer', hint: 'URL', description: 'Require a login at this OpenID provider.' },
    },
    {
      name: 'client_id',
      example: 'my-app',
      isNeeded: true,
      flag: { name: 'oidc-client-id', hint: 'ID', description: 'Client ID at the provider.' },
    },
    {
      name: 'client_secret',
      example: '"…"',
      flag: {
        name: 'oidc-client-secret',
        hint: 'SECRET',
        description: 'Client secret at the provider.',
      },
    },
    {
      name: 'scopes',
      example: 'openid, email',
      flag: { name: 'oidc-scope', hint: 'SCOPE', description: 'Scope to request from the provider.' },
    },
    { name: 'options_passthrough', example: 'true' },
    { name: 'cookie_prefix', example: '"…"' },
    { name: 'inactivity_timeout', example: '1h', unit: 'seconds' },
    { name: 'maximum_duration', example: '24h', unit: 'seconds' },
  ],
  bare: {
    key: 'login',
    flag: { name: 'login', hint: '', description: "Require a login at the server's own identity host." },
    summary: "login at the server's identity host",
  },
  summary: ['login at {issuer}'],
};

/** Without a provider, people log in at the server's own: the agent does not know its name. */
export function acceptOidcForm(
  form: JsonObject,
  _endpointId: string,
  settings: object,
): AcceptedForm | { readonly problem: string } {
  const own = ownIssuerOf(settings);
  const { issuer, client_id: clientId, client_secret: clientSecret } = form;
  if (issuer === '' && clientId === '' && clientSecret === '') {
    if (own !== null) return { config: { ...form, issuer: own }, records: [] };
    return { problem: 'the server has no identity host (setting identity_host): name an issuer and a client_id' };
  }
  const missing = ['issuer', ...(issuer === own ? [] : ['client_id'])].filter((name) => form[name] === '');
  return missing.length > 0 ? { problem: `${missing.join(' and ')} must be given` } : { config: form, records: [] };
}
