import { SliceLane } from '../lib/async/slice-lane.ts';

/** Large write sets and changes: long answers of the API do not hold them up. */
export const STORE_LANE = new SliceLane();
