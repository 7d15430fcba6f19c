import assert from 'node:assert/strict';
import type { Clock } from '../../../src/kit/clock.ts';
import { createGuardedFetch, type GuardedFetch } from '../../../src/kit/http/guarded-fetch.ts';
import type { LoginTokens } from '../../../src/modules/login/login-client.ts';
import { type ClientConfig, OpenIdLoginClient } from '../../../src/modules/login/openid/openid-login-client.ts';
import { LoginProblem, type LoginProblemKind } from '../../../src/modules/login/provider/login-problem.ts';
import { Providers } from '../../../src/modules/login/provider/providers.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { type Bend, type Endpoint, type HostileProvider, PATHS, startHostileProvider } from './hostile-provider.ts';

export interface HostileWorld {
  readonly provider: HostileProvider;
  readonly client: OpenIdLoginClient;
  readonly clock: Clock & { offsetMs: number };
  /** Creates another client; the provider's cached data is shared. */
  clientWith(config: Partial<ClientConfig>): OpenIdLoginClient;
  /** A complete login, as a browser would perform it. */
  login(client?: OpenIdLoginClient): Promise<LoginTokens>;
  /** The first half: the browser's callback, and the parameters of the login. */
  authorize(client?: OpenIdLoginClient): Promise<Callback>;
}

export type Callback = Parameters<OpenIdLoginClient['exchange']>[0];

const MAX_BYTES = 65_536;
/** For responses that never end. Others get the ordinary timeout, so that a slow machine does not fail them. */
const IMPATIENT_MS = 200;

/** The protocol client against the hostile provider; no edge is needed. */
export async function openHostileWorld(
  test: Cleanup,
  bend: Bend = {},
  options: { readonly isImpatientAt?: Endpoint } = {},
): Promise<HostileWorld> {
  const provider = await startHostileProvider(test, bend);
  const clock = { offsetMs: 0, nowMs: () => Date.now() + clock.offsetMs };
  const limits = {
    isAddressAllowed: () => true,
    isPlainHttpAllowed: (hostname: string) => hostname === '127.0.0.1',
    maxBytes: MAX_BYTES,
  };
  const patient = createGuardedFetch(limits);
  const impatient = createGuardedFetch({ ...limits, timeoutMs: IMPATIENT_MS });
  const fetch: GuardedFetch = (url, init) => {
    const endpoint = PATHS[new URL(url).pathname];
    return (endpoint !== undefined && endpoint === options.isImpatientAt ? impatient : patient)(url, init);
  };
  const providers = new Providers({ fetch, clock, isPlainHttpAllowed: () => false });
  const clientWith = (config: Partial<ClientConfig>): OpenIdLoginClient =>
    new OpenIdLoginClient(providers.get(config.issuer ?? provider.issuer), {
      issuer: provider.issuer,
      clientId: provider.clientId,
      clientSecret: provider.clientSecret,
      scopes: ['openid', 'email'],
      ...config,
    });
  const world: HostileWorld = {
    provider,
    client: clientWith({}),
    clock,
    clientWith,
    authorize: async (client = world.client) => {
      const start = {
        redirectUri: 'https://app.example.com/.postern/callback',
        state: 'the-state',
        nonce: 'the-nonce',
        codeVerifier: 'v'.repeat(43),
      };
      const answer = await globalThis.fetch(await client.authorizationUrl(start), { redirect: 'manual' });
      await answer.arrayBuffer();
      return { ...start, callbackUrl: new URL(answer.headers.get('location') ?? '') };
    },
    login: async (client = world.client) => client.exchange(await world.authorize(client)),
  };
  return world;
}

/** Asserts that it is rejected with that reason, and that the message leaks nothing. */
export async function refused(
  attempt: Promise<unknown>,
  kind: LoginProblemKind,
  reason: LoginProblem['reason'],
  secrets: readonly string[] = [],
): Promise<LoginProblem> {
  const problem: unknown = await attempt.then(
    () => null,
    (error: unknown) => error,
  );
  assert.ok(problem instanceof LoginProblem, `was not refused as a LoginProblem: ${String(problem)}`);
  assert.deepEqual([problem.kind, problem.reason], [kind, reason], problem.message);
  assert.equal(problem.cause, undefined);
  for (const secret of [...secrets, 'the client secret', 'access-', 'refresh-', 'eyJ']) {
    assert.ok(!problem.message.includes(secret), `the message gives away "${secret}": ${problem.message}`);
  }
  return problem;
}
