import type { AgentForm } from '../contract/agent-form.ts';

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
    { name: 'inactivity_timeout', example: '3600' },
    { name: 'maximum_duration', example: '86400' },
  ],
  summary: ['login at {issuer}'],
};
