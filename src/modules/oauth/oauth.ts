import type { Refusal } from '../contract/decides.ts';
import { defineModule } from '../contract/module.ts';
import type { Preparation, PreparePorts } from '../contract/prepare.ts';
import { login } from '../login/login.ts';
import { LOGIN_REASONS, type LoginConfig, LoginOnRoute } from '../login/login-on-route.ts';
import { acceptOauthForm, oauthAgentForm, oauthFormSchema } from './agent-form.ts';
import { checkOauth } from './check-oauth.ts';
import { oauthErrors } from './errors.ts';
import { membership } from './membership-rules.ts';
import { OauthClient } from './oauth-client.ts';
import { chosenProvider, type OauthConfig, oauthConfig } from './oauth-config.ts';
import { OauthRuntime } from './oauth-runtime.ts';
import { providerDefinitions } from './providers/provider-definitions.ts';
import { oauthRouteClient } from './route-client.ts';
import { oauthSettings } from './settings.ts';

/** Requires a login at one of eight providers, most of which are not OpenID providers. */
export const oauth = defineModule({
  name: 'oauth',
  level: 'route',
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
