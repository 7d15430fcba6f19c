import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

let systemContext: SecureContext | null = null;

/**
 * Whom to trust behind the edge. Reading a system's certificates takes tens of milliseconds and some megabytes: done at the
 * first connection that needs them, once for all upstreams.
 */
export function upstreamSecureContext(ca: string | readonly string[] | undefined): () => SecureContext {
  if (ca === undefined) {
    return () => {
      systemContext ??= createSecureContext({ ca: systemRoots(), minVersion: 'TLSv1.2' });
      return systemContext;
    };
  }
  let own: SecureContext | null = null;
  return () => {
    own ??= createSecureContext({ ca: typeof ca === 'string' ? ca : [...ca], minVersion: 'TLSv1.2' });
    return own;
  };
}

/** What the machine trusts, or, on one that has no such list, what the runtime brings along. */
function systemRoots(): string[] {
  const system = getCACertificates('system');
  return system.length > 0 ? [...system, ...getCACertificates('extra')] : getCACertificates('default');
}
