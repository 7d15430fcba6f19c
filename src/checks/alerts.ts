import type { Check } from './check.ts';
import { findingMaker } from './finding.ts';

const found = findingMaker('alerts');

/** Another check reports the same, with the object that it is about. */
const CHECKED_ELSEWHERE = ['certificate_expiring', 'certificate_failing', 'node_lost'];

/** Alerts that are raised: what stays wrong while the server watches. */
export const alerts: Check = {
  name: 'alerts',
  nouns: ['alerts'],
  *run({ alerts: raised }) {
    for (const { id, kind, title, advice } of raised) {
      if (!CHECKED_ELSEWHERE.includes(kind)) yield found.problem(title, advice, { id });
    }
  },
};
