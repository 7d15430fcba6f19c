import type { GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { type HeaderList, pairsOf } from '../../kit/http/header-values.ts';
import type { IdentityHost } from './contracts.ts';

const NOTHING = Buffer.alloc(0);
const BODILESS_STATUSES: readonly number[] = [204, 304];

/** Requests of Postern's own applications to the identity host, which never leave the process. */
export function ownFetch(issuer: string, serve: IdentityHost['serve']): GuardedFetch {
  return async (address, init = {}) => {
    const url = new URL(address);
    if (url.origin !== issuer) throw new Error(`${url.origin} is not the identity host`);
    const type = init.body instanceof URLSearchParams ? ['content-type', 'application/x-www-form-urlencoded'] : [];
    const given = Object.entries(init.headers ?? {}).flatMap(([name, value]) => [name.toLowerCase(), value]);
    const { status, headers, body } = await serve({
      id: 'own',
      method: init.method ?? 'GET',
      path: url.pathname,
      target: `${url.pathname}${url.search}`,
      headers: [...type, ...given],
      body: init.body == null ? NOTHING : Buffer.from(String(init.body)),
      clientAddress: '127.0.0.1',
    });
    const bytes = BODILESS_STATUSES.includes(status) ? null : new Uint8Array(Buffer.from(body as string));
    return new Response(bytes, { status, headers: webHeaders(headers) });
  };
}

function webHeaders(list: HeaderList): Headers {
  const headers = new Headers();
  for (const [name, value] of pairsOf(list)) headers.append(name, value);
  return headers;
}
