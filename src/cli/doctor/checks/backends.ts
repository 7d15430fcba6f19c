import { type Finding, findingsOf } from '../../../checks/finding.ts';
import type { StaticBackend } from '../../../client/generated/static-backends.ts';
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
    const problem = await dialProblem(placeOf(address));
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

/** `host:port`, an IPv6 host in brackets: the API has validated it. */
function placeOf(address: string): { readonly host: string; readonly port: number } {
  const separator = address.lastIndexOf(':');
  const host = address.slice(0, separator).replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(address.slice(separator + 1)) };
}
