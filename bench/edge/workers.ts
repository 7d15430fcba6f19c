import { settingsCost } from './settings-cost.ts';

/** The same for all, so that no count of threads gets larger batches by being slower. */
const PER_SECOND = 3_000;

/** CPU per request of all threads together, at one rate. Whether more threads serve more takes a machine with more cores. */
export async function workers(directory: string): Promise<void> {
  for (const count of ['2', '4']) {
    await settingsCost(directory, {
      what: `${count} workers`,
      off: { POSTERN_WORKERS: '1' },
      on: { POSTERN_WORKERS: count },
      goal: 1.1,
      perSecond: PER_SECOND,
    });
  }
}
