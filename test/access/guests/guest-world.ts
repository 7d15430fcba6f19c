import assert from 'node:assert/strict';
import type { Cleanup } from '../../support/cleanup.ts';
import type { EdgeAnswer, Site } from '../../support/edge-world.ts';
import { type Browser, LoginWorld, type LoginWorldOptions } from '../../support/login-world.ts';

export const DAY_MS = 86_400_000;

export interface Invitation {
  readonly id: string;
  readonly uri: string;
  /** Path and query of the link. */
  readonly path: string;
  readonly secret: string;
  readonly host: string;
}

/** A site with access rules for guests and without a login. */
export class GuestWorld {
  readonly login: LoginWorld;

  private constructor(login: LoginWorld) {
    this.login = login;
  }

  static async open(test: Cleanup, options: LoginWorldOptions = {}): Promise<GuestWorld> {
    return GuestWorld.over(await LoginWorld.open(test, options));
  }

  static over(login: LoginWorld): GuestWorld {
    return new GuestWorld(login);
  }

  async site(rules: object = { allow: [{ guests: true }] }): Promise<Site> {
    const { edge } = this.login;
    const site = await edge.site(await edge.staticBackend(this.login.upstreamAddress));
    await edge.api('PUT', `${site.routePath}/access`, rules);
    return site;
  }

  inDays(days: number): string {
    return new Date(this.login.clock.nowMs() + days * DAY_MS).toISOString();
  }

  async invite({ edgeId, routeId }: Site, fields: object = {}): Promise<Invitation> {
    const body = { edge_id: edgeId, route_id: routeId, expires_at: this.inDays(4), ...fields };
    const { id, uri, url, host } = await this.login.edge.api('POST', '/guest_links', body);
    const { pathname, search, searchParams } = new URL(url);
    return { id, uri, path: `${pathname}${search}`, secret: searchParams.get('link') as string, host };
  }

  /** As the button of the page does it. */
  redeem(browser: Browser, { host, secret }: Pick<Invitation, 'host' | 'secret'>, headers = {}): Promise<EdgeAnswer> {
    return browser.ask(host, '/.postern/guest', {
      method: 'POST',
      body: `link=${encodeURIComponent(secret)}`,
      headers: {
        accept: 'text/html',
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'null',
        'sec-fetch-site': 'same-origin',
        'user-agent': 'test browser',
        ...headers,
      },
    });
  }

  /** A browser that has redeemed the link. */
  async guest(invitation: Invitation): Promise<Browser> {
    const browser = this.login.browser();
    const answer = await this.redeem(browser, invitation);
    assert.equal(answer.status, 303, answer.text);
    return browser;
  }

  async usedBy({ uri }: Invitation): Promise<readonly { session: string; [field: string]: string }[]> {
    return (await this.login.edge.api('GET', uri)).used_by;
  }

  /** Ids of the sessions that the API lists. */
  async sessionIds(): Promise<readonly string[]> {
    const { application_sessions: sessions } = await this.login.edge.api('GET', '/app/sessions?limit=100');
    return sessions.map(({ id }: { id: string }) => id);
  }
}

export function codeOf(answer: EdgeAnswer): unknown {
  return answer.headers['postern-error-code'];
}
