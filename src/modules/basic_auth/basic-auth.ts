import type { Refusal } from '../contract/decides.ts';
import { defineModule } from '../contract/module.ts';
import type { Preparation, PreparePorts } from '../contract/prepare.ts';
import { login } from '../login/login.ts';
import { isHash } from '../login/passwords/password-hash.ts';
import { acceptBasicAuthForm, basicAuthAgentForm, basicAuthAgentSchema } from './agent-form.ts';
import { BasicAuthRuntime } from './basic-auth-runtime.ts';
import { type BasicAuthConfig, basicAuthConfig, checkUsers, normalizeUsers } from './config.ts';
import { basicAuthErrors } from './errors.ts';
import { PasswordsOnRoute } from './passwords-on-route.ts';
import { UserSeal } from './seal-users.ts';

const users = new UserSeal();

/** Requires a user name and a password, which the route itself knows. */
export const basicAuth = defineModule({
  name: 'basic_auth',
  level: 'route',
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
