import { dnsDiagnosis, resolveName } from '../../../acme/orders/dns-diagnosis.ts';
import { type Finding, findingMaker } from '../../../checks/check.ts';
import { Resources } from '../../../client/generated/resources.ts';
import type { LiveInstallation } from '../installation.ts';
import { mapConcurrently } from '../map-concurrently.ts';

const found = findingMaker('managed_certificates');

/** Names that still wait for a certificate are looked up: the answer may tell why. */
export async function pendingNames({ transport, isLocal }: LiveInstallation): Promise<readonly Finding[]> {
  if (!isLocal) return [];
  const managed = await Array.fromAsync(new Resources(transport).managedCertificates.list());
  const findings = await mapConcurrently(managed, async ({ hostname, status, provisioning_job: job }) => {
    if (status === 'issued' || (job?.error_code ?? null) !== null) return [];
    const diagnosis = await dnsDiagnosis(hostname, resolveName);
    return diagnosis === null ? [] : [found.hint(`${hostname}: ${diagnosis}`)];
  });
  return findings.flat();
}
