import Type from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import { secret } from '../../kit/schema/annotations.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import type { AcceptedForm, AgentForm } from '../contract/agent-form.ts';
import type { Refusal } from '../contract/decides.ts';
import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { type CheckContext, defineModule, enabledField } from '../contract/module.ts';
import { ownIssuerOf } from '../contract/own-issuer.ts';
import type { AskedClaims, LearningClient, LearningContext, Preparation, PreparePorts } from '../contract/prepare.ts';
import { checkIssuer } from '../login/issuer-problem.ts';
import { login } from '../login/login.ts';
import { askedParameters } from '../login/login-client.ts';
import { LOGIN_REASONS, type LoginConfig, LoginOnRoute } from '../login/login-on-route.ts';
import type { LoginRuntime } from '../login/login-runtime.ts';
import { OpenIdLogin } from '../login/openid/openid-login.ts';
import type { LoginSettings } from '../login/settings.ts';

/** The module's part of the logins of this process. */
export class OidcRuntime implements ModuleRuntime {
  readonly login: LoginRuntime;

  constructor(ports: Pick<RuntimePorts, 'shared' | 'ownConfigs'>) {
    this.login = ports.shared(login);
    this.login.keepClients((edgeId) =>
      ports.ownConfigs(edgeId).map((config) => ({
        issuer: config['issuer'] as string,
        // A route without a client at our own provider has the one of its edge.
        clientId: (config['client_id'] as string) || edgeId,
      })),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

interface RouteClient extends LearningClient {
  /** At Postern's own provider, each edge has a client that is not configured anywhere. */
  readonly isOwn: boolean;
  /** Requested only if the provider announces them. */
  readonly scopesIfKnown: readonly string[];
}

interface ConfiguredClient {
  readonly issuer: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
}

/** The client of a route, and what it requests; null: something is missing. */
function routeClient(config: ConfiguredClient, context: LearningContext): RouteClient | null {
  const { issuer, client_id: clientId, scopes } = config;
  const isOwn = clientId === '' && issuer !== '' && issuer === ownIssuerOf(context.settings);
  if (issuer === '' || (clientId === '' && !isOwn)) return null;
  const asked = [...new Set(context.asked.flatMap(({ claims }) => claims))];
  const isChosenHere = scopes.length === 0;
  return {
    issuer,
    isOwn,
    isDiscovered: !isOwn,
    clientId: isOwn ? context.edgeId : clientId,
    scopes: isChosenHere ? (isOwn ? OWN_SCOPES : neededScopes(context.asked)) : scopes,
    scopesIfKnown: isChosenHere && !isOwn ? asked.filter(hasNoStandard).map(namesakeScope) : [],
    scopesFor: (claim) => [...standardScopes(claim), ...(isOwn && claim === 'groups' ? ['groups'] : [])],
  };
}

/** The standard scopes that rules need. */
function neededScopes(asked: readonly AskedClaims[]): readonly string[] {
  return [...new Set(asked.flatMap(({ claims }) => claims.flatMap((claim) => standardScopes(claim).slice(0, 1))))];
}

function hasNoStandard(claim: string): boolean {
  return standardScopes(claim).length === 0;
}

const OWN_SCOPES: readonly string[] = ['openid', 'email', 'profile', 'groups'];

/** OpenID Connect Core 1.0 §5.4: the claims that each scope asks for. */
const CLAIMS_OF_SCOPES: Readonly<Record<string, readonly string[]>> = {
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
  address: ['address'],
  profile: [
    ...['name', 'family_name', 'given_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture'],
    ...['website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
  ],
};

/** The standard scopes for a claim; empty: the standard does not say. A dotted name is a path into an object. */
function standardScopes(claim: string): readonly string[] {
  const name = firstName(claim);
  return Object.keys(CLAIMS_OF_SCOPES).filter((scope) => CLAIMS_OF_SCOPES[scope]?.includes(name) === true);
}

/** `groups` for a claim `groups`: many providers name scopes after claims, and announce those that they know. */
function namesakeScope(claim: string): string {
  return firstName(claim);
}

function firstName(claim: string): string {
  return claim.split('.')[0] ?? claim;
}

/** The fields are those of the module's configuration. */
const oidcAgentForm: AgentForm = {
  order: 1,
  group: 'provider',
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
function acceptOidcForm(
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

const WORD = '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$';

/** OpenID Connect Core 1.0 §3.1.2.1, and one of Google's. */
const loginParameters = Type.Object(
  {
    prompt: Type.String({
      default: '',
      maxLength: 64,
      pattern: '^(login|consent|select_account)( (login|consent|select_account)){0,2}$',
      description:
        'What the provider shows even if it knows the browser: "login", "consent", "select_account", or several of them separated by spaces. "": the provider decides.',
    }),
    max_age: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 4_294_967_295,
      description:
        'The person must have entered their credentials at most this many seconds before the login, which the ID token must confirm ("auth_time"). 0: at any time.',
    }),
    acr_values: Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: WORD }), {
      default: [],
      maxItems: 10,
      description:
        'Authentication methods to ask for, the preferred one first. The provider may use another one and names it in the claim "acr".',
    }),
    access_type: Type.String({
      default: '',
      maxLength: 16,
      pattern: '^(online|offline)$',
      description: 'For Google: "offline" asks for a refresh token. "": not sent.',
    }),
  },
  {
    // Absent unless it is sent: the interface's table of fields does not have it.
    default: undefined,
    description:
      'Parameters of the login request. A login that did not ask for them does not count on this route: the person logs in again.',
  },
);

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
  on: ['requests'],
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
