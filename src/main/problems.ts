import type { CheckedAuthority, CheckedManagedCertificate } from '../checks/facts.ts';
import { Problems } from '../documents/problems/problems.ts';
import type { KnownHere } from '../documents/problems/read-facts.ts';
import { crlFields } from '../resources/certificate_authorities/live-crl.ts';
import { isWanted, renderManagedCertificate } from '../resources/managed_certificates/managed-certificates.ts';
import type { SharedPorts } from '../resources/shared-ports.ts';
import type { ProblemIndex } from '../snapshot/problems/problem-index.ts';
import { unpreparedModules } from '../snapshot/problems/unprepared-modules.ts';

interface ProblemsDependencies
  extends Pick<KnownHere, 'replica' | 'config' | 'clock' | 'ref' | 'nodes' | 'peers'>,
    Pick<SharedPorts, 'hostCertificates'> {
  readonly problems: ProblemIndex;
}

/** The checks of the doctor, over what this process knows. */
export function openProblems(deps: ProblemsDependencies): Problems {
  const { replica, clock, problems } = deps;
  return new Problems({
    ...deps,
    managedCertificate: (record) =>
      isWanted(record) ? (renderManagedCertificate(record, deps) as unknown as CheckedManagedCertificate) : null,
    crlFields: (record) => crlFields(record, replica, clock.nowMs()) as unknown as CheckedAuthority,
    unprepared: () => unpreparedModules(problems),
  });
}
