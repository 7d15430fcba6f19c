import type { WholeAnswer, WholeRequest } from '../../kit/http/whole-request.ts';
import type { IdentityHost, IdentityPage } from './contracts.ts';
import { refusalAnswer } from './pages/page-answer.ts';
import type { IdentityProvider } from './provider/identity-provider.ts';

/** The identity host: pages for people, and everything else is the OpenID provider's. */
export class IdentitySite implements IdentityHost {
  readonly issuer: string;
  readonly hostname: string;
  readonly #provider: IdentityProvider;
  /** By path, then by method. */
  readonly #pages = new Map<string, Map<string, IdentityPage>>();

  constructor(hostname: string, provider: IdentityProvider, pages: readonly IdentityPage[]) {
    this.issuer = provider.issuer;
    this.hostname = hostname;
    this.#provider = provider;
    for (const page of pages) {
      const methods = this.#pages.get(page.path) ?? new Map<string, IdentityPage>();
      this.#pages.set(page.path, methods.set(page.method, page));
    }
  }

  async serve(request: WholeRequest): Promise<WholeAnswer> {
    // The library parses it as an URL, in which a second slash would begin a host.
    if (!request.target.startsWith('/') || request.target.startsWith('//')) return notFound(request);
    const methods = this.#pages.get(request.path);
    if (methods !== undefined) {
      const page = methods.get(request.method === 'HEAD' ? 'GET' : request.method);
      return page?.serve(request) ?? wrongMethod(request, [...methods.keys()]);
    }
    const answer = await this.#provider.serve(request);
    return answer.status === 404 ? notFound(request) : answer;
  }
}

function notFound(request: WholeRequest): WholeAnswer {
  return refusalAnswer(request, {
    code: 'ERR_POSTERN_IDENTITY_NOT_FOUND',
    title: 'Nothing here',
    message: 'This page does not exist. Check the address, or go to your account.',
    action: { label: 'My account', href: '/account' },
  });
}

function wrongMethod(request: WholeRequest, methods: readonly string[]): WholeAnswer {
  return refusalAnswer(request, {
    code: 'ERR_POSTERN_IDENTITY_METHOD',
    title: 'Open the page again',
    message: `This address answers ${methods.join(' and ')} only. Open the page again, and use the button there.`,
    action: { label: 'My account', href: '/account' },
    headers: ['allow', methods.join(', ')],
  });
}
