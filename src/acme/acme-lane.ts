import { SliceLane } from '../lib/async/slice-lane.ts';

/** Which names need a certificate is found out in slices: there may be 100,000. */
export const ACME_LANE = new SliceLane();
