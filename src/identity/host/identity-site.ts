import { plainPage } from '../../lib/http/plain-page.ts';
import type { WholeAnswer, WholeRequest } from '../../lib/http/whole-request.ts';
import type { IdentityHost, IdentityPage } from '../contracts/identity-host.ts';
import type { IdentityProvider } from '../provider/identity-provider.ts';

/** The identity host: pages for people, and everything else is the OpenID provider's. */
export class IdentitySite implements IdentityHost {
  readonly issuer: string;
  readonly hostname: string;
  readonly #provider: IdentityProvider;
  readonly #pages = new Map<string, IdentityPage>();
  readonly #paths = new Set<string>();

  constructor(hostname: string, provider: IdentityProvider, pages: readonly IdentityPage[]) {
    this.issuer = provider.issuer;
    this.hostname = hostname;
    this.#provider = provider;
    for (const page of pages) {
      this.#pages.set(`${page.method} ${page.path}`, page);
      this.#paths.add(page.path);
    }
  }

  async serve(request: WholeRequest): Promise<WholeAnswer> {
    // The library parses it as an URL, in which a second slash would begin a host.
    if (!request.target.startsWith('/') || request.target.startsWith('//')) return notFound();
    if (request.path === '/') return { status: 303, headers: ['location', '/account'], body: '' };
    const page = this.#pages.get(`${request.method === 'HEAD' ? 'GET' : request.method} ${request.path}`);
    if (page !== undefined) return page.serve(request);
    if (this.#paths.has(request.path)) return { status: 405, headers: ['content-type', 'text/plain'], body: '' };
    return this.#provider.serve(request);
  }
}

function notFound(): WholeAnswer {
  const body = plainPage({ title: 'Nothing here', body: '<p>This page does not exist.</p>' });
  return { status: 404, headers: ['content-type', 'text/html; charset=utf-8'], body };
}
