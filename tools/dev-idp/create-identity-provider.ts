import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClientMetadata, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { answerInteraction, showPage } from './interactions.ts';
import { loadOidcProvider } from './load-oidc-provider.ts';
import { loopbackFetch } from './loopback-fetch.ts';
import { MemoryStorage } from './memory-storage.ts';
import { messagePage } from './pages.ts';
import { providerConfiguration, type RefreshTokens } from './provider-configuration.ts';
import { RequestWatch } from './request-watch.ts';
import { newSigningKeys } from './signing-keys.ts';
import { TEST_USERS, type TestUser } from './test-users.ts';

export interface IdentityProviderOptions {
  /** 0, the default, means any free port. */
  readonly port?: number;
  /** Host in the issuer's URL, which must resolve to 127.0.0.1. */
  readonly host?: string;
  readonly clients?: readonly ClientMetadata[];
  readonly users?: readonly TestUser[];
  readonly accessTokenTtlS?: number;
  readonly refreshTokens?: RefreshTokens;
  /** How clients are notified of a logout; by default it reaches anything on loopback and checks no certificate. */
  readonly fetch?: typeof fetch;
  /** An internal error, or a failed notification of a logout. */
  readonly onProblem?: (problem: string) => void;
}

/**
 * An OpenID provider on loopback that asks nobody for a password. Everything is in memory, and survives `stop` and
 * `start`.
 */
export interface RunningIdentityProvider {
  readonly issuer: string;
  readonly port: number;
  readonly requests: RequestWatch;
  /** Replaces all clients; grants of remaining clients stay. */
  setClients(clients: readonly ClientMetadata[]): void;
  setUsers(users: readonly TestUser[]): void;
  /** Signs with new keys from now on; the old ones are still published by default. */
  rotateKeys(options?: { readonly keepOld?: boolean }): Promise<void>;
  /** All grants and tokens of the user: refreshing them returns invalid_grant. */
  revokeGrants(userId: string): void;
  /**
   * Ends the user's sessions, like an administrator: every client with a back-channel address is notified, then grants
   * are revoked.
   */
  endSessions(userId: string): Promise<void>;
  /** Closes connections and rejects new ones. */
  stop(): Promise<void>;
  /** On the same port as before. */
  start(): Promise<void>;
}

export async function createIdentityProvider(options: IdentityProviderOptions = {}): Promise<RunningIdentityProvider> {
  const library = await loadOidcProvider();
  const storage = new MemoryStorage();
  const requests = new RequestWatch();
  const report = options.onProblem ?? (() => {});
  let users = options.users ?? TEST_USERS;
  let keys = await newSigningKeys();
  let provider: Provider | undefined;
  let handle: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      report(`${request.method} ${request.url}: ${String(error)}`);
      if (!response.headersSent)
        showPage(response, 500, messagePage('That did not work', ['See the output of dev-idp.']));
    });
  });
  await listen(server, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://${options.host ?? '127.0.0.1'}:${port}`;
  const cookieKey = randomBytes(32).toString('base64url');

  storage.setClients(withSessionIds(options.clients ?? []));
  build();

  // The library's keys are fixed when it is constructed, so new keys need a new provider on the same storage.
  function build(): void {
    provider = new library.Provider(
      issuer,
      providerConfiguration({
        storage,
        keys,
        cookieKey,
        cookieSuffix: String(port),
        users: () => users,
        fetch: options.fetch ?? loopbackFetch(),
        accessTokenTtlS: options.accessTokenTtlS ?? 300,
        refreshTokens: options.refreshTokens ?? 'offline_access',
      }),
    );
    provider.on('grant.success', (ctx) => requests.tokenRequests.push(tokenRequest(ctx, null)));
    provider.on('grant.error', (ctx, error) => requests.tokenRequests.push(tokenRequest(ctx, error.message)));
    provider.on('server_error', (_ctx, error) => report(String(error.stack)));
    provider.on('backchannel.error', (_ctx, error, client) =>
      report(`${client.clientId} could not be notified of a logout: ${error}`),
    );
    handle = provider.callback();
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    await requests.arrived(path);
    if (provider === undefined || handle === undefined) return void response.destroy();
    if (path.startsWith('/interaction/')) return answerInteraction(provider, users, request, response);
    if (path === '/')
      return showPage(response, 200, messagePage('dev-idp', [`The OpenID provider ${issuer} is running.`]));
    return handle(request, response);
  }

  async function tellClients(userId: string): Promise<void> {
    for (const session of storage.sessionsOf(userId)) {
      for (const [clientId, { sid }] of Object.entries(session.authorizations ?? {})) {
        const client = (await provider?.Client.find(clientId)) as LogoutTeller | undefined;
        if (client?.backchannelLogoutUri === undefined) continue;
        await client.backchannelLogout(userId, sid).catch((error: unknown) => {
          report(`${clientId} could not be notified of a logout: ${String(error)}`);
        });
      }
    }
  }

  return {
    issuer,
    port,
    requests,
    setClients: (clients) => storage.setClients(withSessionIds(clients)),
    setUsers: (changed) => {
      users = changed;
    },
    rotateKeys: async ({ keepOld = true } = {}) => {
      const fresh = await newSigningKeys();
      // The first matching key signs.
      keys = keepOld ? [...fresh, ...keys] : fresh;
      build();
    },
    revokeGrants: (userId) => storage.removeGrants(userId),
    endSessions: async (userId) => {
      await tellClients(userId);
      storage.removeSessions(userId);
      storage.removeGrants(userId);
    },
    stop: () => stopListening(server),
    start: () => listen(server, port),
  };
}

/** Not in the library's types, but called by its own end of a session. */
interface LogoutTeller {
  readonly backchannelLogoutUri?: string;
  backchannelLogout(subject: string, sid: string | undefined): Promise<void>;
}

/** The library sends `sid` only to clients that require it. */
function withSessionIds(clients: readonly ClientMetadata[]): readonly ClientMetadata[] {
  return clients.map((client) => ({
    ...(client.backchannel_logout_uri !== undefined && { backchannel_logout_session_required: true }),
    ...client,
  }));
}

function tokenRequest(ctx: KoaContextWithOIDC, error: string | null) {
  return { grantType: String(ctx.oidc.params?.['grant_type']), clientId: ctx.oidc.client?.clientId, error };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // An error means that it was not listening, which is fine.
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
