import {
  createIdentityProvider,
  type IdentityProviderOptions,
  type RunningIdentityProvider,
} from '../../tools/dev-idp/create-identity-provider.ts';
import type { Cleanup } from './cleanup.ts';
import { CookieJar } from './cookie-jar.ts';

const MAX_STEPS = 20;

/** A real OpenID provider that is stopped with the test. */
export const IdentityProvider = {
  async open(test: Cleanup, options: IdentityProviderOptions = {}): Promise<RunningIdentityProvider> {
    const provider = await createIdentityProvider({
      // Internal errors would otherwise be visible only as a page in the middle of a redirect chain.
      onProblem: (problem) => console.error(`identity provider: ${problem}`),
      ...options,
    });
    test.after(() => provider.stop());
    return provider;
  },
};

/**
 * A user's login at the provider, without a browser: from the authorization request to the redirect to the client,
 * which is returned and not followed. A jar with a session at the provider is not asked.
 */
export function logIn(
  provider: RunningIdentityProvider,
  authorizationUrl: string | URL,
  userId: string,
  jar = new CookieJar(),
): Promise<URL> {
  return walk(provider, new URL(authorizationUrl), new URLSearchParams({ user: userId }), jar);
}

/** The same, for a user who denies. */
export function denyLogIn(
  provider: RunningIdentityProvider,
  authorizationUrl: string | URL,
  jar = new CookieJar(),
): Promise<URL> {
  return walk(provider, new URL(authorizationUrl), new URLSearchParams({ deny: 'yes' }), jar);
}

/** From the provider's end_session_endpoint to the redirect to the client. */
export function logOut(provider: RunningIdentityProvider, endSessionUrl: string | URL, jar: CookieJar): Promise<URL> {
  return walk(provider, new URL(endSessionUrl), new URLSearchParams(), jar);
}

async function walk(
  provider: RunningIdentityProvider,
  from: URL,
  choice: URLSearchParams,
  jar: CookieJar,
): Promise<URL> {
  let request: { url: URL; form?: URLSearchParams } = { url: from };
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const { url, form } = request;
    const cookie = jar.header(url);
    const answer = await fetch(url, {
      redirect: 'manual',
      ...(form !== undefined && { method: 'POST', body: form }),
      headers: { accept: 'text/html', ...(cookie !== undefined && { cookie }) },
    });
    jar.store(url, answer.headers.getSetCookie());
    const page = await answer.text();
    const location = answer.headers.get('location');
    if (location !== null) {
      const next = new URL(location, url);
      if (next.origin !== provider.issuer) return next;
      request = { url: next };
    } else {
      request = filledForm(page, url, choice) ?? unexpected(answer.status, url, page);
    }
  }
  throw new Error(`the provider did not come to an end after ${MAX_STEPS} steps`);
}

/** The page's form with its hidden fields and the user's choice. */
function filledForm(page: string, url: URL, choice: URLSearchParams): { url: URL; form: URLSearchParams } | null {
  const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
  if (action === undefined) return null;
  const hidden = page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
  const fields = Array.from(hidden, (match) => [match[1] ?? '', match[2] ?? ''] as [string, string]);
  return { url: new URL(action, url), form: new URLSearchParams([...fields, ...choice]) };
}

function unexpected(status: number, url: URL, page: string): never {
  throw new Error(`the provider answered ${status} to ${url.href}:\n${page}`);
}
