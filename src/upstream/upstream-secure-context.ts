import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

let systemContext: SecureContext | null = null;

/**
 * Trusted certificates for upstreams. Reading the system's certificates takes tens of milliseconds and some megabytes:
 * done once for all upstreams, at the first connection that needs them.
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

/** The machine's trust store, or the runtime's own list where there is none. */
function systemRoots(): string[] {
  const system = getCACertificates('system');
  return system.length > 0 ? [...system, ...getCACertificates('extra')] : getCACertificates('default');
}
