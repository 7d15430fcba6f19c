import { SliceLane } from '../lib/async/slice-lane.ts';

/** Long answers of the API and the console: together they take one slice per turn. */
export const API_LANE = new SliceLane();
