import { isIP } from 'node:net';
import type { StaticBackend } from '../../../../client/generated/static-backends.ts';
import { type Finding, findingsOf } from '../../../../control/checks/check.ts';
import { FORBIDDEN_ADVICE, forbiddenLine } from '../../../../control/checks/routes.ts';
import { splitAddress } from '../../../../kit/net/host-name.ts';
import { upstreamGuard } from '../../../../proxy/upstream/upstream-guard.ts';
import { dialProblem, mapConcurrently } from '../dial.ts';
import type { Installation } from '../installation.ts';

const MAX_BACKENDS = 500;

/** Whether each upstream accepts a connection. A service may be down temporarily. */
export async function checkBackends(
  { isLocal, config }: Installation,
  backends: readonly StaticBackend[],
): Promise<readonly Finding[]> {
  const found = findingsOf('backends');
  if (!isLocal) {
    if (backends.length > 0)
      found.hint('upstreams are checked only from the machine of the server: run this command there');
    return found.list;
  }
  const isAllowed = upstreamGuard(config.upstream_allow_cidrs, { has: () => false });
  await mapConcurrently(backends.slice(0, MAX_BACKENDS), async ({ id, address }) => {
    const { host, port } = splitAddress(address);
    // The server reports its own addresses, which it knows better.
    if (isIP(host) !== 0 && !isAllowed(host, port)) {
      found.problem(`${id} ${address}: ${forbiddenLine(address)}`, FORBIDDEN_ADVICE.metadata);
      return;
    }
    const problem = await dialProblem({ host, port });
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
