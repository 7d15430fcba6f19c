import Type from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import { secret } from '../../kit/schema/annotations.ts';
import type { AcceptedForm, AgentForm } from '../contract/agent-form.ts';
import type { Refusal } from '../contract/decides.ts';
import { defineModule } from '../contract/module.ts';
import type { Preparation, PreparePorts } from '../contract/prepare.ts';
import { login } from '../login/login.ts';
import { isHash } from '../login/password-checks.ts';
import { BasicAuthRuntime } from './basic-auth-runtime.ts';
import { type BasicAuthConfig, basicAuthConfig, checkUsers, normalizeUsers, UserSeal } from './config.ts';
import { basicAuthErrors } from './errors.ts';
import { PasswordsOnRoute } from './passwords-on-route.ts';

const basicAuthAgentForm: AgentForm = {
  order: 1.7,
  group: 'entry',
  key: 'basic_auth',
  shape: 'list',
  protocols: ['https'],
  tlsReason: 'a password requires TLS',
  fields: [
    {
      name: 'credentials',
      example: '["name:password"]',
      isRepeated: true,
      isNeeded: true,
      rule: 'credentials',
      flag: {
        name: 'basic-auth',
        hint: 'NAME:PASSWORD',
        description: 'Require this user name and password, of at least 8 characters.',
      },
    },
  ],
  whenEmpty: 'basic_auth has no users: write name:password, or remove it',
  summary: ['passwords'],
};

/** As the flag has them: the first colon ends the name. */
const basicAuthAgentSchema = Type.Object({
  credentials: secret(
    'hashed',
    Type.Array(Type.String({ minLength: 1, maxLength: 600 }), {
      minItems: 1,
      maxItems: 20,
      description:
        'Users, each as NAME:PASSWORD: the first colon ends the name, and the password has at least 8 characters.',
    }),
    'nowhere',
  ),
});

/** Messages do not repeat what was sent, which has the password. */
function acceptBasicAuthForm({ credentials }: JsonObject): AcceptedForm | { readonly problem: string } {
  const users = (credentials as readonly string[]).map((each) => {
    const colon = each.indexOf(':');
    return { username: each.slice(0, Math.max(0, colon)), password: each.slice(colon + 1) };
  });
  const wrong = users.findIndex(({ username, password }) => username === '' || password === '');
  if (wrong !== -1) return { problem: `user ${wrong + 1} must be written as name:password` };
  const config = { enabled: true, options_passthrough: false, users, realm: 'Restricted' };
  return { config, records: [] };
}

const users = new UserSeal();

/** Requires a user name and a password, which the route itself knows. */
export const basicAuth = defineModule({
  name: 'basic_auth',
  on: ['requests'],
  decidesAccess: true,
  readsPath: false,
  isLogin: true,
  // The name is all that is known about somebody: no scope would bring more.
  learnsFrom: () => ({
    ...{ issuer: 'basic_auth', clientId: '', isDiscovered: false, scopes: [] },
    scopesFor: (claim) => (claim === 'username' ? [] : ['none']),
  }),
  title: 'Basic auth module',
  description: 'Requires a user name and a password (HTTP Basic authentication, RFC 7617).',
  config: basicAuthConfig,
  example: { users: [{ username: 'alice', password: 'correct horse battery' }], realm: 'Staging' },
  check: checkUsers,
  normalize: normalizeUsers,
  seal: (config, context) => users.seal(config, context),
  agent: { form: basicAuthAgentForm, schema: basicAuthAgentSchema, accept: acceptBasicAuthForm },
  shared: [login],
  reasons: {
    logged_in: 'The user name and the password are right.',
    recognized: 'A token or a guest link identifies the requester, so no password is needed.',
    options_passthrough: 'OPTIONS requests need no password here.',
  },
  errors: { title: 'Traffic: passwords', rows: basicAuthErrors.rows },
  createRuntime: (ports) => Promise.resolve(new BasicAuthRuntime(ports)),
  prepare,
});

function prepare(config: BasicAuthConfig, { place, runtime }: PreparePorts<BasicAuthRuntime>): Preparation {
  const broken = config.users.find(({ password = '' }) => !isHash(password));
  if (broken !== undefined) {
    const message = `the password of the user "${broken.username}" is not stored as it should be: set it again with "postern api basic-auth replace" or PUT`;
    return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
  }
  // No traffic is served here, so nobody is admitted.
  if (runtime === null || place.routeId === null) return { ok: true, prepared: { judge: () => NOT_SERVED } };
  const { realm, options_passthrough: passesOptions, users: known } = config;
  return {
    ok: true,
    prepared: new PasswordsOnRoute(runtime, { routeId: place.routeId, realm, passesOptions, users: known }),
  };
}

const NOT_SERVED: Refusal = {
  status: 503,
  code: 'ERR_POSTERN_MODULE_UNAVAILABLE',
  message: 'Login is not available here.',
  reason: 'not_served',
};
