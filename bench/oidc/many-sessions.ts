import { hash, randomBytes } from 'node:crypto';
import { openStore } from '../../src/app/main/open-store.ts';
import { loadConfig } from '../../src/app/settings/load.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { createKsuidSource } from '../../src/kit/text/ksuid.ts';
import { SessionCookies } from '../../src/modules/login/session-cookie.ts';

export interface LoginPlace {
  readonly edgeId: string;
  readonly routeId: string;
  readonly host: string;
  readonly issuer: string;
  readonly clientId: string;
}

const WRITERS = 64;

/** Writes logins into the store of a stopped server, as a login would, and returns their Cookie headers. */
export async function fillWithSessions(dataDir: string, place: LoginPlace, count: number): Promise<readonly string[]> {
  const { config } = loadConfig({ flags: new Map(), env: { POSTERN_DATA_DIR: dataDir } });
  const store = await openStore(config, systemClock);
  const cookies = new SessionCookies(
    (purpose, data) => store.mac(purpose, data),
    (bytes) => randomBytes(bytes).toString('base64url'),
  );
  const ksuid = createKsuidSource();
  const headers: string[] = [];
  const write = async (): Promise<void> => {
    while (headers.length < count) {
      const key = cookies.create();
      const now = Date.now();
      const subject = `user-${headers.length}`;
      headers.push(`postern.session=${key.cookieValue}; __Host-postern.session=${key.companionValue}`);
      const email = `${subject}@example.com`;
      await store.logins.recordLogin({
        identity: hash('sha256', `${place.issuer}\n${subject}`),
        newUserId: `au_${ksuid(now)}`,
        userDoc: { provider_user_id: subject, email },
        previousKeyHash: null,
        replaces: [],
        session: {
          id: `as_${ksuid(now)}`,
          keyHash: key.keyHash,
          edgeId: place.edgeId,
          issuer: place.issuer,
          clientId: place.clientId,
          providerSessionId: null,
          lastActiveMs: now,
          expiresAtMs: 0,
          doc: {
            public_url: `https://${place.host}`,
            user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
            ip_address: '127.0.0.1',
            created_at: new Date(now).toISOString(),
            route_id: place.routeId,
            host: place.host,
            scopes: ['email', 'profile'],
            subject,
            email,
            name: 'Some Body',
            claims: { email, name: 'Some Body', email_verified: true },
            access_expires_at_ms: null,
          },
          // As long as those of real providers.
          secrets: {
            id_token: randomBytes(600).toString('base64url'),
            access_token: randomBytes(600).toString('base64url'),
          },
        },
      });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  await store.close();
  return headers.slice(0, count);
}
