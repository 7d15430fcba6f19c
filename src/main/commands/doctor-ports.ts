import { readFile } from 'node:fs/promises';
import type { DoctorPorts } from '../../cli/doctor/installation.ts';
import { systemClock } from '../../lib/clock.ts';
import { internalCaPlaces } from '../../pki/internal-ca-places.ts';

export const doctorPorts: DoctorPorts = {
  nowMs: () => systemClock.nowMs(),
  internalAuthorities: async ({ data_dir: dataDir, domain }) => {
    const { domain: ofDomain, other } = internalCaPlaces(dataDir, domain);
    const files = [ofDomain, other].map(({ certificateFile }) => readFile(certificateFile, 'utf8').catch(() => null));
    return (await Promise.all(files)).filter((pem) => pem !== null);
  },
};
