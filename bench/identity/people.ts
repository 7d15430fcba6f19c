import { Agent, request } from 'node:https';
import type { AskOptions, EdgeAnswer } from '../../test/support/edge-clients.ts';
import { IdentityBrowser } from '../../test/support/identity-world.ts';
import { SoftAuthenticator } from '../../test/support/soft-authenticator.ts';
import { call } from '../support/call.ts';
import type { Program } from '../support/start-program.ts';

/** The host's port is that of the setting, not of the socket: clients are led to the server's edge. */
export const IDENTITY_HOST = 'id.localhost';
export const IDENTITY_ORIGIN = `https://${IDENTITY_HOST}`;

/** Browsers at a server's edge, which keep their connections. */
export class Visitors {
  readonly origin = IDENTITY_ORIGIN;
  readonly edge: { ask(host: string, path?: string, options?: AskOptions): Promise<EdgeAnswer> };
  readonly #agents = new Map<string, Agent>();

  constructor(server: Program) {
    this.edge = { ask: (host, path = '/', options = {}) => this.#ask(server.edgePort ?? 0, host, path, options) };
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  #ask(port: number, host: string, path: string, { body, ...options }: AskOptions): Promise<EdgeAnswer> {
    const agent = this.#agents.get(host) ?? new Agent({ keepAlive: true, servername: host, rejectUnauthorized: false });
    this.#agents.set(host, agent);
    return new Promise((resolve, reject) => {
      const sent = request({ ...options, agent, host: '127.0.0.1', port, path }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('end', () => {
          const whole = Buffer.concat(chunks);
          const { statusCode = 0, headers } = response;
          resolve({ status: statusCode, headers, body: whole, text: whole.toString() });
        });
      });
      sent.once('error', reject);
      sent.end(body);
    });
  }
}

/** People with a passkey each. */
export async function makePeople(
  server: Program,
  visitors: Visitors,
  count: number,
): Promise<readonly SoftAuthenticator[]> {
  const devices: SoftAuthenticator[] = [];
  for (let at = 0; at < count; at += 1) {
    const invited = await call(server.port, 'POST', '/user_accounts', { email: `person-${at}@example.com` });
    const device = new SoftAuthenticator(IDENTITY_ORIGIN);
    const { status } = await new IdentityBrowser(visitors).accept(String(invited['invitation_url']), device);
    if (status !== 303) throw new Error(`the invitation ended with ${status}`);
    devices.push(device);
  }
  return devices;
}

/** A whole login on a route with a new browser: login page, passkey, code exchange and the route's callback. */
export async function logInWithPasskey(visitors: Visitors, host: string, device: SoftAuthenticator): Promise<void> {
  const browser = new IdentityBrowser(visitors);
  const site = new IdentityBrowser({ edge: visitors.edge, origin: `https://${host}` });
  const start = await site.open('/.postern/login?to=%2F&go=1');
  const page = await browser.open(pathOf(start));
  const proven = await browser.logIn(device, new URL(pathOf(page), IDENTITY_ORIGIN).search);
  const back = await browser.open(pathOf(proven));
  const { status, headers } = await site.open(pathOf(back));
  if (status !== 302 || headers['location'] !== `https://${host}/`)
    throw new Error(`a login ended with ${status} ${String(headers['location'])}`);
}

function pathOf({ headers, status, text }: EdgeAnswer): string {
  const location = headers['location'];
  if (typeof location !== 'string') throw new Error(`no redirect but ${status}: ${text.slice(0, 500)}`);
  const { pathname, search } = new URL(location, IDENTITY_ORIGIN);
  return `${pathname}${search}`;
}
