import assert from 'node:assert/strict';
import type { EdgeAnswer, Site } from '../../support/edge-world.ts';
import type { Browser, LoginWorld, Seen } from '../../support/login-world.ts';

/** What a browser sends when a user follows a link. */
export const NAVIGATION = { accept: 'text/html', 'sec-fetch-mode': 'navigate' } as const;

export const SESSION = 'postern.session';
export const COMPANION = '__Host-postern.session';

/** What the upstream saw of a forwarded request. */
export function seenIn(answer: EdgeAnswer): Seen {
  assert.equal(answer.status, 200, `${answer.status} ${String(answer.headers['location'])} ${answer.text}`);
  return JSON.parse(answer.text) as Seen;
}

/** The user that the upstream received, or null when the request did not get there. */
export function userIn(answer: EdgeAnswer): string | null {
  if (answer.status !== 200 || !answer.text.startsWith('{"url"')) return null;
  const { headers } = JSON.parse(answer.text) as Seen;
  return (headers['postern-auth-user-email'] as string | undefined) ?? '(nobody)';
}

export async function userOf(browser: Browser, host: string, path = '/'): Promise<string | null> {
  return userIn(await browser.open(host, path));
}

export function assertLoginWanted(answer: EdgeAnswer): void {
  assert.equal(answer.status, 302, answer.text);
  assert.match(String(answer.headers['location']), /^\/\.postern\/login\?to=/);
}

/** A site behind login at a given host. */
export async function siteAt(world: LoginWorld, host: string, fields: object = {}): Promise<Site> {
  const site = await world.edge.site(await world.edge.staticBackend(world.upstreamAddress), host);
  await world.protect(site, { ...fields });
  return site;
}

/** Another route of a site, to the same upstream; behind login when fields are given. */
export async function routeOf(world: LoginWorld, site: Site, match: string, fields?: object): Promise<string> {
  const path = await world.edge.route(site.edgeId, match);
  const backendId = await world.edge.staticBackend(world.upstreamAddress);
  await world.edge.api('PUT', `${path}/backend`, { backend_id: backendId });
  if (fields !== undefined) await world.edge.api('PUT', `${path}/oidc`, world.module({ ...fields }));
  return path;
}

export function change(world: LoginWorld, site: Site, fields: object): Promise<unknown> {
  return world.edge.api('PUT', `${site.routePath}/oidc`, world.module({ ...fields }));
}

export function cookieOf(world: LoginWorld, browser: Browser, host: string, name: string): string {
  return browser.jar.get(`${world.origin(host)}/`, name)?.value ?? '';
}

/** The names of all cookies sent to a host. */
export function cookieNamesOf(world: LoginWorld, browser: Browser, host: string): readonly string[] {
  return browser.jar.cookiesFor(`${world.origin(host)}/`).map(({ name }) => name);
}

/** Sessions that the API lists for a host. */
interface ShownSession {
  readonly id: string;
  readonly public_url: string;
  readonly expires_at: string | null;
  readonly maximum_duration: number;
  readonly inactivity_timeout: number;
}

export async function sessionsAt(world: LoginWorld, host: string): Promise<readonly ShownSession[]> {
  const sessions: ShownSession[] = (await world.edge.api('GET', '/app/sessions')).application_sessions;
  return sessions.filter((session) => session.public_url.includes(`//${host}`));
}

/** Sends these cookies and no others, like a program that obtained them. */
export function askWithCookies(
  world: LoginWorld,
  host: string,
  cookie: string | readonly string[],
  path = '/',
): Promise<EdgeAnswer> {
  return world.edge.ask(host, path, { headers: { ...NAVIGATION, cookie: cookie as string } });
}
