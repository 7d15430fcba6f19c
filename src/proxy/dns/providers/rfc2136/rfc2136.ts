import { type DnsProvider, isRecordName, secretOption, textOption } from '../../dns-provider.ts';
import { TSIG_ALGORITHMS } from '../../tsig.ts';
import { primaryServer } from './primary-server.ts';

export const rfc2136: DnsProvider = {
  name: 'rfc2136',
  title: 'DNS UPDATE (RFC 2136), such as BIND, Knot and PowerDNS',
  isHook: false,
  options: {
    server: textOption('Primary server of the zone, as HOST:PORT, or HOST for port 53. Updates use TCP.', {
      isRequired: true,
      accepts: (value) => primaryServer(value) !== null,
    }),
    key_name: textOption('Name of the TSIG key.', { isRequired: true, accepts: (value) => isRecordName(value) }),
    key: secretOption('TSIG key, in base64.'),
    key_algorithm: textOption(`Algorithm of the key: ${TSIG_ALGORITHMS.join(' or ')}. Unset: hmac-sha256.`, {
      accepts: (value) => TSIG_ALGORITHMS.some((known) => known === value),
    }),
  },
  load: async () => (await import('./rfc2136-records.ts')).rfc2136Records,
};
