import { setTimeout as sleep } from 'node:timers/promises';

const WITHIN_MS = 60_000;

export async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not within ${WITHIN_MS} ms: ${what}`);
    await sleep(20);
  }
}
