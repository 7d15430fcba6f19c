import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningServer } from '../../../src/app/main/running-server.ts';
import { MANAGED_CERTIFICATE, type ManagedCertificateDoc } from '../../../src/proxy/acme/records.ts';
import type { StoredRecord } from '../../../src/store/store.ts';

const DEADLINE_MS = 60_000;

/** The record of a name. */
export function managedRecord({ replica }: Pick<RunningServer, 'replica'>, hostname: string): StoredRecord | undefined {
  for (const record of replica.all(MANAGED_CERTIFICATE)) {
    if ((record.doc as ManagedCertificateDoc).hostname === hostname) return record;
  }
  return undefined;
}

export function managedDoc(
  server: Pick<RunningServer, 'replica'>,
  hostname: string,
): ManagedCertificateDoc | undefined {
  return managedRecord(server, hostname)?.doc as ManagedCertificateDoc | undefined;
}

/** Waits until the record of the name is as wanted, and shows it if it never is. */
export async function untilManaged(
  server: Pick<RunningServer, 'replica'>,
  hostname: string,
  isWanted: (doc: ManagedCertificateDoc) => boolean,
  deadlineMs = DEADLINE_MS,
): Promise<ManagedCertificateDoc> {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    const doc = managedDoc(server, hostname);
    if (doc !== undefined && isWanted(doc)) return doc;
    if (performance.now() > endMs) throw new Error(`${hostname} is not as wanted: ${JSON.stringify(doc, null, 2)}`);
    await sleep(20);
  }
}

export const isIssued = ({ certificate_pem, worker, job }: ManagedCertificateDoc): boolean =>
  certificate_pem !== null && worker === null && job === null;

export const hasFailed = ({ job }: ManagedCertificateDoc): boolean => (job?.retries_at ?? null) !== null;
