import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import { consoleErrors } from '../../console/errors.ts';
import type { People } from '../../console/login-routes.ts';
import type { Clock } from '../../lib/clock.ts';
import { createGuardedFetch } from '../../lib/http/guarded-fetch.ts';
import type { JsonObject } from '../../lib/json.ts';
import { localhostLookup } from '../../lib/net/localhost-lookup.ts';
import { hashToken } from '../../lib/text/token-hash.ts';
import type { OwnIssuer } from '../../modules/contract/own-issuer.ts';
import { plainHttpHosts } from '../../modules/login/issuer-problem.ts';
import { login } from '../../modules/login/login.ts';
import { OpenIdLogin } from '../../modules/login/openid/openid-login.ts';
import { LoginProblem } from '../../modules/login/provider/login-problem.ts';
import { Provider } from '../../modules/login/provider/providers.ts';
import type { LoginSettings } from '../../modules/login/settings.ts';
import { settingsOf } from '../../modules/module-settings.ts';
import { CONSOLE_CLIENT } from './console-client.ts';
import { consoleRoles, identityRoleRules } from './console-roles.ts';

const SCOPES = ['openid', 'email', 'profile'];

interface Ports {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ownIssuer: OwnIssuer | null;
}

/** How people log in to the console; null without a provider in the settings. */
export function consolePeople(config: Config, ports: Ports): People | null {
  const { clock, logger, ownIssuer } = ports;
  const provider = providerOf(config, ownIssuer);
  if (provider === null) return null;
  const { issuer, clientId, clientSecret, scopes, roles } = provider;
  const isOwn = issuer === ownIssuer?.issuer;
  const loginSettings: LoginSettings = settingsOf(config.moduleSettings, login);
  const isPlainHttpAllowed = plainHttpHosts(loginSettings.oidc_http_issuers);
  // The operator's settings name the provider, so it may have any address.
  const fetch = isOwn
    ? ownIssuer.fetch
    : createGuardedFetch({ isAddressAllowed: () => true, isPlainHttpAllowed, lookup: localhostLookup });
  const client = new OpenIdLogin(new Provider(issuer, { clock, fetch, isPlainHttpAllowed }), {
    issuer,
    clientId,
    clientSecret,
    scopes,
  });
  const rolesOf = consoleRoles(roles);
  const shown = async <Result>(answer: Promise<Result>): Promise<Result> => {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof LoginProblem)) throw error;
      logger.warn({ reason: error.reason, problem: error.message }, 'failed to log somebody in to the console');
      throw shownProblem(error);
    }
  };
  return {
    provider: {
      authorizationUrl: (start) => shown(client.authorizationUrl(start)),
      exchange: async (callback) => {
        const person = await shown(client.exchange(callback));
        if (isOwn) checkPasskeyUsed(person.claims, issuer);
        return person;
      },
    },
    issuer,
    roleOf: rolesOf,
    fingerprint: hashToken(JSON.stringify([issuer, clientId, roles])),
    // What is known about them now counts, not what they were at the login.
    currentRoleOf: isOwn
      ? (subject) => {
          const person = ownIssuer.personOf(subject);
          return person === null ? null : rolesOf(person.claims);
        }
      : null,
  };
}

interface ConsoleProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
}

/** The provider of the settings, otherwise our own. */
function providerOf(config: Config, own: OwnIssuer | null): ConsoleProvider | null {
  const { console_oidc_issuer: issuer, console_oidc_client_id: clientId, console_roles: roles } = config;
  // They are set together: see checkTogether.
  if (issuer !== null && clientId !== null)
    return { issuer, clientId, clientSecret: config.console_oidc_client_secret ?? '', scopes: SCOPES, roles };
  if (own === null) return null;
  return {
    issuer: own.issuer,
    clientId: CONSOLE_CLIENT,
    clientSecret: own.clientSecretOf(CONSOLE_CLIENT),
    scopes: [...SCOPES, 'groups'],
    roles: identityRoleRules(config),
  };
}

/** Nobody with a role gets a code by e-mail. But a session that began with one may be older than the role. */
function checkPasskeyUsed({ amr }: JsonObject, issuer: string): void {
  if (Array.isArray(amr) && amr.includes('pop')) return;
  throw consoleErrors.create(
    'ERR_POSTERN_CONSOLE_PASSKEY',
    `the console requires a passkey, and you logged in with a code: log out at ${issuer}/account, then log in with a passkey`,
  );
}

/** The problem's own text is for the log: it may quote the provider. */
function shownProblem({ kind }: LoginProblem): Error {
  if (kind === 'denied' || kind === 'invalid_grant') {
    return consoleErrors.create('ERR_POSTERN_CONSOLE_LOGIN', 'the OpenID provider denied the login: log in again');
  }
  return consoleErrors.create(
    'ERR_POSTERN_CONSOLE_PROVIDER',
    'the OpenID provider of the console cannot be used now: the log of the server says why. An API key works meanwhile',
  );
}
