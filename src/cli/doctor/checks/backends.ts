import { type Finding, findingsOf } from '../../../checks/finding.ts';
import type { StaticBackend } from '../../../client/generated/static-backends.ts';
import { splitAddress } from '../../../lib/net/split-address.ts';
import { dialProblem } from '../dial.ts';
import type { Installation } from '../installation.ts';
import { mapConcurrently } from '../map-concurrently.ts';

const MAX_BACKENDS = 500;

/** Whether each upstream accepts a connection. A service may be down temporarily. */
export async function checkBackends(
  { isLocal }: Installation,
  backends: readonly StaticBackend[],
): Promise<readonly Finding[]> {
  const found = findingsOf('backends');
  if (!isLocal) {
    if (backends.length > 0)
      found.hint('upstreams are checked only from the machine of the server: run this command there');
    return found.list;
  }
  await mapConcurrently(backends.slice(0, MAX_BACKENDS), async ({ id, address }) => {
    const problem = await dialProblem(splitAddress(address));
    if (problem === null) found.ok(`${id} ${address} is open`);
    else
      found.warning(
        `${id} ${address} cannot be reached: ${problem}`,
        'start the service that should listen there, or correct the address',
      );
  });
  if (backends.length > MAX_BACKENDS) found.hint(`${backends.length - MAX_BACKENDS} more were not checked`);
  return found.list;
}
