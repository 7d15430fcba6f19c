import Type from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import { fieldName } from '../../kit/schema/field-problem.ts';
import type { AcceptedForm, AgentForm } from '../contract/agent-form.ts';
import type { Refusal } from '../contract/decides.ts';
import { defineModule } from '../contract/module.ts';
import type { Preparation, PreparePorts } from '../contract/prepare.ts';
import { login } from '../login/login.ts';
import { LOGIN_REASONS, type LoginConfig, LoginOnRoute } from '../login/login-on-route.ts';
import { oauthErrors } from './errors.ts';
import { OauthClient } from './oauth-client.ts';
import {
  checkOauth,
  chosenProvider,
  membership,
  type OauthConfig,
  oauthConfig,
  providerFields,
  sessionFields,
} from './oauth-config.ts';
import { OauthRuntime, oauthRouteClient } from './oauth-runtime.ts';
import { PROVIDER_NAMES } from './provider-definition.ts';
import { providerDefinitions } from './providers.ts';
import { oauthSettings } from './settings.ts';

/** The configuration without the level of the provider's name, which neither a flag nor a line of YAML can express. */
const oauthFormSchema = Type.Object({
  provider: Type.String({
    default: '',
    maxLength: 32,
    description: `The provider: ${PROVIDER_NAMES.join(', ')}.`,
  }),
  ...providerFields.properties,
  ...sessionFields,
});

const oauthAgentForm: AgentForm = {
  order: 1.5,
  group: 'provider',
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

/** Requires a login at one of eight providers, most of which are not OpenID providers. */
export const oauth = defineModule({
  name: 'oauth',
  on: ['requests'],
  decidesAccess: true,
  readsPath: false,
  isLogin: true,
  learnsFrom: (config, context) => {
    const chosen = chosenProvider(config as unknown as OauthConfig);
    return chosen === null || chosen.config.client_id === '' ? null : oauthRouteClient(chosen, context);
  },
  title: 'OAuth module',
  description: 'Requires a login at Amazon, Facebook, GitHub, GitLab, Google, LinkedIn, Microsoft or Twitch.',
  config: oauthConfig,
  example: {
    provider: {
      github: {
        client_id: 'Iv1.0123456789abcdef',
        client_secret: 'a-secret-of-the-provider',
        organizations: ['acme'],
      },
    },
    auth_check_interval: 3600,
  },
  check: (config) => checkOauth(config as OauthConfig),
  errors: { title: 'Traffic: OAuth login', rows: oauthErrors.rows },
  agent: { form: oauthAgentForm, schema: oauthFormSchema, accept: acceptOauthForm },
  settings: oauthSettings,
  shared: [login],
  reasons: LOGIN_REASONS,
  createRuntime: (ports, settings) => Promise.resolve(new OauthRuntime(ports, settings as never)),
  prepare: (config, ports) => prepare(config as OauthConfig, ports),
});

function prepare(
  config: OauthConfig,
  { place, runtime, settings, askedClaims }: PreparePorts<OauthRuntime>,
): Preparation {
  const chosen = chosenProvider(config);
  if (
    chosen === null ||
    chosen.config.client_id === '' ||
    chosen.config.client_secret === '' ||
    place.routeId === null
  ) {
    const message =
      'the login needs exactly one provider with client_id and client_secret: set them with "postern api oauth replace" or PUT. To allow access without login, delete the module or set "enabled": false';
    return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
  }
  // No traffic is served here, so nobody is admitted.
  if (runtime === null) return { ok: true, prepared: { judge: () => NOT_SERVED } };
  const { client_id: clientId, client_secret: clientSecret } = chosen.config;
  const definition = providerDefinitions[chosen.name];
  const endpoints = runtime.endpointsOf(chosen.name);
  const { issuer, scopes, scopesFor } = oauthRouteClient(chosen, {
    edgeId: place.edgeId,
    settings,
    asked: askedClaims(),
  });
  const loginConfig: LoginConfig = {
    module: 'oauth',
    edgeId: place.edgeId,
    routeId: place.routeId,
    issuer,
    clientId,
    identityProvider: { name: chosen.name, url: new URL(issuer).origin },
    scopes,
    cookiePrefix: config.cookie_prefix,
    limits: runtime.login.limitsOf({
      inactivitySeconds: config.inactivity_timeout,
      maximumSeconds: config.maximum_duration,
    }),
    parameters: null,
    passesOptions: config.options_passthrough,
    scopesFor,
    recheckSeconds: config.auth_check_interval,
    admits: membership(definition, chosen.config),
  };
  const client = new OauthClient(
    { definition, endpoints, clientId, clientSecret, scopes, isChecked: config.auth_check_interval > 0 },
    runtime.fetch,
    definition.hasIdToken === true ? runtime.tenantTokens(endpoints.authorize_url) : null,
  );
  return { ok: true, prepared: new LoginOnRoute(runtime.login, loginConfig, client) };
}

const NOT_SERVED: Refusal = {
  status: 503,
  code: 'ERR_POSTERN_MODULE_UNAVAILABLE',
  message: 'Login is not available here.',
  reason: 'not_served',
};
