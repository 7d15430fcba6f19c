import Type from 'typebox';
import { secret } from '../../lib/schema/annotations.ts';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import type { Refusal } from '../contract/decides.ts';
import { type CheckContext, defineModule, enabledField } from '../contract/module.ts';
import type { Preparation, PreparePorts } from '../contract/prepare.ts';
import { checkIssuer } from '../login/check-issuer.ts';
import { login } from '../login/login.ts';
import { LOGIN_REASONS, type LoginConfig, LoginOnRoute } from '../login/login-on-route.ts';
import { askedParameters } from '../login/login-parameters.ts';
import { OpenIdLogin } from '../login/openid/openid-login.ts';
import type { LoginSettings } from '../login/settings.ts';
import { acceptOidcForm, oidcAgentForm } from './agent-form.ts';
import { loginParameters } from './login-parameters.ts';
import { OidcRuntime } from './oidc-runtime.ts';
import { type ConfiguredClient, routeClient } from './route-client.ts';

const MAX_UINT32 = 4_294_967_295;

export const oidcConfig = Type.Object({
  enabled: enabledField,
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
    maximum: MAX_UINT32,
    description:
      'Seconds of inactivity after which the person must log in again, 0 to 4294967295. 0: the setting login_inactivity_timeout applies.',
  }),
  maximum_duration: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: MAX_UINT32,
    description:
      'Seconds after which the person must log in again even if active, 0 to 4294967295. 0: the setting login_maximum_duration applies.',
  }),
  issuer: Type.String({
    default: '',
    maxLength: 2048,
    description:
      'Issuer URL of the OpenID provider, the base of its discovery document: an absolute https URL without query or fragment, such as "https://accounts.example.com".',
  }),
  client_id: Type.String({
    default: '',
    maxLength: 1024,
    description:
      'Client ID at the provider, which is also the required audience of its tokens. Empty with the issuer of this server (identity_host): the edge then has its own client there.',
  }),
  client_secret: secret(
    'readable',
    Type.String({
      default: '',
      maxLength: 4096,
      description: 'Client secret at the provider. Encrypted at rest; reading it requires the scope secrets:read.',
    }),
    { field: 'issuer' },
  ),
  scopes: Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$' }), {
    default: [],
    maxItems: 100,
    description:
      'Scopes to request from the provider, each without spaces. "openid" is always requested. Empty: those that the access rules of the route need, such as email; with the issuer of this server and no client_id: openid, email, profile and groups.',
  }),
  login_parameters: loginParameters,
});

/** Requires a login at an OpenID provider before a request may pass. */
export const oidc = defineModule({
  name: 'oidc',
  level: 'route',
  decidesAccess: true,
  readsPath: false,
  isLogin: true,
  learnsFrom: (config, context) => routeClient(config as unknown as ConfiguredClient, context),
  title: 'OIDC module',
  description: 'Requires a login at an OpenID provider.',
  config: oidcConfig,
  example: {
    issuer: 'https://accounts.example.com',
    client_id: 'my-app',
    client_secret: 'a-secret-of-the-provider',
    scopes: ['openid', 'email'],
    maximum_duration: 86_400,
  },
  check,
  prepare,
  agent: { form: oidcAgentForm, accept: acceptOidcForm },
  shared: [login],
  reasons: LOGIN_REASONS,
  createRuntime: (ports) => Promise.resolve(new OidcRuntime(ports)),
});

/**
 * An enabled module without issuer or client id is stored: the route then rejects traffic and reports what is missing.
 */
function check(config: Type.Static<typeof oidcConfig>, context: CheckContext<LoginSettings>): readonly FieldProblem[] {
  const { issuer } = config;
  const problem = issuer === '' ? null : checkIssuer(issuer, context);
  return problem === null ? [] : [bodyProblem('issuer', problem)];
}

function prepare(
  config: Type.Static<typeof oidcConfig>,
  { place, runtime, configuredBy, settings, askedClaims }: PreparePorts<OidcRuntime>,
): Preparation {
  const client = routeClient(config, { edgeId: place.edgeId, settings, asked: askedClaims() });
  if (client === null || place.routeId === null) {
    const missing = (['issuer', 'client_id'] as const).filter((field) => config[field] === '');
    const message = `login has no ${missing.join(' and no ')}: set it with "postern api oidc replace" or PUT${missingIdentity(config.issuer)}. To allow access without login, delete the module or set "enabled": false`;
    return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
  }
  // No traffic is served here, so nobody is admitted.
  if (runtime === null) return { ok: true, prepared: { judge: () => NOT_SERVED } };
  const parameters = config.login_parameters === undefined ? null : askedParameters(config.login_parameters);
  const { issuer, clientId, scopes } = client;
  const loginConfig: LoginConfig = {
    module: 'oidc',
    edgeId: place.edgeId,
    routeId: place.routeId,
    issuer,
    clientId,
    identityProvider: { name: 'oidc', url: issuer },
    scopes,
    cookiePrefix: config.cookie_prefix,
    limits: runtime.login.limitsOf({
      inactivitySeconds: config.inactivity_timeout,
      maximumSeconds: config.maximum_duration,
    }),
    parameters,
    passesOptions: config.options_passthrough,
    scopesFor: client.scopesFor,
    recheckSeconds: null,
    admits: null,
  };
  const login = new OpenIdLogin(runtime.login.providersFor(configuredBy).get(issuer), {
    issuer,
    clientId,
    clientSecret: client.isOwn ? (runtime.login.ownIssuer?.clientSecretOf(clientId) ?? '') : config.client_secret,
    scopes,
    scopesIfKnown: client.scopesIfKnown,
    parameters,
  });
  return { ok: true, prepared: new LoginOnRoute(runtime.login, loginConfig, login) };
}

function missingIdentity(issuer: string): string {
  return issuer === '' ? '' : `, or set identity_host if ${issuer} is to be this server's own identity host`;
}

const NOT_SERVED: Refusal = {
  status: 503,
  code: 'ERR_POSTERN_MODULE_UNAVAILABLE',
  message: 'Login is not available here.',
  reason: 'not_served',
};
