import { readFile } from 'node:fs/promises';
import { systemClock } from '../../../kit/clock.ts';
import { internalCaPlaces } from '../../../proxy/pki/internal-ca-places.ts';
import type { DoctorPorts } from '../../cli/doctor/installation.ts';

export const doctorPorts: DoctorPorts = {
  nowMs: () => systemClock.nowMs(),
  internalAuthorities: async ({ data_dir: dataDir, domain }) => {
    const { domain: ofDomain, other } = internalCaPlaces(dataDir, domain);
    const files = [ofDomain, other].map(({ certificateFile }) => readFile(certificateFile, 'utf8').catch(() => null));
    return (await Promise.all(files)).filter((pem) => pem !== null);
  },
};
