import type { HeaderList } from '../../../kit/http/header-values.ts';
import { isLoopbackHost } from '../../../kit/net/listen-address.ts';
import { NO_HEADERS } from '../http/incoming-request.ts';
import type { HeadReading } from '../http/request-head.ts';

export interface StrictTransportSecuritySettings {
  /** 0: no header. */
  readonly maxAgeSeconds: number;
  readonly includesSubdomains: boolean;
  readonly isPreloaded: boolean;
}

export const NO_TRANSPORT_SECURITY: StrictTransportSecuritySettings = {
  maxAgeSeconds: 0,
  includesSubdomains: false,
  isPreloaded: false,
};

/**
 * The header of RFC 6797 for responses over HTTPS. Never for localhost: it would force HTTPS on every development
 * server of the machine, on all ports.
 */
export function strictTransportSecurity(
  settings: StrictTransportSecuritySettings,
): (request: HeadReading) => HeaderList {
  if (settings.maxAgeSeconds === 0) return () => NO_HEADERS;
  const value = [
    `max-age=${settings.maxAgeSeconds}`,
    ...(settings.includesSubdomains ? ['includeSubDomains'] : []),
    ...(settings.isPreloaded ? ['preload'] : []),
  ].join('; ');
  const header: HeaderList = ['strict-transport-security', value];
  return (reading) => (reading.ok && !isLoopbackHost(reading.head.host) ? header : NO_HEADERS);
}
