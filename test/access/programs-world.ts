import assert from 'node:assert/strict';
import type { AskOptions, EdgeAnswer, Site } from '../support/edge-world.ts';
import type { LoginWorld, Seen } from '../support/login-world.ts';

export interface Program {
  readonly accountId: string;
  readonly tokenId: string;
  readonly token: string;
}

export const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

/** Service accounts and sites with access rules. */
export class ProgramsWorld {
  readonly login: LoginWorld;

  constructor(login: LoginWorld) {
    this.login = login;
  }

  async program(name = 'backup', fields: object = {}): Promise<Program> {
    const { edge } = this.login;
    const account = await edge.api('POST', '/service_accounts', { name });
    const token = await edge.api('POST', '/service_account_tokens', { service_account_id: account.id, ...fields });
    return { accountId: account.id, tokenId: token.id, token: token.token };
  }

  /** A site without a login, whose rules are these. */
  async site(access: object): Promise<Site> {
    const { edge, upstreamAddress } = this.login;
    const site = await edge.site(await edge.staticBackend(upstreamAddress));
    await this.protect(site, access);
    return site;
  }

  async protect(site: Site, access: object): Promise<void> {
    await this.login.edge.api('PUT', `${site.routePath}/access`, access);
  }

  ask(site: Site, token: string | null, options: AskOptions & { readonly path?: string } = {}): Promise<EdgeAnswer> {
    const { path = '/', headers, ...others } = options;
    return this.login.edge.ask(site.host, path, {
      rejectUnauthorized: false,
      ...others,
      headers: { ...(token !== null && bearer(token)), ...(headers as object) },
    });
  }

  /** What the upstream saw of an admitted request. */
  async seen(site: Site, token: string, options: AskOptions & { readonly path?: string } = {}): Promise<Seen> {
    const answer = await this.ask(site, token, options);
    assert.equal(answer.status, 200, answer.text);
    return JSON.parse(answer.text) as Seen;
  }
}

/** The reason in the JSON of a refusal, after the status and the challenge were checked. */
export function assertRefused(answer: EdgeAnswer, status: number, error: string | null): string {
  assert.equal(answer.status, status, answer.text);
  const challenge = String(answer.headers['www-authenticate']);
  assert.match(challenge, error === null ? /^Bearer realm="[^"]+"$/ : new RegExp(`^Bearer .*error="${error}"`));
  assert.equal(answer.headers['location'], undefined);
  return JSON.parse(answer.text).details?.reason;
}
