import { settingsCost } from './settings-cost.ts';

/** The same for all, so that no count of threads gets larger batches by being slower. */
const PER_SECOND = 3_000;

/**
 * CPU per request of all threads together, at one rate. Whether more threads serve more takes a machine with more
 * cores.
 */
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
  // A thread with half of the load is woken up for fewer events at a time. This compares threads with the same load.
  await settingsCost(directory, {
    what: '2 workers and twice the load',
    off: { POSTERN_WORKERS: '1' },
    on: { POSTERN_WORKERS: '2' },
    goal: 1.1,
    perSecond: PER_SECOND,
    times: 2,
  });
}
