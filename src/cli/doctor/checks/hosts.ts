import { lookup } from 'node:dns/promises';
import { hostsOf } from '../../../checks/certificates.ts';
import { type Finding, findingsOf } from '../../../checks/check.ts';
import type { LiveInstallation } from '../installation.ts';
import { mapConcurrently } from '../map-concurrently.ts';

const MAX_HOSTS = 200;
const TIMEOUT_MS = 3000;

/** Hosts of edges that do not resolve from here. */
export async function checkHosts({ edges }: LiveInstallation): Promise<readonly Finding[]> {
  const found = findingsOf('hosts');
  // Clients resolve these themselves, and the hosts below a wildcard are unknown.
  const hosts = hostsOf(edges).filter((host) => !host.startsWith('*.') && !/(^|\.)localhost$/.test(host));
  await mapConcurrently(hosts.slice(0, MAX_HOSTS), async (host) => {
    if (await isKnown(host)) found.ok(`${host} resolves`);
    else {
      found.hint(
        `${host} does not resolve here`,
        'create a DNS record that points to the edge, if clients should reach it',
      );
    }
  });
  return found.list;
}

function isKnown(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), TIMEOUT_MS);
    lookup(host)
      .then(
        () => resolve(true),
        () => resolve(false),
      )
      .finally(() => clearTimeout(timer));
  });
}
