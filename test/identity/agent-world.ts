import assert from 'node:assert/strict';
import { type AgentHandle, connect, type TunnelSpec } from '../../src/tunnel/agent/index.ts';
import type { Cleanup } from '../support/cleanup.ts';
import type { EdgeAnswer } from '../support/edge-clients.ts';
import type { IdentityWorld, IdentityWorldOptions } from '../support/identity-world.ts';
import { type HostBrowser, IDENTITY_HOST, IDENTITY_ISSUER, openWithoutProof } from './without-proof.ts';

/** A server whose agents let people log in at its identity host. */
export class AgentWorld {
  readonly identity: IdentityWorld;
  readonly #agents: AgentHandle[] = [];

  private constructor(identity: IdentityWorld) {
    this.identity = identity;
  }

  static async open(test: Cleanup, { env, ...options }: IdentityWorldOptions = {}): Promise<AgentWorld> {
    const holder: { world?: AgentWorld } = {};
    // Before the server's own hook: agents would reconnect repeatedly while it closes.
    test.after(() => holder.world?.closeAgents() ?? Promise.resolve());
    const gateway = { POSTERN_ROLES: 'api,edge,gateway', POSTERN_TUNNEL_LISTEN: '127.0.0.1:0' };
    const world = new AgentWorld(await openWithoutProof(test, { env: { ...gateway, ...env }, ...options }));
    holder.world = world;
    return world;
  }

  get edge(): IdentityWorld['edge'] {
    return this.identity.edge;
  }

  /** Id and token of a credential. */
  async credential(
    fields: Readonly<Record<string, unknown>> = {},
  ): Promise<{ readonly id: string; readonly token: string }> {
    return this.edge.api('POST', '/credentials', fields);
  }

  /** An agent whose tunnel is bound: by default one with a login here. */
  async agent(token: string, spec: Partial<TunnelSpec> = {}): Promise<AgentHandle> {
    const agent = await connect({
      serverAddr: `127.0.0.1:${this.edge.world.server.addresses.tunnel?.port ?? 0}`,
      authtoken: token,
      ca: this.edge.ca,
      tunnels: [{ proto: 'https', addr: this.identity.upstream, modules: { oidc: {} }, ...spec }],
    });
    this.#agents.push(agent);
    return agent;
  }

  async closeAgents(): Promise<void> {
    await Promise.all(this.#agents.splice(0).map((agent) => agent.close()));
  }
}

export function hostOf(agent: AgentHandle): string {
  return new URL(agent.publicUrl ?? '').hostname;
}

export type Page = EdgeAnswer & { readonly url: URL };

/** Fails unless the browser was brought to the page that names host and agent. */
export function assertAsked(page: Page, host: string, credential: { readonly id: string }): void {
  assert.deepEqual([page.status, page.url.host, page.url.pathname], [200, IDENTITY_HOST, '/consent'], page.text);
  assert.ok(page.text.includes(`<strong>${host}</strong>`) && page.text.includes(credential.id), page.text);
}

/** Presses a button of that page, and follows where it leads. */
export async function decide(browser: HostBrowser, page: Page, decision = 'continue'): Promise<Page> {
  const answer = await submitDecision(browser, page.url, { decision });
  assert.equal(answer.status, 303, answer.text);
  return browser.open(new URL(String(answer.headers['location']), page.url), null);
}

export function submitDecision(
  browser: HostBrowser,
  url: URL,
  { decision = 'continue', headers = {} }: { decision?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<EdgeAnswer> {
  return browser.ask(url, {
    method: 'POST',
    body: `decision=${decision}`,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: IDENTITY_ISSUER,
      'sec-fetch-site': 'same-origin',
      ...headers,
    },
  });
}
