import Type from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import { fieldName } from '../../lib/schema/field-problem.ts';
import type { AcceptedForm, AgentForm } from '../contract/agent-form.ts';
import { checkOauth } from './check-oauth.ts';
import { type OauthConfig, providerFields, sessionFields } from './oauth-config.ts';
import { PROVIDER_NAMES } from './provider-definition.ts';

/** The configuration without the level of the provider's name, which neither a flag nor a line of YAML can express. */
export const oauthFormSchema = Type.Object({
  provider: Type.String({
    default: '',
    maxLength: 32,
    description: `The provider: ${PROVIDER_NAMES.join(', ')}.`,
  }),
  ...providerFields.properties,
  ...sessionFields,
});

export const oauthAgentForm: AgentForm = {
  order: 1.5,
  key: 'oauth',
  shape: 'map',
  protocols: ['https'],
  tlsReason: 'login requires TLS',
  fields: [
    {
      name: 'provider',
      example: 'github',
      isNeeded: true,
      flag: { name: 'oauth-provider', hint: 'NAME', description: `Require a login at ${PROVIDER_NAMES.join(', ')}.` },
    },
    {
      name: 'client_id',
      example: 'my-app',
      isNeeded: true,
      flag: { name: 'oauth-client-id', hint: 'ID', description: 'Client ID of your application at the provider.' },
    },
    {
      name: 'client_secret',
      example: '"…"',
      isNeeded: true,
      flag: {
        name: 'oauth-client-secret',
        hint: 'SECRET',
        description: 'Client secret of your application.',
      },
    },
    {
      name: 'scopes',
      example: 'user:email',
      flag: { name: 'oauth-scope', hint: 'SCOPE', description: 'Scope to request from the provider.' },
    },
    {
      name: 'email_addresses',
      example: 'ana@example.com',
      flag: { name: 'oauth-allow-email', hint: 'ADDRESS', description: 'Email address that may enter.' },
    },
    {
      name: 'email_domains',
      example: 'example.com',
      flag: {
        name: 'oauth-allow-domain',
        hint: 'DOMAIN',
        description: 'Domain of email addresses that may enter.',
      },
    },
    {
      name: 'teams',
      example: 'acme/ops',
      flag: { name: 'oauth-allow-team', hint: 'TEAM', description: 'GitHub team that may enter.' },
    },
    {
      name: 'organizations',
      example: 'acme',
      flag: {
        name: 'oauth-allow-organization',
        hint: 'NAME',
        description: 'GitHub organization that may enter.',
      },
    },
    { name: 'options_passthrough', example: 'true' },
    { name: 'cookie_prefix', example: '"…"' },
    { name: 'inactivity_timeout', example: '1h', unit: 'seconds' },
    { name: 'maximum_duration', example: '24h', unit: 'seconds' },
    { name: 'auth_check_interval', example: '1h', unit: 'seconds' },
  ],
  summary: ['login at {provider}'],
};

export function acceptOauthForm(form: JsonObject): AcceptedForm | { readonly problem: string } {
  const { provider, options_passthrough, cookie_prefix, inactivity_timeout, maximum_duration, auth_check_interval } =
    form;
  if (!PROVIDER_NAMES.some((name) => name === provider)) {
    return { problem: `provider must be one of ${PROVIDER_NAMES.join(', ')}` };
  }
  const { teams, organizations, ...common } = Object.fromEntries(
    Object.keys(providerFields.properties).map((name) => [name, form[name] ?? []]),
  );
  const members = { teams: teams ?? [], organizations: organizations ?? [] };
  if (provider !== 'github' && Object.values(members).some((list) => Array.isArray(list) && list.length > 0)) {
    return { problem: 'teams and organizations are for the provider github' };
  }
  const chosen = provider === 'github' ? { ...common, ...members } : common;
  const config = {
    enabled: true,
    provider: Object.fromEntries(PROVIDER_NAMES.map((name) => [name, name === provider ? chosen : null])),
    options_passthrough,
    cookie_prefix,
    inactivity_timeout,
    maximum_duration,
    auth_check_interval,
  } as JsonObject;
  const [problem] = checkOauth(config as unknown as OauthConfig);
  return problem === undefined ? { config, records: [] } : { problem: `${fieldName(problem.path)} ${problem.message}` };
}
