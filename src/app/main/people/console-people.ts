import type { Logger } from 'pino';
import { OPERATOR_REQUEST } from '../../../control/bootstrap.ts';
import { consoleErrors } from '../../../control/console/errors.ts';
import type { People } from '../../../control/console/login-routes.ts';
import { highestRole, parseRoleRule, type Role, type RoleRule, scopesOfRole } from '../../../control/console/roles.ts';
import type { CompiledResource } from '../../../control/documents/catalog.ts';
import { Documents } from '../../../control/documents/documents.ts';
import type { DocumentsContext } from '../../../control/documents/documents-context.ts';
import type { OperationPorts } from '../../../control/documents/operations.ts';
import type { Person } from '../../../control/identity/contracts.ts';
import type { People as IdentityPeople } from '../../../control/identity/people.ts';
import { USER_ACCOUNT_KIND } from '../../../control/identity/people-records.ts';
import type { IdentityClient } from '../../../control/identity/provider/identity-clients.ts';
import type { Operation, OperationResult } from '../../../control/resources/operation.ts';
import type { IdentityFacts } from '../../../control/resources/resource.ts';
import type { Clock } from '../../../kit/clock.ts';
import { PosternError } from '../../../kit/errors.ts';
import { createGuardedFetch } from '../../../kit/http/guarded-fetch.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { localhostLookup } from '../../../kit/net/lookups.ts';
import { isEmailVerified } from '../../../kit/text/email-address.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import { compileRules } from '../../../modules/access/rules.ts';
import type { OwnIssuer } from '../../../modules/contract/own-issuer.ts';
import { textClaim } from '../../../modules/login/claims.ts';
import { plainHttpHosts } from '../../../modules/login/issuer-problem.ts';
import { login } from '../../../modules/login/login.ts';
import { OpenIdLogin } from '../../../modules/login/openid/openid-login.ts';
import { LoginProblem } from '../../../modules/login/provider/login-problem.ts';
import { Provider } from '../../../modules/login/provider/providers.ts';
import type { LoginSettings } from '../../../modules/login/settings.ts';
import { settingsOf } from '../../../modules/module-settings.ts';
import { ADMINISTRATORS_GROUP } from '../../settings/console-settings.ts';
import type { Config } from '../../settings/schema.ts';

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
  const withShownProblem = async <Result>(answer: Promise<Result>): Promise<Result> => {
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
      authorizationUrl: (start) => withShownProblem(client.authorizationUrl(start)),
      exchange: async (callback) => {
        const person = await withShownProblem(client.exchange(callback));
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
  // Issuer and client are set together: see checkTogether.
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

/** Client id of the console at the identity host. No record has such an id. */
export const CONSOLE_CLIENT = 'postern-console';

/** The console as an application of the identity host; its roles decide who may log in. */
export function consoleClient(baseUrl: string, secret: string): IdentityClient {
  return {
    name: 'Postern console',
    metadata: {
      client_id: CONSOLE_CLIENT,
      client_secret: hashToken(secret),
      redirect_uris: [`${baseUrl}/console/callback`],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
    admits: () => true,
    backChannelLogoutUri: null,
    agent: null,
  };
}

/**
 * Roles of people in the console, decided by the rules of routes: an address counts only if it is verified, and no
 * other claim stands for it.
 */
export function consoleRoles(written: readonly string[]): (claims: JsonObject) => Role | null {
  // The settings have been checked.
  const rules = written.map((text) => parseRoleRule(text) as RoleRule);
  const compiled = new Map(rules.map((rule) => [rule, compile(rule)]));
  return (claims) => {
    const person = {
      kind: 'user',
      id: '',
      email: textClaim(claims, 'email'),
      isEmailVerified: isEmailVerified(claims),
      name: '',
      claims,
      droppedClaims: [],
    } as const;
    return highestRole(rules, (rule) => compiled.get(rule)?.(person).allowed ?? true);
  };
}

/** Rules for people who log in at the identity host. */
function identityRoleRules({ console_roles: rules }: Pick<Config, 'console_roles'>): readonly string[] {
  return rules.length > 0 ? rules : [`admin=groups:${ADMINISTRATORS_GROUP}`];
}

/**
 * Scopes that a person with these claims has in the console. Also while the console uses another provider: the account
 * would have them from the moment it uses the identity host.
 */
export function identityScopes(config: Config, all: readonly string[]): (claims: JsonObject) => readonly string[] {
  const roleOf = consoleRoles(identityRoleRules(config));
  return (claims) => {
    const role = roleOf(claims);
    return role === null ? [] : scopesOfRole(role, all);
  };
}

/** Null: everybody. */
function compile({ claim, value }: RoleRule): ReturnType<typeof compileRules> | null {
  if (claim === null) return null;
  const rule = claim === 'email' ? { emails: [value] } : { claims: Object.fromEntries([[claim, [value]]]) };
  return compileRules({ allow: [rule], deny: [], bearer: [] });
}

interface LogoutPorts {
  readonly issuer: string;
  readonly operations: readonly Operation<OperationPorts>[];
  readonly ports: OperationPorts;
}

/** The API's own operation, by wish of the person, whom the history names. */
export async function logOutOneself(
  { id, email }: Pick<Person, 'id' | 'email'>,
  { issuer, operations, ports }: LogoutPorts,
): Promise<void> {
  const logOut = operations.find(({ resource, verb }) => resource === 'user_accounts' && verb === 'sign_out');
  if (logOut === undefined) throw new Error('people cannot be logged out');
  const principal = { ...OPERATOR_REQUEST.principal, person: email, identity: { issuer, subject: id } };
  try {
    await logOut.run({ ...OPERATOR_REQUEST, principal, params: { id }, body: {} }, ports);
  } catch (error) {
    // Somebody deleted the account meanwhile, and its logins with it.
    if (!(error instanceof PosternError && error.code === 'ERR_POSTERN_NOT_FOUND')) throw error;
  }
}

const DAY_MS = 86_400_000;

interface FirstAdministratorPorts {
  readonly config: Config;
  readonly context: DocumentsContext;
  readonly people: IdentityPeople;
  readonly identity: IdentityFacts;
  readonly ports: OperationPorts;
  readonly invite: Operation<OperationPorts>;
}

/**
 * A link with which somebody becomes the first administrator. Null: there is one, or no account of the identity host
 * can be one. An earlier link no longer works.
 */
export async function firstAdministratorLink(deps: FirstAdministratorPorts): Promise<string | null> {
  const { config, context, people, ports } = deps;
  const { console_oidc_issuer: issuer } = config;
  const identity: IdentityFacts = { ...deps.identity, invitationMs: DAY_MS, mail: () => null };
  if (issuer !== null && issuer !== identity.issuer) return null;
  const body = administrator(identityRoleRules(config), identity.hostname);
  if (body === null) return null;
  // Another node may have one already.
  await context.replica.refresh();
  if (people.hasAdministrator()) return null;
  const known = people.accountByEmail(body.email);
  if (known !== undefined) {
    // Somebody disabled the account, or took its group away.
    if (!people.isAdministrator(known.id)) return null;
    const request = { ...OPERATOR_REQUEST, params: { id: known.id }, body: {} };
    const result = await deps.invite.run(request, { ...ports, people: { ...ports.people, identity } });
    return linkIn(result);
  }
  const documents = new Documents({ ...context, settings: { ...context.settings, identity } });
  const compiled = context.catalog.compiled.get(USER_ACCOUNT_KIND) as CompiledResource;
  try {
    return linkIn(await documents.create(compiled, { ...OPERATOR_REQUEST, body }, null));
  } catch (error) {
    // Another node started at the same time, and has the link.
    if (error instanceof PosternError && error.code === 'ERR_POSTERN_ALREADY_EXISTS') return null;
    throw error;
  }
}

function linkIn({ body }: OperationResult): string | null {
  const link = body?.['invitation_url'];
  return typeof link === 'string' ? link : null;
}

/** An account that the rules make an administrator. */
function administrator(
  rules: readonly string[],
  hostname: string,
): { readonly email: string; readonly name: string; readonly groups: string[] } | null {
  const account = { email: `admin@${hostname}`, name: 'Administrator', groups: [] };
  for (const text of rules) {
    const rule = parseRoleRule(text);
    if (rule?.role !== 'admin') continue;
    if (rule.claim === 'groups') return { ...account, groups: [rule.value] };
    if (rule.claim === 'email') return { ...account, email: rule.value };
  }
  return null;
}
