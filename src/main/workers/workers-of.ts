import { availableParallelism } from 'node:os';
import type { Config } from '../../config/schema.ts';

const MAX_AUTO = 8;

/** How many threads serve visitors; 1: that of the server alone. */
export function workersOf({ workers }: Pick<Config, 'workers'>): number {
  return workers === 'auto' ? Math.min(availableParallelism(), MAX_AUTO) : workers;
}
