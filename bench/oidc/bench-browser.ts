import { request } from 'node:https';
import { CookieJar } from '../../test/support/cookie-jar.ts';
import { logIn } from '../../test/support/identity-provider.ts';
import type { RunningIdentityProvider } from '../../tools/dev-idp/create-identity-provider.ts';

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
}

/** One request to the edge on loopback, with the jar's cookies. */
export function ask(port: number, host: string, path: string, jar: CookieJar): Promise<Answer> {
  const url = `https://${host}:${port}${path}`;
  const cookie = jar.header(url);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        servername: host,
        path,
        rejectUnauthorized: false,
        headers: { host: `${host}:${port}`, accept: 'text/html', ...(cookie !== undefined && { cookie }) },
      },
      (response) => {
        jar.store(url, response.headers['set-cookie']);
        response.resume();
        response.once('end', () => resolve({ status: response.statusCode ?? 0, location: response.headers.location }));
      },
    );
    sent.once('error', reject);
    sent.end();
  });
}

/** A complete login; `atProvider` is the user's session there. */
export async function logInOnce(
  provider: RunningIdentityProvider,
  port: number,
  host: string,
  atProvider: CookieJar,
): Promise<CookieJar> {
  const jar = new CookieJar();
  const start = await ask(port, host, '/.postern/login?to=%2F&go=1', jar);
  const callback = await logIn(provider, start.location ?? '', 'alice', atProvider);
  const { status, location } = await ask(port, host, `${callback.pathname}${callback.search}`, jar);
  if (status !== 302 || location !== `https://${host}:${port}/`)
    throw new Error(`login ended with ${status} ${location}`);
  return jar;
}
