import type { ListenAddress } from '../lib/net/listen-address.ts';
import type { Check } from './check.ts';
import { findingMaker } from './finding.ts';

/** The ports that ACME servers connect to: RFC 8737 §3, RFC 8555 §8.3. */
const VALIDATION_PORTS = [
  { challenge: 'tls-alpn-01', setting: 'edge_listen', port: 443 },
  { challenge: 'http-01', setting: 'edge_http_listen', port: 80 },
] as const;

const found = findingMaker('managed_certificates');

/** Listeners that ACME servers may not reach. */
export const validationPorts: Check = {
  name: 'managed_certificates',
  nouns: ['settings'],
  *run({ config }) {
    if (config.acme !== 'on') return;
    for (const { challenge, setting, port } of VALIDATION_PORTS) {
      const addresses: readonly ListenAddress[] = [config[setting]].flat();
      if (!config.acme_challenges.includes(challenge) || addresses.some((address) => address.port === port)) continue;
      yield found.hint(
        `${setting} does not use port ${port}, to which ACME servers connect for ${challenge}`,
        `forward port ${port} of the public address to it, or change ${setting}`,
      );
    }
  },
};
